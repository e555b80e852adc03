// Reads the running domain and makes of it what libvirt needs to move it. Changes nothing; called by source.ts while no sync is under way.
import type { VirtualMachineInstance } from '../../api/index.js';
import { KvError } from '../../base/errors.js';
import {
  type CopiedDisk,
  type Destination,
  describeLive,
  destinationDomain,
  disksToCopy,
  type HostTopology,
  readDomain,
} from '../../core/converter/index.js';
import type { MigrationOptions } from '../../core/migration/options.js';
import { movingVolumes } from '../../core/migration/volumes.js';
import type { Domain } from '../../libvirt/index.js';
import { topologyOf } from '../prepare/facts.js';
import { type Crossing, hasHostDevices, optionsFor, planCrossing } from './crossing.js';

export interface DepartureInput {
  readonly vmi: VirtualMachineInstance;
  readonly options: MigrationOptions;
  readonly libvirtVersion: number;
  readonly mode: 'session' | 'system';
  readonly sizeOf: (path: string) => Promise<bigint>;
}

export interface Departure {
  readonly crossing: Crossing;
  /** Memory and copied disks. */
  readonly bytes: bigint;
  readonly hasHostDevices: boolean;
}

/** The CPUs that the kubelet gave the pod on the other side. */
function placeThere({ status }: VirtualMachineInstance): Pick<Destination, 'cpuSet' | 'topology'> {
  const state = status?.migrationState;
  const cpuSet = state?.targetCPUSet ?? state?.targetState?.cpuSet;
  const json = state?.targetNodeTopology ?? state?.targetState?.nodeTopology;
  if (cpuSet === undefined) return {};
  return { cpuSet, ...topologyThere(json) };
}

function topologyThere(json: string | undefined): { topology?: HostTopology } {
  if (json === undefined || json === '') return {};
  try {
    const topology = topologyOf({ topology: JSON.parse(json) });
    return topology ? { topology } : {};
  } catch (err) {
    throw new KvError('Invalid', 'status.migrationState.targetNodeTopology of the VMI is no JSON', { cause: err });
  }
}

async function sizesOf(
  disks: readonly CopiedDisk[],
  sizeOf: DepartureInput['sizeOf'],
): Promise<{ total: bigint; byName: Map<string, bigint> }> {
  const sized = await Promise.all(disks.map(async ({ name, path }) => [name ?? '', await sizeOf(path)] as const));
  return { total: sized.reduce((sum, [, bytes]) => sum + bytes, 0n), byName: new Map(sized) };
}

export async function prepareDeparture(handle: Domain, { vmi, options, sizeOf, ...rest }: DepartureInput): Promise<Departure> {
  const { state } = await handle.state();
  const live = readDomain(await handle.xml());
  // Without what only this host knows; libvirt compares it with what arrives there.
  const migratable = readDomain(await handle.xml({ migratable: true }));
  const copied = disksToCopy(migratable, vmi);
  const { total, byName } = await sizesOf(copied, sizeOf);
  const moving = movingVolumes(vmi);
  const sizes = new Map([...byName].filter(([name]) => moving.has(name)));
  const destination = destinationDomain(migratable, vmi, { sizes, ...placeThere(vmi) });
  return {
    crossing: planCrossing({ ...rest, vmi, options: optionsFor(live, options), destination, copied, isPaused: state === 'paused' }),
    bytes: BigInt(describeLive(live).memoryBytes ?? 0) + total,
    hasHostDevices: hasHostDevices(live),
  };
}
