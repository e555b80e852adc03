// Which channels a migration needs, and what of them stands in the VMI's status: the target's node agent writes its ports there, the source's reads
// them. Pure; proxies.ts opens them.
import type { VirtualMachineInstance } from '../../api/index.js';
import { KvError } from '../../base/errors.js';
import { CHANNELS, type Channel, channelOfPort } from '../../core/migration/channels.js';
import { copiesDisks } from '../../core/migration/volumes.js';

/** Copies of disks have a channel of their own. */
export const channelsOf = (vmi: VirtualMachineInstance): Channel[] =>
  copiesDisks(vmi) ? ['libvirt', 'memory', 'disks'] : ['libvirt', 'memory'];

export type ChannelPorts = Readonly<Partial<Record<Channel, number>>>;

/** As status.migrationState.targetDirectMigrationNodePorts has it: listening port → name of the channel. */
export function statusPorts(ports: ChannelPorts): Record<string, number> {
  const entries = Object.entries(ports) as [Channel, number][];
  return Object.fromEntries(entries.map(([channel, port]) => [String(port), CHANNELS[channel]]));
}

export interface SourceRoute {
  readonly address: string;
  readonly ports: ChannelPorts;
}

/** Where the target listens; undefined until its node agent has written that down. */
export function sourceRoute({ status }: VirtualMachineInstance): SourceRoute | undefined {
  const state = status?.migrationState;
  const address = state?.targetNodeAddress ?? state?.targetState?.nodeAddress;
  const listed = state?.targetDirectMigrationNodePorts ?? state?.targetState?.directMigrationNodePorts;
  if (!address || listed === undefined || Object.keys(listed).length === 0) return undefined;
  const ports = Object.entries(listed).map(([port, name]) => [channelOf(name), portOf(port)] as const);
  return { address, ports: Object.fromEntries(ports) };
}

function channelOf(name: number): Channel {
  const channel = channelOfPort(name);
  if (channel === undefined)
    throw new KvError('Invalid', `status.migrationState names a migration channel ${name} that this release does not know`);
  return channel;
}

function portOf(text: string): number {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 1 || port > 65_535)
    throw new KvError('Invalid', `status.migrationState names '${text}', which is no port`);
  return port;
}
