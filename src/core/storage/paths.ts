// Where everything lies as seen from inside the launcher pod: mounts, disks, sockets, generated ISOs. The pod template mounts them, the node
// agent fills them, the launcher and the domain XML refer to them; all four take the names from here. Pure string functions; nothing is touched.
import { posix } from 'node:path';

export const PRIVATE_DIR = '/var/run/kubevirt-private';
export const PUBLIC_DIR = '/var/run/kubevirt';
export const SOCKETS_DIR = `${PUBLIC_DIR}/sockets`;
export const EPHEMERAL_DIR = '/var/run/kubevirt-ephemeral-disks';
export const LIBVIRT_RUNTIME_DIR = '/var/run/libvirt';
export const CONTAINER_DISKS_DIR = `${PUBLIC_DIR}/container-disks`;
export const IMAGE_VOLUMES_DIR = `${PUBLIC_DIR}-image-volume`;
export const HOTPLUG_DISKS_DIR = `${PUBLIC_DIR}/hotplug-disks`;
export const VMI_DISKS_DIR = `${PRIVATE_DIR}/vmi-disks`;
export const OVERLAYS_DIR = `${EPHEMERAL_DIR}/disk-data`;
export const EMPTY_DISKS_DIR = `${LIBVIRT_RUNTIME_DIR}/empty-disks`;
export const VIRTIOFS_DIR = `${PUBLIC_DIR}/virtiofs-containers`;
export const HUGEPAGES_DIR = '/dev/hugepages';
/** Annotation kubevirt.io/network-info as a file: PCI addresses of SR-IOV networks. */
export const NETWORK_INFO_FILE = '/etc/podinfo/network-info';
export const DRA_METADATA_DIR = '/var/run/kubernetes.io/dra-device-attributes';
/** The same path on the node, in virt-handler's pod and in the launcher. */
export const RESERVATION_DIR = `${PUBLIC_DIR}/daemons/pr`;
export const RESERVATION_SOCKET = `${RESERVATION_DIR}/pr-helper.sock`;
export const PASST_LOG = `${PUBLIC_DIR}/passt.log`;
export const FIRMWARE_LOG_PIPE = `${PRIVATE_DIR}/QEMUSeaBiosDebugPipe`;
export const DOWNWARD_METRICS_MOUNT = `${PRIVATE_DIR}/downwardmetric-disk`;
/** Lies among the downward API disks, not below the mount above. */
export const DOWNWARD_METRICS_DISK = `${PRIVATE_DIR}/downwardapi-disks/vhostmd0`;
export const DOWNWARD_METRICS_SOCKET = `${PRIVATE_DIR}/downwardmetrics-channel/downwardmetrics.sock`;
export const NOTIFY_SOCKET = `${PUBLIC_DIR}/domain-notify-pipe.sock`;
export const LAUNCHER_SOCKET = `${SOCKETS_DIR}/launcher-sock`;
/** Name of the command socket until libvirt is up. */
export const LAUNCHER_INIT_SOCKET = `${SOCKETS_DIR}/launcher-init-sock`;
/** Where the launcher takes the sockets on which it advertises itself as the guest's IPv6 router. */
export const ROUTER_SOCKETS = `${SOCKETS_DIR}/router-sockets`;

// One VMI's own sockets.

export const vmiPrivateDir = (uid: string): string => `${PRIVATE_DIR}/${uid}`;
export const serialSocket = (uid: string, port = 0): string => `${vmiPrivateDir(uid)}/virt-serial${port}`;
export const serialLog = (uid: string, port = 0): string => `${serialSocket(uid, port)}-log`;
export const vncSocket = (uid: string): string => `${vmiPrivateDir(uid)}/virt-vnc`;
export const usbRedirectionSocket = (uid: string, index: number): string => `${vmiPrivateDir(uid)}/virt-usbredir-${index}`;
/** Present once the DHCP server of a pod interface answers. */
export const dhcpStartedFile = (podInterface: string): string => `${PRIVATE_DIR}/dhcp_started-${podInterface}`;

// Volumes.

