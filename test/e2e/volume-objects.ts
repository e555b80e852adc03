// What the journey through the kinds of volumes applies: claims and the pod that fills two of them, config objects, and the guests.
import { NAMESPACE, TINY_IMAGE } from './harness.js';

export const DEBIAN_IMAGE = 'localhost/kubevirt-ts/guest-debian:dev';
/** A loop device or a folder stays on its node. */
export const NODE = 'node2';
const TOOL_IMAGE = 'localhost/kubevirt-ts/busybox:1';

const LABELS = { journey: 'volumes' };

const meta = (name: string): object => ({ name, namespace: NAMESPACE, labels: LABELS });
export const core = (kind: string, name: string, rest: object): object => ({ apiVersion: 'v1', kind, metadata: meta(name), ...rest });

export function claim(name: string, storage: string, spec: object = {}): object {
  return core('PersistentVolumeClaim', name, {
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage } }, ...spec },
  });
}

export const blockClaim = (name: string, storage: string): object =>
  claim(name, storage, { volumeMode: 'Block', storageClassName: 'local-block' });

/** Files of a claim → content; a disk image is filled up to one MiB, as QEMU reads whole sectors. */
export function fillPod(name: string, claims: Readonly<Record<string, Readonly<Record<string, string>>>>): object {
  const commands = Object.entries(claims).flatMap(([claimName, files]) =>
    Object.entries(files).flatMap(([file, text]) => [
      `echo "${text}" > /${claimName}/${file}`,
      ...(file.endsWith('.img') ? [`/bin/busybox truncate -s 1M /${claimName}/${file}`] : []),
    ]),
  );
  return shellPod(name, Object.keys(claims), commands);
}

const claimVolumes = (names: readonly string[]): object[] =>
  names.map((each) => ({ name: each, persistentVolumeClaim: { claimName: each } }));

/** Copies the tiny guest's disk to a claim. */
export const bootPod = (name: string, claimName: string): object =>
  shellPod(name, [claimName], [`cp /image/disk/disk.img /${claimName}/disk.img`], {
    volumes: [{ name: 'image', image: { reference: TINY_IMAGE, pullPolicy: 'Never' } }],
    mounts: [{ name: 'image', mountPath: '/image' }],
  });

interface More {
  readonly node?: string;
  readonly volumes?: readonly object[];
  readonly mounts?: readonly object[];
}

/** Runs the commands with each claim mounted below its name, and ends. */
export function shellPod(
  name: string,
  names: readonly string[],
  commands: readonly string[],
  { node = NODE, volumes = [], mounts = [] }: More = {},
): object {
  return core('Pod', name, {
    spec: {
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 0,
      nodeSelector: { 'kubernetes.io/hostname': node },
      containers: [
        {
          name: 'fill',
          image: TOOL_IMAGE,
          imagePullPolicy: 'Never',
          command: ['sh', '-ec', commands.join('\n')],
          volumeMounts: [...names.map((each) => ({ name: each, mountPath: `/${each}` })), ...mounts],
        },
      ],
      volumes: [...claimVolumes(names), ...volumes],
    },
  });
}

/**
 * Helpers in the guest, since its console breaks long lines: `show NAME` prints size and text of the disk with that serial, `show-iso NAME`
 * label and files, `share NAME FILE` mounts a directory and prints a file of it, `put NAME TEXT` writes.
 */
const GUEST_TOOLS = `#!/bin/sh
cat >/bin/device <<'END'
for b in /sys/block/vd*; do [ "$(cat $b/serial)" = "$1" ] && echo /dev/\${b##*/}; done
END
cat >/bin/show <<'END'
d=$(device $1)
echo "$1: size=$(blockdev --getsize64 $d) text=$(head -c 64 $d | tr -d '\\0' | head -n 1)"
END
cat >/bin/show-iso <<'END'
d=$(device $1); mkdir -p /i/$1; mount -t iso9660 -o ro $d /i/$1; cd /i/$1
echo "$1: label=$(dd if=$d bs=1 skip=32808 count=32 2>/dev/null | tr -d ' ')"
find . -type f | sort | while read -r f; do echo "$1: $f=$(head -c 200 $f | head -n 1)"; done
END
cat >/bin/put <<'END'
echo "$2" | dd of=$(device $1) conv=notrunc 2>/dev/null; sync
END
cat >/bin/share <<'END'
mkdir -p /$1; mount -t virtiofs $1 /$1; head -c 200 /$1/$2
END
chmod 755 /bin/device /bin/show /bin/show-iso /bin/share /bin/put
echo tools-are-there
`;

