// Acts on a node as its administrator would: kills a container's processes by their recorded ids, in the node's own PID namespace.

import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import type { Pod } from '../../src/api/index.js';
import { clusterConfig } from '../cluster/config.js';
import { ctr } from '../cluster/images.js';
import { cluster } from './harness.js';

/** Host pids of the processes of a pod, found by the pod's uid in their control group. */
export function pidsOfPod(pod: Pod): number[] {
  const uid = pod.metadata.uid ?? '';
  const names = [`pod${uid}`, `pod${uid.replaceAll('-', '_')}`];
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .filter((pid) => {
      const group = read(`/proc/${pid}/cgroup`);
      return names.some((name) => group.includes(name));
    })
    .map(Number);
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // the process ended between the listing and the read
  }
}

/** kill -9 of the pod's Node process (its main program). */
export async function killInPod(pod: Pod): Promise<void> {
  const victims = pidsOfPod(pod).filter((pid) => /(^|\/)node\0/.test(read(`/proc/${pid}/cmdline`)));
  if (victims.length === 0) throw new Error(`no node process found in pod ${pod.metadata.name}`);
  for (const pid of victims) process.kill(pid, 'SIGKILL');
}

/** Gives an image that every node has a second name, as if somebody had pushed and pulled it. */
export const addImageName = (image: string, name: string): Promise<void> => onEachNode(['images', 'tag', '--force', image, name]);

export const removeImageName = (name: string): Promise<void> => onEachNode(['images', 'remove', name]);

async function onEachNode(command: readonly string[]): Promise<void> {
  for (const node of (await cluster()).nodes) {
    const [file = '', ...args] = ctr(clusterConfig(process.env), node.pid, command);
    await promisify(execFile)(file, args);
  }
}

/** Runs a program of this machine in the mount namespace of a node, as its administrator. */
export async function onNode(node: string, file: string, ...args: string[]): Promise<string> {
  const found = (await cluster()).nodes.find(({ name }) => name === node);
  if (!found) throw new Error(`there is no node ${node}`);
  return (await promisify(execFile)('nsenter', ['-t', String(found.pid), '-m', '--', file, ...args])).stdout;
}

/** The same in the network namespace of a pod. */
export async function inPodNetwork(pod: Pod, file: string, ...args: string[]): Promise<string> {
  const [pid] = pidsOfPod(pod);
  if (pid === undefined) throw new Error(`pod ${pod.metadata.name} has no process on this machine`);
  return (await promisify(execFile)('nsenter', ['-t', String(pid), '-n', '--', file, ...args])).stdout;
}
