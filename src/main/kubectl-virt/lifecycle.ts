// start, stop, restart, pause, unpause, migrate, addvolume, removevolume: one request each, and a line that says what happens now.

import type { Command } from './arguments.js';
import type { Cluster } from './cluster.js';
import type { Terminal } from './terminal.js';
import type { LifecycleVerb } from './verbs.js';

export interface LifecycleRequest {
  readonly resource: 'virtualmachines' | 'virtualmachineinstances';
  readonly options: object;
  readonly done: string;
}

interface Row {
  /** Absent: the VM, or only its VMI if the command says so. */
  readonly resource?: LifecycleRequest['resource'];
  readonly done: string;
  readonly options: (command: Command) => object;
}

const grace = ({ force, gracePeriod }: Command, field: string): object => {
  const seconds = force ? 0 : gracePeriod;
  return seconds === undefined ? {} : { [field]: seconds };
};

function volume({ volumeName = '', serial }: Command): object {
  return {
    name: volumeName,
    disk: { name: volumeName, disk: { bus: 'scsi' }, ...(serial === undefined ? {} : { serial }) },
    volumeSource: { persistentVolumeClaim: { claimName: volumeName } },
  };
}

const ROWS: Readonly<Record<LifecycleVerb, Row>> = {
  start: { resource: 'virtualmachines', done: 'starts', options: ({ paused }) => (paused ? { paused } : {}) },
  stop: { resource: 'virtualmachines', done: 'stops', options: (command) => grace(command, 'gracePeriod') },
  restart: { resource: 'virtualmachines', done: 'restarts', options: (command) => grace(command, 'gracePeriodSeconds') },
  pause: { resource: 'virtualmachineinstances', done: 'is paused', options: () => ({}) },
  unpause: { resource: 'virtualmachineinstances', done: 'runs again', options: () => ({}) },
  migrate: { resource: 'virtualmachines', done: 'migrates', options: () => ({}) },
  addvolume: { done: 'gets the volume', options: volume },
  removevolume: { done: 'loses the volume', options: ({ volumeName = '' }) => ({ name: volumeName }) },
};

/** Pure. */
export function lifecycleRequest(verb: LifecycleVerb, command: Command): LifecycleRequest {
  const { done, options } = ROWS[verb];
  const resource = ROWS[verb].resource ?? (command.ephemeral ? 'virtualmachineinstances' : 'virtualmachines');
  return { resource, done, options: { ...options(command), ...(command.dryRun ? { dryRun: ['All'] } : {}) } };
}

export async function lifecycleCommand(cluster: Cluster, verb: LifecycleVerb, command: Command, terminal: Terminal): Promise<number> {
  const { resource, options, done } = lifecycleRequest(verb, command);
  await cluster.put(resource, command.name, verb, options);
  const suffix = command.dryRun ? ' (dry run: nothing changed)' : '';
  terminal.output.write(`${cluster.namespace}/${command.name} ${done}${suffix}\n`);
  return 0;
}
