// The guests of the journeys through operations, agent and firmware: small ones with many devices, the Debian one with a real guest agent.
import type { VirtualMachine } from '../../src/api/index.js';
import { NAMESPACE } from './harness.js';
import { tinyVm } from './manifests.js';
import { DEBIAN_IMAGE, NODE } from './volume-objects.js';

type Spec = NonNullable<VirtualMachine['spec']['template']['spec']>;

/** A VM of the tiny guest on one node, changed by `change`. */
export function changedVm(name: string, change: (spec: Spec) => void): VirtualMachine {
  const vm = structuredClone(tinyVm(name, { node: NODE, gracePeriodSeconds: 5 })) as VirtualMachine;
  if (vm.spec.template.spec) change(vm.spec.template.spec);
  return vm;
}

/** The VMI that such a VM would make, for guests that shall not start again. */
export function changedVmi(name: string, change: (spec: Spec) => void): object {
  const { template } = changedVm(name, change).spec;
  return { apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachineInstance', metadata: { name, namespace: NAMESPACE }, spec: template.spec };
}

/** One of each device that needs nothing of the node. */
export const devicesVm = (name: string): VirtualMachine =>
  changedVm(name, ({ domain }) => {
    Object.assign(domain.devices, {
      rng: {},
      tpm: {},
      sound: { name: 'sound', model: 'ich9' },
      watchdog: { name: 'dog', i6300esb: { action: 'reset' } },
      inputs: [{ name: 'tablet', type: 'tablet', bus: 'usb' }],
      video: { type: 'virtio' },
      clientPassthrough: {},
      panicDevices: [{ model: 'pvpanic' }],
    });
    domain.devices.disks?.push({ name: 'media', cdrom: { bus: 'sata' } });
  });

export const panickingVmi = (name: string): object =>
  changedVmi(name, ({ domain }) => {
    domain.devices.panicDevices = [{ model: 'pvpanic' }];
  });

export const notRebootingVmi = (name: string): object =>
  changedVmi(name, ({ domain }) => {
    domain.rebootPolicy = 'Terminate';
  });

/** A second disk below a folder of the node. */
export const hostDiskVmi = (name: string, path: string): object =>
  changedVmi(name, ({ domain, volumes }) => {
    domain.devices.disks?.push({ name: 'full', disk: { bus: 'virtio' }, serial: 'full' });
    volumes?.push({ name: 'full', hostDisk: { path, type: 'Disk' } });
  });

/** UEFI and a TPM that remember. */
export const rememberingVm = (name: string): VirtualMachine =>
  changedVm(name, ({ domain }) => {
    domain.memory = { guest: '512Mi' };
    domain.features = { smm: { enabled: true } };
    domain.firmware = { bootloader: { efi: { secureBoot: false, persistent: true } } };
    domain.devices.tpm = { persistent: true };
  });

export const secureBootVmi = (name: string): object =>
  changedVmi(name, ({ domain }) => {
    domain.memory = { guest: '256Mi' };
    domain.features = { smm: { enabled: true } };
    domain.firmware = { bootloader: { efi: { secureBoot: true } } };
  });

export const hugePagesVmi = (name: string): object =>
  changedVmi(name, ({ domain }) => {
    domain.memory = { guest: '128Mi', hugepages: { pageSize: '2Mi' } };
  });

const secret = (name: string, stringData: Readonly<Record<string, string>>): object => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, namespace: NAMESPACE },
  stringData,
});

export const keysSecret = (name: string, key: string): object => secret(name, { key });
export const passwordSecret = (name: string, password: string): object => secret(name, { debian: password });

export interface DebianSecrets {
  readonly keys: string;
  readonly passwords: string;
}

/** Can grow; has credentials put in by the agent; probed through the agent. */
export function debianVm(name: string, { keys, passwords }: DebianSecrets): VirtualMachine {
  const vm = changedVm(name, (spec) => {
    spec.terminationGracePeriodSeconds = 60;
    spec.domain.cpu = { sockets: 1 };
    spec.domain.memory = { guest: '1Gi' };
    spec.readinessProbe = { exec: { command: ['test', '-e', '/etc/hostname'] }, periodSeconds: 2, timeoutSeconds: 5, failureThreshold: 2 };
    // A guest that has this one may be paused. It must live through its boot, and through an agent that hangs for a while.
    spec.livenessProbe = { guestAgentPing: {}, periodSeconds: 10, timeoutSeconds: 10, failureThreshold: 60 };
    spec.accessCredentials = [
      {
        sshPublicKey: { source: { secret: { secretName: keys } }, propagationMethod: { qemuGuestAgent: { users: ['debian'] } } },
      },
      { userPassword: { source: { secret: { secretName: passwords } }, propagationMethod: { qemuGuestAgent: {} } } },
    ];
    spec.domain.devices.disks = [
      { name: 'root', disk: { bus: 'virtio' } },
      { name: 'seed', disk: { bus: 'virtio' } },
    ];
    spec.volumes = [
      { name: 'root', containerDisk: { image: DEBIAN_IMAGE } },
      { name: 'seed', cloudInitConfigDrive: { userData: `#cloud-config\nhostname: ${name}\n` } },
    ];
  });
  return vm;
}
