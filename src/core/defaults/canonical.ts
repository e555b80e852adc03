// The form in which the API has always stored a VMI spec: switches that are off, counters that are zero and lists without entries are left
// out where absence means the same, two quantities are always written, and all of them in their shortest form. Keeps stored objects byte-equal whoever admits them.
import type { Quantity, VirtualMachineInstanceSpec } from '../../api/index.js';
import { canonicalQuantity, isQuantity } from '../../api/quantity.js';

type Node = Record<string, unknown>;

/** Dotted paths below the spec; `*` stands for every list element. */
const ABSENT_WHEN_ZERO = `
  domain.cpu.cores domain.cpu.sockets domain.cpu.threads domain.cpu.maxSockets
  domain.cpu.dedicatedCpuPlacement domain.cpu.isolateEmulatorThread
  domain.resources.overcommitGuestOverhead domain.devices.disableHotplug
  domain.features.apic.endOfInterrupt domain.features.kvm.hidden
  domain.devices.disks.*.disk.readonly domain.devices.disks.*.lun.readonly domain.devices.disks.*.lun.reservation
  domain.devices.disks.*.blockSize.custom.logical domain.devices.disks.*.blockSize.custom.physical
  domain.devices.interfaces.*.acpiIndex networks.*.multus.default
  volumes.*.dataVolume.hotpluggable volumes.*.persistentVolumeClaim.hotpluggable volumes.*.persistentVolumeClaim.readOnly
  volumes.*.ephemeral.persistentVolumeClaim.readOnly volumes.*.memoryDump.hotpluggable volumes.*.memoryDump.readOnly
  utilityVolumes.*.readOnly utilityVolumes.*.hotpluggable
  livenessProbe.initialDelaySeconds livenessProbe.timeoutSeconds livenessProbe.periodSeconds
  livenessProbe.successThreshold livenessProbe.failureThreshold
  readinessProbe.initialDelaySeconds readinessProbe.timeoutSeconds readinessProbe.periodSeconds
  readinessProbe.successThreshold readinessProbe.failureThreshold`
  .split(/\s+/)
  .filter(Boolean)
  .map((p) => p.split('.'));

const QUANTITIES = `
  domain.memory.guest domain.memory.maxGuest domain.memory.reservedOverhead.addedOverhead
  domain.resources.requests.* domain.resources.limits.*
  volumes.*.emptyDisk.capacity volumes.*.hostDisk.capacity volumes.*.downwardAPI.fields.*.resourceFieldRef.divisor`
  .split(/\s+/)
  .filter(Boolean)
  .map((p) => p.split('.'));

const isNode = (v: unknown): v is Node => typeof v === 'object' && v !== null;

/** Calls `change` with every parent and key that the path reaches. */
function visit(at: unknown, path: readonly string[], change: (parent: Node, key: string) => void): void {
  const [key, ...rest] = path;
  if (!isNode(at) || key === undefined) return;
  const keys = key === '*' ? Object.keys(at) : [key];
  for (const k of keys) {
    if (rest.length > 0) visit(at[k], rest, change);
    else if (k in at) change(at, k);
  }
}

function dropZero(parent: Node, key: string): void {
  if (parent[key] === false || parent[key] === 0) delete parent[key];
}

function writeCanonical(parent: Node, key: string): void {
  const value = parent[key];
  if (isQuantity(value)) parent[key] = canonicalQuantity(value as Quantity);
}

/** Lists that stay even when they are empty. */
const KEPT_LISTS = new Set(['nodeSelectorTerms', 'users']);

function dropEmptyLists(at: unknown): void {
  if (!isNode(at)) return;
  for (const [key, value] of Object.entries(at)) {
    if (Array.isArray(value) && value.length === 0 && !Array.isArray(at) && !KEPT_LISTS.has(key)) delete at[key];
    else dropEmptyLists(value);
  }
}

/** A copy in the stored form. */
export function canonicalVmiSpec(given: VirtualMachineInstanceSpec): VirtualMachineInstanceSpec {
  const spec = structuredClone(given);
  dropEmptyLists(spec);
  for (const path of ABSENT_WHEN_ZERO) visit(spec, path, dropZero);
  for (const volume of spec.volumes ?? []) {
    if (volume.hostDisk) volume.hostDisk.capacity ??= '0';
    for (const field of volume.downwardAPI?.fields ?? []) {
      if (field.resourceFieldRef) field.resourceFieldRef.divisor ??= '0';
    }
  }
  for (const path of QUANTITIES) visit(spec, path, writeCanonical);
  return spec;
}
