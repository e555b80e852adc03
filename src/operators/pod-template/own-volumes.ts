// Volumes that the launcher itself needs: its working directories, what keeps a VM's state across restarts, huge pages and the sockets of
// helpers. Their places are the contract of docs/architecture.md.
import { posix } from 'node:path';
import type { VirtualMachineInstance } from '../../api/index.js';
import { KvError } from '../../base/errors.js';
import { hasTpm } from '../../core/resources/devices.js';
import * as paths from '../../core/storage/paths.js';
import type { PodContext } from './context.js';
import { emptyDir, type Parts, type VolumeMount } from './parts.js';
import { isNonRoot } from './security.js';

const PLUGIN_SOCKETS_DIR = `${paths.PUBLIC_DIR}-plugin`;

function directory(name: string, mountPath: string, mountPropagation?: 'HostToContainer'): Parts {
  return { volumes: [emptyDir(name)], mounts: [{ name, mountPath, ...(mountPropagation ? { mountPropagation } : {}) }] };
}

const WORKING: readonly Parts[] = [
  directory('private', paths.PRIVATE_DIR),
  directory('public', paths.PUBLIC_DIR),
  directory('ephemeral-disks', paths.EPHEMERAL_DIR),
  directory('libvirt-runtime', paths.LIBVIRT_RUNTIME_DIR),
  directory('sockets', paths.SOCKETS_DIR),
];

const HUGEPAGES: Parts = {
  volumes: [{ name: 'hugepages', emptyDir: { medium: 'HugePages' } }, emptyDir('hugetblfs-dir')],
  mounts: [
    { name: 'hugepages', mountPath: paths.HUGEPAGES_DIR },
    { name: 'hugetblfs-dir', mountPath: posix.join(paths.HUGEPAGES_DIR, 'libvirt', 'qemu') },
  ],
};

const NETWORK_INFO: Parts = {
  volumes: [
    {
      name: 'network-info-annotation',
      downwardAPI: {
        items: [
          { path: posix.basename(paths.NETWORK_INFO_FILE), fieldRef: { fieldPath: "metadata.annotations['kubevirt.io/network-info']" } },
        ],
      },
    },
  ],
  mounts: [{ name: 'network-info-annotation', mountPath: posix.dirname(paths.NETWORK_INFO_FILE) }],
};

const hasPersistentTpm = ({ spec }: VirtualMachineInstance): boolean => hasTpm(spec.domain) && spec.domain.devices.tpm?.persistent === true;
const hasPersistentEfi = ({ spec }: VirtualMachineInstance): boolean => spec.domain.firmware?.bootloader?.efi?.persistent === true;
export const tracksBlocks = ({ status }: VirtualMachineInstance): boolean => {
  const state = status?.changedBlockTracking?.state;
  return state !== undefined && state !== '' && state !== 'Undefined' && state !== 'Disabled';
};

/** TPM, UEFI variables and changed blocks live in a claim of the VM. */
export const needsBackendStorage = (vmi: VirtualMachineInstance): boolean =>
  hasPersistentTpm(vmi) || hasPersistentEfi(vmi) || tracksBlocks(vmi);

function vmState(vmi: VirtualMachineInstance, { backendStorageClaim }: PodContext): Parts {
  if (!needsBackendStorage(vmi)) return {};
  if (!backendStorageClaim) {
    throw new KvError('NotReady', `the claim that keeps the state of ${vmi.metadata.name} does not exist yet`, {
      reason: 'BackendStorageNotReady',
    });
  }
  const asRoot = !isNonRoot(vmi);
  const qemu = posix.join(paths.PRIVATE_DIR, 'libvirt', 'qemu');
  const mount = (subPath: string, mountPath: string): VolumeMount => ({ name: 'vm-state', subPath, mountPath });
  return {
    volumes: [
      { name: 'vm-state', persistentVolumeClaim: { claimName: backendStorageClaim } },
      emptyDir('private-libvirt'),
      emptyDir('private-libvirt-qemu'),
    ],
    mounts: [
      { name: 'private-libvirt', mountPath: posix.dirname(qemu) },
      { name: 'private-libvirt-qemu', mountPath: qemu },
      mount('meta', paths.BACKEND_STORAGE_META_DIR),
      ...(hasPersistentTpm(vmi) ? [mount('swtpm', paths.swtpmDir(asRoot)), mount('swtpm-localca', paths.swtpmCaDir(asRoot))] : []),
      ...(hasPersistentEfi(vmi) ? [mount('nvram', paths.nvramDir(asRoot))] : []),
      ...(tracksBlocks(vmi) ? [mount('cbt', paths.backupTrackingDir(asRoot))] : []),
    ],
  };
}

/** Devices behind a network are told to the guest by an annotation that the node fills in later. */
function needsNetworkInfo({ spec }: VirtualMachineInstance, { config }: PodContext): boolean {
  const plugins = config.spec.network?.binding ?? {};
  return (spec.domain.devices.interfaces ?? []).some(
    ({ sriov, binding }) => sriov !== undefined || (binding !== undefined && plugins[binding.name]?.downwardAPI === 'device-info'),
  );
}

export function ownVolumes(vmi: VirtualMachineInstance, ctx: PodContext): Parts[] {
  const { domain } = vmi.spec;
  return [
    ...WORKING,
    ...(domain.devices.disableHotplug === true ? [] : [directory('hotplug-disks', paths.HOTPLUG_DISKS_DIR, 'HostToContainer')]),
    ...(domain.memory?.hugepages ? [HUGEPAGES] : []),
    ...(needsNetworkInfo(vmi, ctx) ? [NETWORK_INFO] : []),
    ...(ctx.config.isEnabled('Plugins') ? [directory('kubevirt-plugin-sockets', PLUGIN_SOCKETS_DIR)] : []),
    vmState(vmi, ctx),
  ];
}
