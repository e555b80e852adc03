// Disks and kernels that come in container images. Two ways, chosen by the caller: as image volumes, which need no container at all; or
// held open by one side container an image, whose file the node agent binds into the launcher.
import { posix } from 'node:path';
import type { Container, VirtualMachineInstance } from '../../api/index.js';
import { supportResources } from '../../core/resources/support-resources.js';
import type { PodContext } from './context.js';
import { emptyDir, type Parts, type VolumeMount } from './parts.js';
import * as paths from './paths.js';
import { unprivileged } from './security.js';

const KERNEL_BOOT_VOLUME = 'kernel-boot-volume';
const BINARY_VOLUME = 'virt-bin-share-dir';
const DISKS_VOLUME = 'container-disks';
/** Static, so that it runs in an image that holds nothing but a disk. */
const HOLDER = '/usr/bin/container-disk';

interface ImageDisk {
  /** Of the pod's volume; the side container is named after it. */
  readonly volume: string;
  readonly image: string;
  readonly pullPolicy?: string;
  /** Where compute sees the image's files. */
  readonly mountPath: string;
  /** Name of the holder's socket, by which the node agent finds the container. */
  readonly socket: string;
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
            mountPath: posix.join(paths.IMAGE_VOLUME, `disk_${index}`),
            socket: `disk_${index}`,
          },
        ]
      : [],
  );
  const kernel = spec.domain.firmware?.kernelBoot?.container;
  if (!kernel) return disks;
  const { image, imagePullPolicy } = kernel;
  return [...disks, { volume: KERNEL_BOOT_VOLUME, image, ...policy(imagePullPolicy), mountPath: paths.KERNEL_BOOT, socket: 'kernel-boot' }];
}

const asVolume = ({ volume, image, pullPolicy, mountPath }: ImageDisk): Parts => ({
  volumes: [{ name: volume, image: { ...(image ? { reference: image } : {}), ...(pullPolicy ? { pullPolicy } : {}) } }],
  mounts: [{ name: volume, mountPath, readOnly: true }],
});

const disksMount = (): VolumeMount => ({ name: DISKS_VOLUME, mountPath: paths.CONTAINER_DISKS });

function holder(disk: ImageDisk, vmi: VirtualMachineInstance, ctx: PodContext): Container {
  return {
    name: `volume${disk.volume}`,
    image: disk.image,
    ...(disk.pullPolicy ? { imagePullPolicy: disk.pullPolicy } : {}),
    command: [HOLDER],
    args: ['--copy-path', posix.join(paths.CONTAINER_DISKS, disk.socket)],
    resources: supportResources('container-disk', ctx.config, vmi.spec.domain) as NonNullable<Container['resources']>,
    securityContext: unprivileged,
    volumeMounts: [disksMount(), { name: BINARY_VOLUME, mountPath: posix.dirname(HOLDER), readOnly: true }],
  };
}

/** The holder's program comes from the launcher image; disk images need not contain any. */
function binaryProvider(vmi: VirtualMachineInstance, ctx: PodContext): Container {
  const target = '/init';
  return {
    name: 'container-disk-binary',
    image: ctx.launcherImage,
    ...(ctx.config.spec.imagePullPolicy ? { imagePullPolicy: ctx.config.spec.imagePullPolicy } : {}),
    command: ['/bin/cp', HOLDER, posix.join(target, posix.basename(HOLDER))],
    resources: supportResources('container-disk', ctx.config, vmi.spec.domain) as NonNullable<Container['resources']>,
    securityContext: unprivileged,
    volumeMounts: [{ name: BINARY_VOLUME, mountPath: target }],
  };
}

export function containerDisks(vmi: VirtualMachineInstance, ctx: PodContext): Parts[] {
  const disks = imageDisks(vmi);
  if (disks.length === 0) return [];
  if (ctx.imageVolumes) return disks.map(asVolume);
  return [
    {
      volumes: [emptyDir(BINARY_VOLUME), emptyDir(DISKS_VOLUME)],
      mounts: [{ ...disksMount(), mountPropagation: 'HostToContainer' }],
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
