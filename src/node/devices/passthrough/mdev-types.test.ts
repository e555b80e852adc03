// Cards divided as configured, on a sample host whose kernel is played by the test: what is written to its files makes and removes devices.
import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { addMdev, addMdevType, addPci, type SampleHost, type SampleType, sampleHost } from '../../../../test/fakes/sample-sysfs.js';
import { scratchDir } from '../../../../test/fakes/scratch.js';
import type { KubeVirtConfiguration } from '../../../api/index.js';
import { systemClock } from '../../../base/clock.js';
import { makeCtx } from '../../../base/context.js';
import { silentLogger } from '../../../base/logger.js';
import { clusterConfigOf } from '../../../core/config/cluster-config.js';
import { keepMdevTypes, mdevsInUse } from './mdev-types.js';
import { readMdevs } from './sysfs.js';

const CARD1 = '0000:65:00.0';
const CARD2 = '0000:66:00.0';
const TYPES: readonly SampleType[] = [CARD1, CARD2].flatMap((parent) => [
  { parent, id: 'nvidia-222', name: 'GRID T4-1Q', available: 4 },
  { parent, id: 'nvidia-223', name: 'GRID T4-2Q', available: 2 },
]);
const want = (...mediatedDeviceTypes: string[]): KubeVirtConfiguration => ({ mediatedDevicesConfiguration: { mediatedDeviceTypes } });

let host: SampleHost;
let proc: string;
let recordDir: string;
let labels: Record<string, string>;
beforeEach(() => {
  host = sampleHost(scratchDir());
  proc = scratchDir();
  recordDir = join(scratchDir(), 'mdevs');
  labels = {};
  for (const address of [CARD1, CARD2]) addPci(host, { address, id: '10de:1eb8', driver: 'nvidia' });
  for (const type of TYPES) addMdevType(host, type);
});

let groups = 70;
const add = (uuid: string, parent: string, id: string): void => {
  const type = TYPES.find((one) => one.parent === parent && one.id === id);
  if (!type) throw new Error(`no type ${id} on ${parent}`);
  addMdev(host, uuid, type, String(groups++));
};

/** The kernel's part. */
async function kernel(path: string, text: string): Promise<void> {
  if (basename(path) === 'remove') {
    expect(text).toBe('1');
    return host.remove(dirname(path).slice(host.root.length));
  }
  const [parent = '', , id = ''] = path.split('/').slice(-4);
  add(text, parent, id);
}

/** Two rounds: the second must find nothing left to do. */
async function keep(spec: KubeVirtConfiguration): Promise<string[]> {
  const config = clusterConfigOf(spec);
  const found: string[][] = [];
  const nodeLabels = async (): Promise<Record<string, string>> => labels;
  const deps = { config: () => config, hostRoot: host.root, recordDir, proc, nodeLabels, write: kernel };
  for (let round = 0; round < 2; round++) {
    const stop = new AbortController();
    const running = keepMdevTypes(makeCtx(stop.signal, silentLogger, systemClock), deps);
    stop.abort();
    await running;
    found.push(await counts());
  }
  expect(found[1]).toEqual(found[0]);
  return found[0] ?? [];
}

async function counts(): Promise<string[]> {
  const found = (await readMdevs(host.root)).map(({ parent, typeName }) => `${parent} ${typeName}`);
  return [...new Set(found)].sort().map((one) => `${one} x${found.filter((other) => other === one).length}`);
}

/** A process with an environment and open files. */
async function processWith(pid: number, environment: string, opened: string): Promise<void> {
  await mkdir(join(proc, String(pid), 'fd'), { recursive: true });
  await writeFile(join(proc, String(pid), 'environ'), environment);
  await symlink(opened, join(proc, String(pid), 'fd/3'));
}

describe('mediated devices of a node', () => {
  it('are made as configured, given back as configured, and remembered over a restart', async () => {
    expect(await keep(want('GRID T4-1Q'))).toEqual([`${CARD1} GRID_T4-1Q x4`, `${CARD2} GRID_T4-1Q x4`]);
    expect(await readdir(recordDir)).toHaveLength(8);
    expect(await keep(want('GRID T4-1Q', 'nvidia-223'))).toEqual([`${CARD1} GRID_T4-1Q x4`, `${CARD2} GRID_T4-1Q x4`]);
    expect(await keep({ mediatedDevicesConfiguration: { enabled: false } })).toHaveLength(2);
    expect(await keep({})).toEqual([]);
    expect(await readdir(recordDir)).toEqual([]);
    expect(await keep(want('GRID T4-1Q', 'nvidia-223'))).toEqual([`${CARD1} GRID_T4-1Q x4`, `${CARD2} GRID_T4-2Q x2`]);
  });

  it('that somebody else made stay where the cluster configures nothing, and go for the sake of a type that is wanted', async () => {
    add('u1', CARD1, 'nvidia-222');
    expect(await keep({})).toEqual([`${CARD1} GRID_T4-1Q x1`]);
    expect(await keep(want('nvidia-223'))).toEqual([`${CARD1} GRID_T4-2Q x2`, `${CARD2} GRID_T4-2Q x2`]);
  });

  it('stay while a guest has them', async () => {
    add('u1', CARD1, 'nvidia-222');
    await processWith(7, `HOME=/\0MDEV_PCI_RESOURCE_A_COM_X=u1\0`, '/dev/null');
    expect(await keep(want('nvidia-223'))).toEqual([`${CARD1} GRID_T4-1Q x1`, `${CARD2} GRID_T4-2Q x2`]);
  });

  it('follow the labels of the node', async () => {
    const nodeMediatedDeviceTypes = [{ nodeSelector: { gpu: 'shared' }, mediatedDeviceTypes: ['nvidia-222'] }];
    const spec: KubeVirtConfiguration = { mediatedDevicesConfiguration: { nodeMediatedDeviceTypes } };
    expect(await keep(spec)).toEqual([]);
    labels = { gpu: 'shared' };
    expect(await keep(spec)).toHaveLength(2);
  });
});

describe('mdevsInUse', () => {
  it('knows them by the environment of a launcher and by open groups', async () => {
    await processWith(7, 'X=u1,u2\0', '/dev/null');
    await processWith(8, 'HOME=/\0', '/dev/vfio/73');
    await processWith(9, 'HOME=/\0', 'socket:[12]');
    const mdevs = [
      { uuid: 'u1', group: '71' },
      { uuid: 'u3', group: '73' },
      { uuid: 'u4', group: '74' },
    ];
    expect([...(await mdevsInUse(mdevs, proc))]).toEqual(['u1', 'u3']);
  });
});
