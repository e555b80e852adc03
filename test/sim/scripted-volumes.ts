// The part of the scripted node that brings volumes to running guests: starts attachment pods, binds claims that waited for one, and writes
// what the node agent would write, by the agent's own rules. Asserts nothing.
import type { DomainReport } from '../../src/api/domain-report.js';
import type { Pod, VirtualMachineInstance } from '../../src/api/index.js';
import { metaTime } from '../../src/base/clock.js';
import { nextVolumeStatus } from '../../src/node/status/volumes.js';
import { deepEqual } from '../../src/runtime/patch.js';
import { PERSISTENT_VOLUME_CLAIMS, PODS, VIRTUAL_MACHINE_INSTANCES } from '../../src/runtime/resources.js';
import type { KubeClient } from '../../src/runtime/types.js';
import type { VirtualClock } from './virtual-clock.js';

/** A dump is written in no time. */
function dumpOf({ status }: VirtualMachineInstance, now: string): object {
  const dump = status?.volumeStatus?.find(({ phase }) => phase === 'MemoryDumpInProgress')?.memoryDumpVolume;
  return dump ? { memoryDump: { fileName: dump.targetFileName, startTimestamp: now, endTimestamp: now } } : {};
}

/** What the guest was asked to have it has. */
function resized({ spec, status }: VirtualMachineInstance): Partial<NonNullable<VirtualMachineInstance['status']>> {
  const isOver = (type: string): boolean => type === 'HotVCPUChange' || type === 'HotMemoryChange';
  if (!status?.conditions?.some(({ type }) => isOver(type))) return {};
  return {
    conditions: status.conditions.filter(({ type }) => !isOver(type)),
    currentCPUTopology: { ...status.currentCPUTopology, sockets: spec.domain.cpu?.sockets ?? 1 },
  };
}

export class ScriptedVolumes {
  readonly #admin: KubeClient;
  readonly #clock: VirtualClock;
  /** Mounted in the launcher, by the VMI's uid. */
  readonly #mounted = new Map<string, Set<string>>();

  constructor(admin: KubeClient, clock: VirtualClock) {
    this.#admin = admin;
    this.#clock = clock;
  }

  /** A pod whose claims are bound, or are bound for its sake. */
  async start(pod: Pod): Promise<void> {
    for (const { persistentVolumeClaim: claim } of pod.spec?.volumes ?? []) {
      const pvc = claim && (await this.#admin.find(PERSISTENT_VOLUME_CLAIMS, `${pod.metadata.namespace}/${claim.claimName}`));
      if (pvc && pvc.status?.phase !== 'Bound') {
        await this.#admin.update(PERSISTENT_VOLUME_CLAIMS, { ...pvc, status: { phase: 'Bound' } }, { subresource: 'status' });
      }
    }
    const [container] = pod.spec?.containers ?? [];
    const running = { name: container?.name ?? '', image: '', imageID: '', ready: true, restartCount: 0, state: { running: {} } };
    await this.#admin.update(PODS, { ...pod, status: { phase: 'Running', containerStatuses: [running] } } as Pod, {
      subresource: 'status',
    });
  }

  async follow(vmi: VirtualMachineInstance): Promise<void> {
    const wanted = new Set((vmi.spec.volumes ?? []).map(({ name }) => name));
    const before = this.#mounted.get(vmi.metadata.uid ?? '') ?? new Set<string>();
    const there = new Set([...before].filter((name) => wanted.has(name)));
    for (const { name, hotplugVolume } of vmi.status?.volumeStatus ?? [])
      if (hotplugVolume?.attachPodUID && wanted.has(name)) there.add(name);
    this.#mounted.set(vmi.metadata.uid ?? '', there);
    const dumps = new Map((vmi.spec.volumes ?? []).flatMap(({ name, memoryDump }) => (memoryDump ? [[name, memoryDump]] : [])));
    // The guest has a disk one look after it was mounted.
    const disks = [...there].filter((name) => before.has(name) && !dumps.has(name)).map((name) => ({ name, target: 'sda' }));
    const now = this.#clock.now();
    const spec = { disks, ...dumpOf(vmi, metaTime(now)) };
    const volumeStatus = nextVolumeStatus(vmi, { spec } as unknown as DomainReport, {
      plugged: { there, failures: new Map() },
      now,
    });
    const status = { ...vmi.status, volumeStatus, ...resized(vmi) };
    if (deepEqual(status, vmi.status)) return;
    await this.#admin.update(VIRTUAL_MACHINE_INSTANCES, { ...vmi, status });
  }
}
