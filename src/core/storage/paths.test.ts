import { describe, expect, it } from 'vitest';
import * as paths from './paths.js';

// Old launchers, running guests and other processes know these places; a change breaks them.
describe('paths inside the launcher pod', () => {
  it.each([
    [paths.serialSocket('u'), '/var/run/kubevirt-private/u/virt-serial0'],
    [paths.serialLog('u'), '/var/run/kubevirt-private/u/virt-serial0-log'],
    [paths.vncSocket('u'), '/var/run/kubevirt-private/u/virt-vnc'],
    [paths.usbRedirectionSocket('u', 3), '/var/run/kubevirt-private/u/virt-usbredir-3'],
    [paths.LAUNCHER_SOCKET, '/var/run/kubevirt/sockets/launcher-sock'],
    [paths.LAUNCHER_INIT_SOCKET, '/var/run/kubevirt/sockets/launcher-init-sock'],
    [paths.NOTIFY_SOCKET, '/var/run/kubevirt/domain-notify-pipe.sock'],
    [paths.dhcpStartedFile('eth0'), '/var/run/kubevirt-private/dhcp_started-eth0'],
    [paths.filesystemImage('v'), '/var/run/kubevirt-private/vmi-disks/v/disk.img'],
    [paths.blockDevice('v'), '/dev/v'],
    [paths.hotplugImage('v'), '/var/run/kubevirt/hotplug-disks/v.img'],
    [paths.hotplugBlockDevice('v'), '/var/run/kubevirt/hotplug-disks/v'],
    [paths.hostDiskImage('v', '/data/disks/x.img'), '/var/run/kubevirt-private/vmi-disks/v/x.img'],
    [paths.overlayImage('v'), '/var/run/kubevirt-ephemeral-disks/disk-data/v/disk.qcow2'],
    [paths.emptyDiskImage('v'), '/var/run/libvirt/empty-disks/v.qcow2'],
    [paths.containerDiskImage(2), '/var/run/kubevirt/container-disks/disk_2.img'],
    [paths.imageVolumeDir(2), '/var/run/kubevirt-image-volume/disk_2'],
    [paths.kernelBootFile('/boot/vmlinuz/'), '/var/run/kubevirt/container-disks/kernel-boot/vmlinuz'],
    [paths.virtiofsSocket('f'), '/var/run/kubevirt/virtiofs-containers/f.sock'],
    [paths.accessCredentialDir('s'), '/var/run/kubevirt-private/secret/s-access-cred'],
    [paths.cloudInitIso('noCloud', 'ns', 'vm'), '/var/run/kubevirt-ephemeral-disks/cloud-init-data/ns/vm/noCloud.iso'],
    [paths.ignitionFile('ns', 'vm'), '/var/run/kubevirt-ephemeral-disks/ignition-data/ns/vm/data.ign'],
    [paths.nvramFile('vm', false), '/var/run/kubevirt-private/libvirt/qemu/nvram/vm_VARS.fd'],
    [paths.nvramFile('vm', true), '/var/lib/libvirt/qemu/nvram/vm_VARS.fd'],
    [paths.swtpmDir(false), '/var/run/kubevirt-private/libvirt/qemu/swtpm'],
    [paths.swtpmCaDir(false), '/var/run/kubevirt-private/var/lib/swtpm-localca'],
    [paths.backupTrackingDir(false), '/var/run/kubevirt-private/libvirt/qemu/cbt'],
    [paths.stagingOf('/a/b.iso'), '/a/b.iso.staging'],
  ])('%s', (got, want) => {
    expect(got).toBe(want);
  });
});