/** Mount point of a filesystem claim or host directory. */
export const volumeDir = (volume: string): string => `${VMI_DISKS_DIR}/${volume}`;
export const filesystemImage = (volume: string): string => `${volumeDir(volume)}/disk.img`;
export const blockDevice = (volume: string): string => `/dev/${volume}`;
export const hotplugImage = (volume: string): string => `${HOTPLUG_DISKS_DIR}/${volume}.img`;
export const hotplugBlockDevice = (volume: string): string => `${HOTPLUG_DISKS_DIR}/${volume}`;
export const hostDiskImage = (volume: string, hostPath: string): string => `${volumeDir(volume)}/${posix.basename(hostPath)}`;
export const overlayDir = (volume: string): string => `${OVERLAYS_DIR}/${volume}`;
/** The qcow2 that takes a container disk's or ephemeral claim's writes. */
export const overlayImage = (volume: string): string => `${overlayDir(volume)}/disk.qcow2`;
export const emptyDiskImage = (volume: string): string => `${EMPTY_DISKS_DIR}/${volume}.qcow2`;
/** `index` is the volume's place in spec.volumes. */
export const containerDiskImage = (index: number): string => `${CONTAINER_DISKS_DIR}/disk_${index}.img`;
export const imageVolumeDir = (index: number): string => `${IMAGE_VOLUMES_DIR}/disk_${index}`;
/** Kernel, initrd: kept by file name only. */
export const kernelBootFile = (pathInImage: string): string => posix.join(CONTAINER_DISKS_DIR, 'kernel-boot', posix.basename(pathInImage));
export const virtiofsSocket = (filesystem: string): string => `${VIRTIOFS_DIR}/${filesystem}.sock`;

// Volumes that become an ISO: where their files are mounted and which image is made of them.

export type ConfigKind = 'configMap' | 'secret' | 'downwardAPI' | 'sysprep' | 'serviceAccount';

export interface ConfigPaths {
  /** Directory with the files. */
  readonly source: string;
  readonly iso: string;
}

const CONFIG_DIRS = { configMap: 'config-map', secret: 'secret', downwardAPI: 'downwardapi', sysprep: 'sysprep' } as const;

export function configPaths(kind: ConfigKind, volume: string): ConfigPaths {
  if (kind === 'serviceAccount') {
    return { source: '/var/run/secrets/kubernetes.io/serviceaccount', iso: `${PRIVATE_DIR}/service-account-disk/service-account.iso` };
  }
  const dir = CONFIG_DIRS[kind];
  return { source: `${PRIVATE_DIR}/${dir}/${volume}`, iso: `${PRIVATE_DIR}/${dir}-disks/${volume}.iso` };
}

export const secretDir = (name: string): string => configPaths('secret', name).source;
/** Mount point of an access credential's secret. */
export const accessCredentialDir = (secretName: string): string => secretDir(`${secretName}-access-cred`);

// Cloud-init, ignition.

export type CloudInitSource = 'noCloud' | 'configDrive';

const ISO_NAMES = { noCloud: 'noCloud.iso', configDrive: 'configdrive.iso' } as const;

export const CLOUD_INIT_DIR = `${EPHEMERAL_DIR}/cloud-init-data`;
export const cloudInitDir = (namespace: string, name: string): string => `${CLOUD_INIT_DIR}/${namespace}/${name}`;
export const cloudInitIso = (source: CloudInitSource, namespace: string, name: string): string =>
  `${cloudInitDir(namespace, name)}/${ISO_NAMES[source]}`;
export const IGNITION_DIR = `${EPHEMERAL_DIR}/ignition-data`;
export const ignitionFile = (namespace: string, name: string): string => `${IGNITION_DIR}/${namespace}/${name}/data.ign`;

// State of the emulated firmware and TPM: in the pod's own directory, or libvirt's when the launcher runs as root.

export const nvramDir = (asRoot: boolean): string => (asRoot ? '/var/lib/libvirt/qemu/nvram' : `${PRIVATE_DIR}/libvirt/qemu/nvram`);
export const nvramFile = (vmiName: string, asRoot: boolean): string => `${nvramDir(asRoot)}/${vmiName}_VARS.fd`;
export const swtpmDir = (asRoot: boolean): string => (asRoot ? '/var/lib/libvirt/swtpm' : `${PRIVATE_DIR}/libvirt/qemu/swtpm`);
export const swtpmCaDir = (asRoot: boolean): string => (asRoot ? '/var/lib/swtpm-localca' : `${PRIVATE_DIR}/var/lib/swtpm-localca`);
export const backupTrackingDir = (asRoot: boolean): string => (asRoot ? '/var/lib/libvirt/qemu/cbt' : `${PRIVATE_DIR}/libvirt/qemu/cbt`);
export const BACKEND_STORAGE_META_DIR = '/run/kubevirt-private/backend-storage-meta';

/** Files are generated beside their final place and renamed, so that nobody sees half a file. */
export const stagingOf = (file: string): string => `${file}.staging`;
