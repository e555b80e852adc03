// Directories inside a launcher pod. The launcher and the node agent rely on the same places; see docs/architecture.md.
export const PRIVATE = '/var/run/kubevirt-private';
export const SHARE = '/var/run/kubevirt';
export const EPHEMERAL_DISKS = '/var/run/kubevirt-ephemeral-disks';
export const LIBVIRT_RUNTIME = '/var/run/libvirt';
export const SOCKETS = `${SHARE}/sockets`;
export const HOTPLUG_DISKS = `${SHARE}/hotplug-disks`;
export const CONTAINER_DISKS = `${SHARE}/container-disks`;
export const VMI_DISKS = `${PRIVATE}/vmi-disks`;
export const IMAGE_VOLUME = '/var/run/kubevirt-image-volume';
export const KERNEL_BOOT = '/var/run/kubevirt-kernel-boot';
export const VIRTIOFS_SOCKETS = `${SHARE}/virtiofs-containers`;
export const HOOK_SOCKETS = '/var/run/kubevirt-hooks';
export const PLUGIN_SOCKETS = '/var/run/kubevirt-plugin';
export const HUGEPAGES = '/dev/hugepages';
export const POD_INFO = '/etc/podinfo';
