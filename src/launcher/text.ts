// Sentences that users see: in events on the VMI, in conditions made of our errors, and as the last line of a failed pod.

import type { PodDisk } from './pod-disks.js';

const MIB = 1024 * 1024;
/** Others are no reason for anything. */
const isNotable = ({ bytes }: PodDisk): boolean => bytes >= MIB;
const sizeOf = ({ volume, bytes }: PodDisk): string => `${volume} ${Math.round(bytes / MIB)} MiB`;

export const text = {
  ioError: (disk: string, reason: string): string =>
    reason === 'enospc'
      ? `VM paused: no space is left on the storage of disk ${disk}. Free or add space there; the VM goes on by itself soon after.`
      : `VM paused after an I/O error on disk ${disk}${reason === '' ? '' : ` (${reason})`}. Repair the storage; the VM goes on by itself soon after.`,
  removalFailed: (device: string): string =>
    `The guest did not let go of device ${device}. Stop using it in the guest (unmount it); it is asked again when the VM is changed.`,
  guestPanicked: 'The guest operating system panicked.',
  imageInUse: (volume: string | undefined, path: string): string =>
    `the disk${volume === undefined ? '' : ` of volume ${volume}`} is in use by another guest${path === '' ? '' : ` (lock on ${path})`}: ` +
    'stop the VM that has the same claim or file, or set shareable on the disk in both, if the guests can share it',
  podIsStopping: 'the launcher pod is being stopped; no guest is started in it any more',
  cannotStart: (name: string, reason: string): string => `cannot start VM ${name}: ${reason}`,
  cannotChange: (kind: 'attach' | 'detach' | 'update', what: string, name: string, reason: string): string =>
    `cannot ${kind} ${what} ${name} ${kind === 'detach' ? 'from' : kind === 'attach' ? 'to' : 'of'} the running VM: ${reason}`,
  noMeasurement: (name: string): string => `VM ${name} has no launch measurement: its memory is not encrypted with SEV`,
  notImplemented: (what: string): string =>
    `${what} is not implemented in this version of virt-launcher; docs/compatibility.md lists what is`,
  stillRunning: (name: string): string => `VM ${name} still runs; shut it down before it is deleted`,
  noDomain: (name: string): string => `VM ${name} has no running domain`,
  cannotReboot: 'VMI neither have the agent connected nor the ACPI feature enabled',
  cannotShutDown: (name: string): string =>
    `VM ${name} cannot be asked to shut down: its ACPI feature is off and no guest agent is connected; it is stopped when the grace period ends`,
  noAgent: (name: string): string => `no guest agent answers in VM ${name}; install and start qemu-guest-agent in the guest`,
  execTooLong: (command: string, seconds: number): string =>
    `${command} did not end in the guest within ${seconds} s; it goes on running there`,
  neverStarted: (seconds: number, lastError: string | undefined): string =>
    `virt-launcher gave up: no guest was started within ${seconds} s. ${
      lastError === undefined
        ? "virt-handler on this node never asked for it: look at the virt-handler pod's log."
        : `The last attempt failed: ${lastError}`
    }`,
  notEnded: (waitingFor: string | undefined): string =>
    `it had not ended${waitingFor === undefined ? '' : `; it waited for ${waitingFor}`}`,
  toldToEnd: (name: string, disks: readonly PodDisk[]): string =>
    `VM ${name} was told to end with its pod${
      disks.some(isNotable) ? `; of the pod’s storage its volumes took: ${disks.filter(isNotable).map(sizeOf).join(', ')}` : ''
    }`,
  crashed: (name: string, lastWords: string): string => `QEMU of VM ${name} ended unexpectedly${lastWords === '' ? '' : `: ${lastWords}`}`,
} as const;
