// What the pieces of a launcher pod contribute: volumes, mounts, block devices, containers. Pieces are rendered apart and put together
// once; nothing here decides anything.
import type { Container, PodVolume } from '../../api/index.js';

export type VolumeMount = NonNullable<Container['volumeMounts']>[number];
export type VolumeDevice = NonNullable<Container['volumeDevices']>[number];
export type SecurityContext = NonNullable<Container['securityContext']>;

export interface Parts {
  readonly volumes?: readonly PodVolume[];
  /** Of the compute container. */
  readonly mounts?: readonly VolumeMount[];
  readonly devices?: readonly VolumeDevice[];
  readonly containers?: readonly Container[];
  readonly initContainers?: readonly Container[];
}

export type AllParts = Required<Parts>;

/** Two pieces may name the same volume (one secret used twice); a pod may not. */
function once<T>(items: readonly T[], key: (item: T) => string): T[] {
  return [...new Map(items.map((item) => [key(item), item])).values()];
}

export function combine(parts: readonly Parts[]): AllParts {
  return {
    volumes: once(
      parts.flatMap((part) => part.volumes ?? []),
      (volume) => volume.name,
    ),
    mounts: once(
      parts.flatMap((part) => part.mounts ?? []),
      (mount) => mount.mountPath,
    ),
    devices: once(
      parts.flatMap((part) => part.devices ?? []),
      (device) => device.devicePath,
    ),
    containers: parts.flatMap((part) => part.containers ?? []),
    initContainers: parts.flatMap((part) => part.initContainers ?? []),
  };
}

export const emptyDir = (name: string): PodVolume => ({ name, emptyDir: {} });
