// The steps, once, in the order in which their elements appear. A new device is a new file in steps/ and a line here.
import type { Scope } from './scope.js';
import type { Fragment } from './step.js';
import { clock } from './steps/clock.js';
import { channels, graphics, serialConsole } from './steps/consoles.js';
import { controllers } from './steps/controllers.js';
import { cpu } from './steps/cpu.js';
import { disks } from './steps/disks.js';
import { iommufd, rebootPolicy } from './steps/domain-options.js';
import { features } from './steps/features.js';
import { hostDevices } from './steps/host-devices.js';
import { hypervisor } from './steps/hypervisor.js';
import { inputs } from './steps/inputs.js';
import { interfaces } from './steps/interfaces.js';
import { launchSecurity } from './steps/launch-security.js';
import { memory } from './steps/memory.js';
import { memoryBacking } from './steps/memory-backing.js';
import { metadata } from './steps/metadata.js';
import { os } from './steps/os.js';
import { balloon, filesystems, panicDevices, rng, sound, tpm, usbRedirection, vsock, watchdog } from './steps/peripherals.js';
import { qemuArguments } from './steps/qemu-arguments.js';
import { sysinfo } from './steps/sysinfo.js';
import { tuning } from './steps/tuning.js';

/** A step of any needs, as assemble.ts runs it. */
export interface AnyStep {
  readonly name: string;
  render(scope: Scope): Fragment;
}

export const STEPS: readonly AnyStep[] = [
  hypervisor,
  metadata,
  memory,
  memoryBacking,
  cpu,
  tuning,
  sysinfo,
  os,
  features,
  clock,
  rebootPolicy,
  launchSecurity,
  iommufd,
  interfaces,
  channels,
  hostDevices,
  panicDevices,
  controllers,
  graphics,
  balloon,
  disks,
  inputs,
  serialConsole,
  watchdog,
  rng,
  filesystems,
  usbRedirection,
  sound,
  tpm,
  vsock,
  qemuArguments,
];
