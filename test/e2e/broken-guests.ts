// Guests that cannot have one of their volumes, what each must say about it, and what a user would do then: afterwards the same guest runs.
import type { BrokenImages } from './broken-images.js';
import { type Attached, core, guest, NODE, root, shellPod } from './volume-objects.js';

export interface BrokenGuest {
  readonly name: string;
  readonly vmi: object;
  /** Among its conditions and events. */
  readonly message: RegExp;
  /** Objects that mend it; undefined: nothing does while its pod lives. */
  readonly mend?: readonly object[];
}

const pvc = (claimName: string): object => ({ persistentVolumeClaim: { claimName } });

function broken(name: string, source: object, message: RegExp, mend?: readonly object[]): BrokenGuest {
  return withVolume(name, { name: 'bad', source }, message, mend);
}

const withVolume = (name: string, volume: Attached, message: RegExp, mend?: readonly object[]): BrokenGuest => ({
  name: `vol-bad-${name}`,
  vmi: guest(`vol-bad-${name}`, [root, volume]),
  message,
  ...(mend ? { mend } : {}),
});

/** A pod that puts an image where there is something else. */
const putImage = (name: string, claim: string): object =>
  shellPod(name, [claim], [`rm -rf /${claim}/disk.img`, `/bin/busybox truncate -s 1M /${claim}/disk.img`]);

/** Claims that hold the wrong thing, by name. */
export const WRONG_CONTENT: Readonly<Record<string, string>> = {
  'vol-late': 'touch /vol-late/something-else',
  'vol-link': 'ln -s /etc/passwd /vol-link/disk.img',
  'vol-folder': 'mkdir /vol-folder/disk.img',
  'vol-sparse': '/bin/busybox truncate -s 96M /vol-sparse/disk.img',
  'vol-qcow': "printf 'QFI\\373' > /vol-qcow/disk.img; /bin/busybox truncate -s 1M /vol-qcow/disk.img",
};

const image = (reference: string, path?: string): object => ({ containerDisk: { image: reference, ...(path ? { path } : {}) } });

function ofImages(images: BrokenImages): BrokenGuest[] {
  return [
    broken('two', image(images.twoFiles), /container disk bad: exactly one file .* found 2/),
    broken('backing', image(images.backingFile), /container disk bad has a backing file/),
    broken('mode', image(images.unreadable), /cannot open the disk image of container disk bad: EACCES/),
    broken('out', image(images.leadsOut), /container disk bad: disk\/disk\.img leads out of its image/),
    broken('path', image(images.twoFiles, '/disk/c.img'), /container disk bad: there is no \/disk\/c\.img in its image/),
    broken('pull', image('localhost/kubevirt-ts/none:1'), /kubevirt-ts\/none:1/),
  ];
}

function ofClaims(claim: (name: string, storage: string) => object): BrokenGuest[] {
  return [
    broken('claim', pvc('vol-nowhere'), /PVC e2e\/vol-nowhere does not exist/, [claim('vol-nowhere', '8Mi')]),
    broken('import', { dataVolume: { name: 'vol-late' } }, /no disk\.img on PersistentVolumeClaim vol-late for volume bad/, [
      putImage('vol-mend-late', 'vol-late'),
    ]),
    broken('link', pvc('vol-link'), /disk\.img on PersistentVolumeClaim vol-link of volume bad is a symbolic link/, [
      putImage('vol-mend-link', 'vol-link'),
    ]),
    broken('folder', pvc('vol-folder'), /disk\.img on PersistentVolumeClaim vol-folder of volume bad is no plain file/, [
      putImage('vol-mend-folder', 'vol-folder'),
    ]),
    broken('room', pvc('vol-huge'), /disk of volume bad on PersistentVolumeClaim vol-huge, not enough space/),
    broken('elsewhere', pvc('vol-elsewhere'), /Unschedulable: .*(affinity|node)/),
    withVolume(
      'shared',
      { name: 'bad', source: pvc('vol-blk-bad'), as: 'filesystem' },
      /PVC vol-blk-bad .* cannot be shared as a filesystem/,
    ),
  ];
}

function ofConfig(hostDir: string): BrokenGuest[] {
  return [
    broken(
      'key',
      { cloudInitNoCloud: { secretRef: { name: 'vol-no-key' } } },
      /Secret vol-no-key \(secretRef of volume bad\) has no key userdata/,
    ),
    broken(
      'network',
      { cloudInitNoCloud: { userData: '#', networkDataSecretRef: { name: 'vol-no-key' } } },
      /Secret vol-no-key \(networkDataSecretRef of volume bad\) has no key networkdata/,
    ),
    broken('answers', { sysprep: { configMap: { name: 'vol-greeting' } } }, /volume bad must hold one of autounattend\.xml/),
    broken('map', { configMap: { name: 'vol-map' } }, /cannot mount the volumes of pod .* needs ConfigMap vol-map/, [
      core('ConfigMap', 'vol-map', { data: { a: 'b' } }),
    ]),
    broken('secret', { secret: { secretName: 'vol-secret' } }, /cannot mount the volumes of pod .* needs Secret vol-secret/, [
      core('Secret', 'vol-secret', { stringData: { a: 'b' } }),
    ]),
    broken(
      'dir',
      { hostDisk: { path: `${hostDir}/absent/a.img`, type: 'Disk' } },
      new RegExp(`cannot mount the volumes of pod .* needs directory ${hostDir}/absent on node ${NODE}`),
    ),
    broken('file', { hostDisk: { path: `${hostDir}/a.img`, type: 'Disk' } }, /no a\.img on host path .* for volume bad/),
    broken(
      'space',
      { hostDisk: { path: `${hostDir}/huge.img`, type: 'DiskOrCreate', capacity: '900Ti' } },
      /disk of volume bad on host path .*huge\.img, not enough space/,
    ),
  ];
}

export const brokenGuests = (
  images: BrokenImages,
  { hostDir, claim }: { readonly hostDir: string; readonly claim: (name: string, storage: string) => object },
): BrokenGuest[] => [...ofImages(images), ...ofClaims(claim), ...ofConfig(hostDir)];
