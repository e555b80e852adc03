// Pins the images of a VMI's container disks and kernel to the digests that a running launcher pod shows. Used for migration targets, where
// source and target must read the same bytes.
import type { Pod, VirtualMachineInstance } from '../../api/index.js';
import { KvError } from '../../base/errors.js';

const KERNEL_BOOT = 'kernel-boot-volume';
const DIGEST = /sha256:[0-9a-zA-Z]+/;
/** Side containers are named after the volume whose image they hold. */
const HOLDER = /^volume/;

interface VolumeImageStatus {
  readonly name: string;
  readonly volumeStatus?: { readonly image?: { readonly imageRef?: string } };
}

const digestIn = (reference: string | undefined): string | undefined => DIGEST.exec(reference ?? '')?.[0];

const statusesOf = ({ status }: Pod) => [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];

/** Volume and reference of its image: as the pod asked for it, as the kubelet mounted it, as a side container ran it. Later ones win. */
function referencesOf(pod: Pod): (readonly [string, string | undefined])[] {
  const statuses = statusesOf(pod);
  return [
    ...(pod.spec?.volumes ?? []).map(({ name, image }) => [name, image?.reference] as const),
    ...statuses.flatMap(({ volumeMounts = [] }) =>
      (volumeMounts as readonly VolumeImageStatus[]).map(({ name, volumeStatus }) => [name, volumeStatus?.image?.imageRef] as const),
    ),
    ...statuses.filter(({ name }) => HOLDER.test(name)).map(({ name, imageID }) => [name.replace(HOLDER, ''), imageID] as const),
  ];
}

function digestsOf(pod: Pod): ReadonlyMap<string, string> {
  return new Map(
    referencesOf(pod).flatMap(([volume, reference]) => {
      const digest = digestIn(reference);
      return digest === undefined ? [] : [[volume, digest]];
    }),
  );
}

/** An image that ran, but whose digest the runtime does not tell, may be other bytes on the target. */
function checkHolders(pod: Pod, { spec }: VirtualMachineInstance): void {
  const images = new Set((spec.volumes ?? []).filter((volume) => volume.containerDisk).map((volume) => volume.name));
  if (spec.domain.firmware?.kernelBoot?.container) images.add(KERNEL_BOOT);
  for (const { name, imageID } of statusesOf(pod)) {
    if (!HOLDER.test(name) || !images.has(name.replace(HOLDER, '')) || digestIn(imageID)) continue;
    const what = `container ${name} of pod ${pod.metadata.name} shows no digest of its image (imageID "${imageID ?? ''}")`;
    const why = 'a migration target might read other bytes than the source';
    throw new KvError('Invalid', `${what}, so that ${why}: name the image by its digest`, { reason: 'NoImageDigest' });
  }
}

/** A tag follows the last colon after the last slash; a registry's port does not. */
const withoutTag = (image: string): string => image.replace(/@.*$/, '').replace(/:[^/:]*$/, '');

function pinned(image: string, digest: string | undefined): string {
  return digest === undefined ? image : `${withoutTag(image)}@${digest}`;
}

/** Throws Invalid where an image cannot be pinned though it runs. */
export function withImageDigests(vmi: VirtualMachineInstance, sourcePod: Pod): VirtualMachineInstance {
  checkHolders(sourcePod, vmi);
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
