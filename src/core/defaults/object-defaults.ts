// Values that an object has when it is merely named: a feature given as {} is on, a CD-ROM is read-only and closed, a probe has its
// periods. Independent of cluster and architecture. Changes the spec it is handed, which is the caller's own copy.
import type { Features, Probe, VirtualMachineInstanceSpec } from '../../api/index.js';

interface Switch {
  enabled?: boolean;
}

const SPINLOCK_RETRIES = 4096;

const on = (feature: Switch | undefined): void => {
  if (feature) feature.enabled ??= true;
};

function setFeatures(features: Features): void {
  features.acpi ??= {};
  for (const feature of [features.acpi, features.apic, features.smm, features.pvspinlock]) on(feature);
  const { hyperv } = features;
  if (!hyperv) return;
  const { spinlocks, synictimer, tlbflush, vendorid, ...plain } = hyperv;
  for (const feature of [spinlocks, synictimer, synictimer?.direct, tlbflush, tlbflush?.direct, tlbflush?.extended, vendorid]) on(feature);
  for (const feature of Object.values(plain)) on(feature);
  if (spinlocks?.enabled) spinlocks.spinlocks ??= SPINLOCK_RETRIES;
}

function setTimers(spec: VirtualMachineInstanceSpec): void {
  for (const timer of Object.values(spec.domain.clock?.timer ?? {})) {
    (timer as { present?: boolean }).present ??= true;
  }
}

function setDisks(spec: VirtualMachineInstanceSpec): void {
  for (const disk of spec.domain.devices.disks ?? []) {
    if (!disk.disk && !disk.cdrom && !disk.lun) disk.disk = {};
    if (disk.cdrom) {
      disk.cdrom.readonly ??= true;
      disk.cdrom.tray ||= 'closed';
    }
    on(disk.blockSize?.matchVolume);
  }
}

function setInputs(spec: VirtualMachineInstanceSpec): void {
  for (const input of spec.domain.devices.inputs ?? []) {
    input.bus ||= 'usb';
    input.type ||= 'tablet';
  }
}

const atLeastOne = (value: number | undefined, otherwise: number): number => (value !== undefined && value >= 1 ? value : otherwise);

function setProbe(probe: Probe | undefined): void {
  if (!probe) return;
  probe.timeoutSeconds = atLeastOne(probe.timeoutSeconds, 1);
  probe.periodSeconds = atLeastOne(probe.periodSeconds, 10);
  probe.successThreshold = atLeastOne(probe.successThreshold, 1);
  probe.failureThreshold = atLeastOne(probe.failureThreshold, 3);
}

export function setObjectDefaults(spec: VirtualMachineInstanceSpec, randomUuid: () => string): void {
  const firmware = spec.domain.firmware ?? {};
  spec.domain.firmware = firmware;
  firmware.uuid ||= randomUuid();
  const features = spec.domain.features ?? {};
  spec.domain.features = features;
  setFeatures(features);
  setTimers(spec);
  setDisks(spec);
  setInputs(spec);
  for (const gpu of spec.domain.devices.gpus ?? []) on(gpu.virtualGPUOptions?.display?.ramFB);
  setProbe(spec.readinessProbe);
  setProbe(spec.livenessProbe);
}
