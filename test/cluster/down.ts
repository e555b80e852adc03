// Takes everything of the cluster away: processes by their records, groups, mounts, cables, loop devices, folders. Works on
// whatever an interrupted `up` left, and on nothing at all. Keeps only the logs.
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { readCgroupLayout, removeCgroups } from './cgroups.js';
import type { ClusterConfig } from './config.js';
import { withLock } from './lock.js';
import { mountsBelow } from './mounts.js';
import { neighbours, unregister } from './neighbours.js';
import { removeHostNetwork } from './network.js';
import { removeMadeDirs, stopNode } from './node.js';
import { findUnrecorded, readCommandLines, readRecords, recordOf, removeRecord } from './process-records.js';
import { stopProcess } from './processes.js';
import type { Log } from './progress.js';
import { run, tryRun } from './run.js';

export async function down(config: ClusterConfig, log: Log): Promise<void> {
  await withLock(`${config.stateDir}.lock`, log, async () => {
    await tearDown(config, log);
    log('the cluster is down');
  });
}

export async function tearDown(config: ClusterConfig, log: Log): Promise<void> {
  const loops = await ownLoopDevices(config);
  const records = readRecords(config.pidsDir);
  if (records.length > 0) log(`ending ${records.length} processes and everything below them`);
  await Promise.all(config.nodes.map((node) => stopNode(config, node)));
  for (const record of readRecords(config.pidsDir)) {
    await stopProcess(record, 0);
    removeRecord(config.pidsDir, record.name);
  }
  await endUnrecorded(config);
  await removeCgroups(readCgroupLayout(), config.cgroup);
  await unmountBelow(config.stateDir);
  for (const device of loops) await tryRun(['losetup', '-d', device]);
  for (const device of loops) if (await tryRun(['losetup', device])) log(`${device} is still in use and goes with its last user`);
  await removeHostNetwork(config);
  removeMadeDirs(config, neighbours(config));
  unregister(config);
  removeState(config);
}

/** What only the cluster's own processes have on their command lines. */
export function ownPaths(config: ClusterConfig): string[] {
  return [config.binDir, ...config.nodes.map((node) => join(node.dir, 'node.sh'))];
}

/** For the day when somebody removed the records, or an `up` died between a start and its record. */
async function endUnrecorded(config: ClusterConfig): Promise<void> {
  for (const pid of findUnrecorded(ownPaths(config), readCommandLines())) {
    const record = pid === process.pid ? undefined : recordOf(`unrecorded-${pid}`, pid, []);
    if (record) await stopProcess(record, 0);
  }
}

function removeState(config: ClusterConfig): void {
  if (!existsSync(config.stateDir)) return;
  for (const name of readdirSync(config.stateDir)) {
    const path = join(config.stateDir, name);
    if (path !== config.logsDir) rmSync(path, { recursive: true, force: true });
  }
}

/** The mounts of the nodes' namespaces are gone with them; this finds what a version of long ago or a hand left on the host. */
async function unmountBelow(dir: string): Promise<void> {
  const points = mountsBelow(dir, readFileSync('/proc/self/mounts', 'utf8'));
  for (const point of points) await run(['umount', '-l', point]);
}

interface LoopDevice {
  readonly name: string;
  readonly 'back-file': string | null;
  readonly 'back-ino': number | string;
}

/** Loop devices over files of the nodes. Their paths are those of a node's namespace, so that the inode decides. */
async function ownLoopDevices(config: ClusterConfig): Promise<string[]> {
  if (!existsSync(config.stateDir)) return [];
  const text = await run(['losetup', '--json', '--list', '-O', 'NAME,BACK-FILE,BACK-INO']);
  const devices = text.trim() === '' ? [] : (JSON.parse(text) as { loopdevices: LoopDevice[] }).loopdevices;
  const own: string[] = [];
  for (const device of devices) {
    const found = await run(['find', ...stateFolders(config), '-xdev', '-inum', String(device['back-ino']), '-print', '-quit']);
    if (found.trim() !== '' && statSync(found.trim()).isFile()) own.push(device.name);
  }
  return [...holdersOf(own, devices, (device) => statSync(device).ino), ...own];
}

/** A kubelet holds a block volume in use by one more loop device, over the device itself: those go first. */
export function holdersOf(own: readonly string[], devices: readonly LoopDevice[], inodeOf: (device: string) => number): string[] {
  const inodes = new Set(own.map((device) => String(inodeOf(device))));
  const isHolder = (device: LoopDevice): boolean =>
    (device['back-file'] ?? '').includes('/volumeDevices/') && inodes.has(String(device['back-ino']));
  return devices.filter((device) => !own.includes(device.name) && isHolder(device)).map(({ name }) => name);
}

function stateFolders(config: ClusterConfig): string[] {
  const dirs = config.nodes.map((node) => node.dir).filter((dir) => existsSync(dir));
  return dirs.length > 0 ? dirs : [config.pidsDir].filter((dir) => existsSync(dir));
}
