// Permission to use a block device, given to and taken from a running process for real, in groups of both versions that allow nothing: opening
// a device that nobody drives fails in another way than opening one that is forbidden.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { closeSync, constants, existsSync, mkdirSync, openSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { changeDevices, changeDevicesOf, type DeviceGroup } from '../../src/linux/device-access.js';
import { attachDeviceProgram, deviceProgramsOf, loadDeviceProgram } from '../../src/linux/ffi-bpf.js';
import { scratchDir } from '../fakes/scratch.js';

const DEVICE = { major: 252, minor: 300 };
/** As a container runtime guards its containers: character devices only. */
const RUNTIME = [
  '6112000000000000', // r2 = type and access
  '54020000ffff0000', // r2 &= 0xffff
  '5502020002000000', // if r2 != character: refuse
  'b400000001000000',
  '9500000000000000',
  'b400000000000000',
  '9500000000000000',
].join('');
const MAY_BE_MANY = 2;
const V1 = '/sys/fs/cgroup/devices';
const V2 = ['/sys/fs/cgroup/unified', '/sys/fs/cgroup'].find((dir) => existsSync(join(dir, 'cgroup.controllers'))) ?? '';

let dir: string;
let group: string;
let child: ChildProcess;

/** A shell in the group, which tries to open the device whenever it is asked. */
async function startIn(at: string): Promise<void> {
  group = join(at, `kvt-${process.pid}`);
  mkdirSync(group);
  child = spawn('sh', ['-c', 'while read -r node; do (: < "$node") 2>&1; echo done; done'], { stdio: ['pipe', 'pipe', 'inherit'] });
  writeFileSync(join(group, 'cgroup.procs'), String(child.pid));
}

async function opening(): Promise<string> {
  let text = '';
  const collect = (chunk: Buffer): void => {
    text += chunk.toString();
  };
  child.stdout?.on('data', collect);
  child.stdin?.write(`${join(dir, 'node')}\n`);
  while (!text.includes('done')) await sleep(5);
  child.stdout?.off('data', collect);
  return text.includes('Operation not permitted') ? 'forbidden' : 'allowed';
}

beforeEach(() => {
  dir = scratchDir();
  execFileSync('mknod', [join(dir, 'node'), 'b', String(DEVICE.major), String(DEVICE.minor)]);
});

afterEach(async () => {
  child.kill('SIGKILL');
  while (readFileSync(join(group, 'cgroup.procs'), 'utf8') !== '') await sleep(5);
  rmdirSync(group);
});

async function comesAndGoes(change: (allow: boolean) => Promise<void>): Promise<void> {
  expect(await opening()).toBe('forbidden');
  await change(true);
  await change(true);
  expect(await opening()).toBe('allowed');
  await change(false);
  expect(await opening()).toBe('forbidden');
}

const changed = (allow: boolean) => (allow ? { allow: [DEVICE], deny: [] } : { allow: [], deny: [DEVICE] });

describe('a device of a running process', () => {
  it.runIf(existsSync(V1))('comes and goes with control groups of version 1', async () => {
    await startIn(V1);
    writeFileSync(join(group, 'devices.deny'), 'a');
    writeFileSync(join(group, 'devices.allow'), 'c *:* rwm');
    await comesAndGoes((allow) => changeDevices(child.pid ?? 0, changed(allow), process.pid));
  });

  it.each([
    ['alone', 0],
    ['among others', MAY_BE_MANY],
  ])('comes and goes with version 2, where the program of the runtime is %s', async (_, flags) => {
    await startIn(V2);
    const at = openSync(group, constants.O_RDONLY);
    const program = loadDeviceProgram(Buffer.from(RUNTIME, 'hex'));
    attachDeviceProgram(at, program, flags);
    const asGroup: DeviceGroup = { version: 2, dir: group };
    await comesAndGoes((allow) => changeDevicesOf(asGroup, changed(allow)));
    expect(deviceProgramsOf(at).ids).toHaveLength(1);
    closeSync(program);
    closeSync(at);
  });
});