const NETWORK = 'version: 2\n';
export const NETWORK_JSON = '{"links":[]}';
export const base64 = (text: string): string => Buffer.from(text).toString('base64');

export const CONFIG: readonly object[] = [
  core('ConfigMap', 'vol-greeting', { data: { greeting: 'hello from a config map' } }),
  core('ConfigMap', 'vol-answers', { data: { 'Autounattend.xml': '<unattend/>' } }),
  core('Secret', 'vol-answers', { stringData: { 'unattend.xml': '<from-a-secret/>' } }),
  core('Secret', 'vol-password', { stringData: { password: 's3cret' } }),
  core('Secret', 'vol-tools', { stringData: { userdata: GUEST_TOOLS } }),
  core('Secret', 'vol-net', { stringData: { networkdata: NETWORK } }),
  core('Secret', 'vol-drive', { stringData: { userData: '#!/bin/sh\necho hi\n', networkData: NETWORK_JSON } }),
  core('ServiceAccount', 'vol-reader', {}),
  core('Secret', 'vol-keys', { stringData: { key1: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGq0 tester@example' } }),
  core('Secret', 'vol-no-key', { stringData: { other: 'x' } }),
];

export interface Attached {
  readonly name: string;
  /** The source, as a volume has it. */
  readonly source: object;
  /** Default: a virtio disk whose serial is the name. */
  readonly as?: 'filesystem' | 'root';
}

interface GuestOptions {
  readonly memory?: string;
  readonly domain?: object;
  readonly spec?: object;
}

/** A VMI with these volumes. */
export function guest(
  name: string,
  attached: readonly Attached[],
  { memory = '128Mi', domain = {}, spec = {} }: GuestOptions = {},
): object {
  const disks = attached.filter(({ as }) => as !== 'filesystem');
  const filesystems = attached.filter(({ as }) => as === 'filesystem');
  return {
    apiVersion: 'kubevirt.io/v1',
    kind: 'VirtualMachineInstance',
    metadata: { ...meta(name), labels: { ...LABELS, vm: name, shown: 'in-the-guest' } },
    spec: {
      nodeSelector: { 'kubernetes.io/hostname': NODE },
      terminationGracePeriodSeconds: 5,
      domain: {
        memory: { guest: memory },
        resources: { requests: { cpu: '20m' } },
        ...domain,
        devices: {
          disks: disks.map((each) => ({ name: each.name, disk: { bus: 'virtio' }, ...(each.as === 'root' ? {} : { serial: each.name }) })),
          ...(filesystems.length > 0 ? { filesystems: filesystems.map((each) => ({ name: each.name, virtiofs: {} })) } : {}),
          interfaces: [{ name: 'default', masquerade: {} }],
        },
      },
      networks: [{ name: 'default', pod: {} }],
      volumes: attached.map((each) => ({ name: each.name, ...each.source })),
      ...spec,
    },
  };
}

export const root: Attached = { name: 'root', source: { containerDisk: { image: TINY_IMAGE } }, as: 'root' };

const pvc = (claimName: string, rest: object = {}): object => ({ persistentVolumeClaim: { claimName, ...rest } });
const hostImage = (hostDir: string): object => ({ hostDisk: { path: `${hostDir}/host.img`, type: 'DiskOrCreate', capacity: '8Mi' } });

/** Every kind of volume that a disk can show, and what one guest sees of them as directories. */
export const everyVolume = (hostDir: string): object =>
  guest('vol-all', [
    root,
    { name: 'seed', source: { cloudInitNoCloud: { secretRef: { name: 'vol-tools' }, networkDataSecretRef: { name: 'vol-net' } } } },
    { name: 'fs', source: pvc('vol-fs') },
    { name: 'blk', source: pvc('vol-blk') },
    { name: 'dv', source: { dataVolume: { name: 'vol-imported' } } },
    { name: 'qcow', source: pvc('vol-qcow') },
    { name: 'eph', source: { ephemeral: pvc('vol-filled') } },
    { name: 'empty', source: { emptyDisk: { capacity: '16Mi' } } },
    { name: 'host', source: hostImage(hostDir) },
    { name: 'cm', source: { configMap: { name: 'vol-greeting', volumeLabel: 'greetings' } } },
    { name: 'sec', source: { secret: { secretName: 'vol-password' } } },
    { name: 'down', source: { downwardAPI: { fields: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] } } },
    { name: 'sa', source: { serviceAccount: { serviceAccountName: 'vol-reader' } } },
    { name: 'sysprep', source: { sysprep: { configMap: { name: 'vol-answers' } } } },
    { name: 'shared-cm', source: { configMap: { name: 'vol-greeting' } }, as: 'filesystem' },
    { name: 'shared-sec', source: { secret: { secretName: 'vol-password' } }, as: 'filesystem' },
    { name: 'shared-fs', source: pvc('vol-shared'), as: 'filesystem' },
  ]);

/** The same disks once more, and what one guest can have only once in another form. */
export const everyVolumeAgain = (hostDir: string): object =>
  guest('vol-again', [
    root,
    { name: 'seed', source: { cloudInitNoCloud: { userDataBase64: base64(GUEST_TOOLS), networkDataBase64: base64(NETWORK) } } },
    { name: 'fs', source: pvc('vol-fs') },
    { name: 'blk', source: pvc('vol-blk') },
    { name: 'ro', source: pvc('vol-imported', { readOnly: true }) },
    { name: 'sparse', source: pvc('vol-sparse') },
    { name: 'eph', source: { ephemeral: pvc('vol-filled') } },
    { name: 'empty', source: { emptyDisk: { capacity: '16Mi' } } },
    { name: 'host', source: hostImage(hostDir) },
    { name: 'none', source: { configMap: { name: 'vol-absent', optional: true } } },
    { name: 'sysprep', source: { sysprep: { secret: { name: 'vol-answers' } } } },
    { name: 'metrics', source: { downwardMetrics: {} } },
    {
      name: 'shared-down',
      source: { downwardAPI: { fields: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] } },
      as: 'filesystem',
    },
    { name: 'shared-sa', source: { serviceAccount: { serviceAccountName: 'vol-reader' } }, as: 'filesystem' },
  ]);

/** Starts from a kernel in an image; its disks are a ConfigDrive and what `more` names. */
export const fromKernel = (name: string, config: object, more: readonly Attached[] = []): object =>
  guest(name, [{ name: 'config', source: { cloudInitConfigDrive: config } }, ...more], {
    domain: {
      firmware: {
        kernelBoot: {
          kernelArgs: 'console=ttyS0,115200 quiet no_timer_check vol.marker=kernel-boot',
          container: { image: TINY_IMAGE, kernelPath: '/boot/vmlinuz', initrdPath: '/boot/initrd' },
        },
      },
    },
    spec: {
      accessCredentials: [{ sshPublicKey: { source: { secret: { secretName: 'vol-keys' } }, propagationMethod: { configDrive: {} } } }],
    },
  });

/** Its root disk comes by an attachment pod, before the guest starts. */
export const fromPlug = (): object => guest('vol-plug', [{ name: 'root', source: pvc('vol-boot', { hotpluggable: true }), as: 'root' }]);

const DEBIAN_USER_DATA = `#cloud-config
hostname: from-cloud-init
write_files:
- path: /etc/written
  content: by cloud-init
runcmd:
- echo run-command > /run/ran
`;

const DEBIAN_NETWORK = `version: 2
ethernets:
  enp1s0:
    dhcp4: true
    addresses: [192.0.2.7/24]
`;

/** A guest with a real cloud-init. */
export const cloudGuest = (): object =>
  guest(
    'vol-debian',
    [
      { name: 'root', source: { containerDisk: { image: DEBIAN_IMAGE } }, as: 'root' },
      { name: 'seed', source: { cloudInitNoCloud: { userData: DEBIAN_USER_DATA, networkData: DEBIAN_NETWORK } } },
    ],
    {
      // Memory of which QEMU derives its cache of translated code, and a second processor for systemd.
      memory: '1Gi',
      domain: { cpu: { cores: 2 } },
      spec: {
        accessCredentials: [{ sshPublicKey: { source: { secret: { secretName: 'vol-keys' } }, propagationMethod: { noCloud: {} } } }],
      },
    },
  );
