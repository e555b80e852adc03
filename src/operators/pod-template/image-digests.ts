// Pins the images of a VMI's container disks and kernel to the digests that a running launcher pod shows. Used for migration targets, where
// source and target must read the same bytes.
import type { Pod, VirtualMachineInstance } from '../../api/index.js';

const KERNEL_BOOT = 'kernel-boot-volume';
const DIGEST = /@(sha256:[0-9a-f]{64})$/;

interface VolumeImageStatus {
  readonly name: string;
  readonly volumeStatus?: { readonly image?: { readonly imageRef?: string } };
}

/** Digest by pod volume: of side containers named after the volume, or of image volumes where the kubelet reports them. */
function digestsOf({ status }: Pod): ReadonlyMap<string, string> {
  const containers = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  const found: [string, string | undefined][] = containers.flatMap((container) => {
    const mounts = (container.volumeMounts ?? []) as readonly VolumeImageStatus[];
    return [
      [container.name.replace(/^volume/, ''), container.name.startsWith('volume') ? container.imageID : undefined],
      ...mounts.map(({ name, volumeStatus }): [string, string | undefined] => [name, volumeStatus?.image?.imageRef]),
    ] as [string, string | undefined][];
  });
  return new Map(
    found.flatMap(([volume, reference]) => {
      const digest = DIGEST.exec(reference ?? '')?.[1];
      return digest === undefined ? [] : [[volume, digest]];
    }),
  );
}

/** A tag follows the last colon after the last slash; a registry's port does not. */
const withoutTag = (image: string): string => image.replace(/@.*$/, '').replace(/:[^/:]*$/, '');

function pinned(image: string, digest: string | undefined): string {
  return digest === undefined ? image : `${withoutTag(image)}@${digest}`;
}

export function withImageDigests(vmi: VirtualMachineInstance, sourcePod: Pod): VirtualMachineInstance {
  const digests = digestsOf(sourcePod);
  const { spec } = vmi;
  const volumes = spec.volumes?.map((volume) =>
    volume.containerDisk
      ? { ...volume, containerDisk: { ...volume.containerDisk, image: pinned(volume.containerDisk.image, digests.get(volume.name)) } }
      : volume,
  );
  const { firmware } = spec.domain;
  const container = firmware?.kernelBoot?.container;
  const kernelBoot = container && {
    ...firmware.kernelBoot,
    container: { ...container, image: pinned(container.image, digests.get(KERNEL_BOOT)) },
  };
  return {
    ...vmi,
    spec: {
      ...spec,
      ...(volumes ? { volumes } : {}),
      domain: { ...spec.domain, ...(kernelBoot ? { firmware: { ...firmware, kernelBoot } } : {}) },
    },
  };
}
