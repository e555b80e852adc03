// Disks and kernels that come in container images. Two ways, chosen by the caller: as image volumes, which need no container at all; or
// held open by one side container an image, whose file the node agent binds into the launcher.
import { posix } from 'node:path';
import type { Container, VirtualMachineInstance } from '../../api/index.js';
import { supportResources } from '../../core/resources/support-resources.js';
import { CONTAINER_DISKS_DIR, imageVolumeDir } from '../../core/storage/paths.js';
import type { PodContext } from './context.js';
import { emptyDir, type Parts } from './parts.js';
import { unprivileged } from './security.js';

const KERNEL_BOOT_VOLUME = 'kernel-boot-volume';
const BINARY_VOLUME = 'virt-bin-share-dir';
const DISKS_VOLUME = 'container-disks';
const KERNEL_BOOT_DIR = '/var/run/kubevirt-kernel-boot';
/** Waits for its end; static, so that it runs in an image that holds nothing but a disk. */
const HOLDER = '/usr/bin/container-disk';
const HOLDER_DIR = '/container-disk-binary';

interface ImageDisk {
  /** Of the pod's volume; the side container is named after it. */
  readonly volume: string;
  readonly image: string;
  readonly pullPolicy?: string;
  /** Where compute sees the image's files. */
  readonly mountPath: string;
  /** In the holder's environment, by which the node agent finds the process. */
  readonly id: string;
}

const policy = (imagePullPolicy: string | undefined): { pullPolicy?: string } => (imagePullPolicy ? { pullPolicy: imagePullPolicy } : {});

/** Index: the position in spec.volumes, which launcher and node agent count by as well. */
function imageDisks({ spec }: VirtualMachineInstance): ImageDisk[] {
  const disks = (spec.volumes ?? []).flatMap(({ name, containerDisk }, index): ImageDisk[] =>
    containerDisk
      ? [
          {
            volume: name,
            image: containerDisk.image,
            ...policy(containerDisk.imagePullPolicy),
            mountPath: imageVolumeDir(index),
            id: `disk_${index}`,
          },
        ]
      : [],
  );
  const kernel = spec.domain.firmware?.kernelBoot?.container;
  if (!kernel) return disks;
  const { image, imagePullPolicy } = kernel;
  return [...disks, { volume: KERNEL_BOOT_VOLUME, image, ...policy(imagePullPolicy), mountPath: KERNEL_BOOT_DIR, id: 'kernel-boot' }];
}

const asVolume = ({ volume, image, pullPolicy, mountPath }: ImageDisk): Parts => ({
  volumes: [{ name: volume, image: { ...(image ? { reference: image } : {}), ...(pullPolicy ? { pullPolicy } : {}) } }],
  mounts: [{ name: volume, mountPath, readOnly: true }],
});

function holder(disk: ImageDisk, vmi: VirtualMachineInstance, ctx: PodContext): Container {
  return {
    name: `volume${disk.volume}`,
    image: disk.image,
    ...(disk.pullPolicy ? { imagePullPolicy: disk.pullPolicy } : {}),
    command: [posix.join(HOLDER_DIR, posix.basename(HOLDER))],
    env: [{ name: 'CONTAINER_DISK_ID', value: disk.id }],
    resources: supportResources('container-disk', ctx.config, vmi.spec.domain) as NonNullable<Container['resources']>,
    securityContext: unprivileged,
    volumeMounts: [{ name: BINARY_VOLUME, mountPath: HOLDER_DIR, readOnly: true }],
  };
}

/** The holder's program comes from the launcher image; disk images need not contain any. */
function binaryProvider(vmi: VirtualMachineInstance, ctx: PodContext): Container {
  return {
    name: 'container-disk-binary',
    image: ctx.launcherImage,
    ...(ctx.config.spec.imagePullPolicy ? { imagePullPolicy: ctx.config.spec.imagePullPolicy } : {}),
    command: ['/bin/cp', HOLDER, HOLDER_DIR],
    resources: supportResources('container-disk', ctx.config, vmi.spec.domain) as NonNullable<Container['resources']>,
    securityContext: unprivileged,
    volumeMounts: [{ name: BINARY_VOLUME, mountPath: HOLDER_DIR }],
  };
}

export function containerDisks(vmi: VirtualMachineInstance, ctx: PodContext): Parts[] {
  const disks = imageDisks(vmi);
  if (disks.length === 0) return [];
  if (ctx.imageVolumes) return disks.map(asVolume);
  return [
    {
      volumes: [emptyDir(BINARY_VOLUME), emptyDir(DISKS_VOLUME)],
      mounts: [{ name: DISKS_VOLUME, mountPath: CONTAINER_DISKS_DIR, mountPropagation: 'HostToContainer' }],
      initContainers: [binaryProvider(vmi, ctx)],
      containers: disks.map((disk) => holder(disk, vmi, ctx)),
    },
  ];
}

/** Pull secrets of the images, each once, in the order in which the VMI names them. */
export function pullSecrets({ spec }: VirtualMachineInstance, ctx: PodContext): { name: string }[] {
  const names = [
    ...(spec.volumes ?? []).map(({ containerDisk }) => containerDisk?.imagePullSecret),
    spec.domain.firmware?.kernelBoot?.container?.imagePullSecret,
    ctx.imagePullSecret,
  ];
  return [...new Set(names.filter((name) => name !== undefined && name !== ''))].map((name) => ({ name: name as string }));
}
