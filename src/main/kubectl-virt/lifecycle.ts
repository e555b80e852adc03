// start, stop, restart, pause, unpause: one request each, and a line that says what happens now.

import type { Command } from './arguments.js';
import type { Cluster } from './cluster.js';
import type { Terminal } from './terminal.js';

export interface LifecycleRequest {
  readonly resource: 'virtualmachines' | 'virtualmachineinstances';
  readonly options: object;
  readonly done: string;
}

interface Row {
  readonly resource: LifecycleRequest['resource'];
  readonly done: string;
  readonly options: (command: Command) => object;
}

const grace = ({ force, gracePeriod }: Command, field: string): object => {
  const seconds = force ? 0 : gracePeriod;
  return seconds === undefined ? {} : { [field]: seconds };
};

const ROWS: Readonly<Record<Exclude<Command['verb'], 'console' | 'vnc' | 'help'>, Row>> = {
  start: { resource: 'virtualmachines', done: 'starts', options: ({ paused }) => (paused ? { paused } : {}) },
  stop: { resource: 'virtualmachines', done: 'stops', options: (command) => grace(command, 'gracePeriod') },
  restart: { resource: 'virtualmachines', done: 'restarts', options: (command) => grace(command, 'gracePeriodSeconds') },
  pause: { resource: 'virtualmachineinstances', done: 'is paused', options: () => ({}) },
  unpause: { resource: 'virtualmachineinstances', done: 'runs again', options: () => ({}) },
};

export type LifecycleVerb = keyof typeof ROWS;

/** Pure. */
export function lifecycleRequest(verb: LifecycleVerb, command: Command): LifecycleRequest {
  const { resource, done, options } = ROWS[verb];
  return { resource, done, options: { ...options(command), ...(command.dryRun ? { dryRun: ['All'] } : {}) } };
}

export async function lifecycleCommand(cluster: Cluster, verb: LifecycleVerb, command: Command, terminal: Terminal): Promise<number> {
  const { resource, options, done } = lifecycleRequest(verb, command);
  await cluster.put(resource, command.name, verb, options);
  const suffix = command.dryRun ? ' (dry run: nothing changed)' : '';
  terminal.output.write(`${cluster.namespace}/${command.name} ${done}${suffix}\n`);
  return 0;
}
