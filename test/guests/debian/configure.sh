#!/bin/sh
# Runs inside the guest's root file system while the image is built: accounts, which services start, and what a test guest can do without.
# Every service costs an emulated CPU a good part of a second.
set -eu

passwd -d root
# Empty: every guest draws its own, without the questions of a first boot.
: >/etc/machine-id
echo 'LABEL=guest-root / ext4 noatime 0 0' >/etc/fstab

mask() { for unit in "$@"; do ln -sf /dev/null "/etc/systemd/system/$unit"; done; }
mask apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service fstrim.timer
mask systemd-tmpfiles-clean.timer systemd-pstore.service remote-fs.target
mask getty@tty1.service getty-static.service systemd-ask-password-wall.path systemd-ask-password-console.path
mask dev-hugepages.mount dev-mqueue.mount kmod-static-nodes.service ldconfig.service proc-sys-fs-binfmt_misc.automount systemd-binfmt.service
mask sys-fs-fuse-connections.mount sys-kernel-config.mount sys-kernel-debug.mount sys-kernel-tracing.mount
mask systemd-firstboot.service systemd-hwdb-update.service systemd-journal-catalog-update.service systemd-journal-flush.service
mask systemd-modules-load.service systemd-random-seed.service systemd-sysusers.service systemd-update-done.service systemd-update-utmp.service
mask systemd-hibernate-clear.service systemd-pcrmachine.service systemd-pcrphase.service systemd-pcrphase-sysinit.service
mask systemd-tpm2-setup.service systemd-tpm2-setup-early.service systemd-creds.socket systemd-hostnamed.socket systemd-initctl.socket
mask systemd-pcrextend.socket systemd-pcrlock.socket systemd-sysext.socket systemd-networkd-wait-online.service
mask cloud-init-hotplugd.socket tmp.mount run-lock.mount modprobe@drm.service systemd-networkd-persistent-storage.service
mask systemd-udev-load-credentials.service systemd-tmpfiles-setup-dev-early.service
for generator in debug getty gpt-auto hibernate-resume rc-local run ssh system-update sysv tpm2; do
  mkdir -p /etc/systemd/system-generators
  ln -sf /dev/null "/etc/systemd/system-generators/systemd-$generator-generator"
done

enable() {
  target=$1
  shift
  mkdir -p "/etc/systemd/system/$target.wants"
  for unit in "$@"; do ln -sf "/usr/lib/systemd/system/${unit}" "/etc/systemd/system/$target.wants/$unit"; done
}
rm -f /etc/systemd/system/multi-user.target.wants/ssh.service
# The SSH server starts with the first connection.
enable sockets.target ssh.socket
enable multi-user.target systemd-networkd.service
# The login prompt waits neither for the network nor for the resolver. An order can only be taken out of a unit by replacing it.
rm -f /etc/systemd/system/sysinit.target.wants/systemd-resolved.service
sed -e '/^Before=/d' -e 's/^After=.*/After=getty.target/' /usr/lib/systemd/system/systemd-resolved.service >/etc/systemd/system/systemd-resolved.service
sed -e 's/^After=.*/After=nss-user-lookup.target/' /usr/lib/systemd/system/systemd-user-sessions.service >/etc/systemd/system/systemd-user-sessions.service
mkdir -p /etc/systemd/system/multi-user.target.wants
ln -sf /etc/systemd/system/systemd-resolved.service /etc/systemd/system/multi-user.target.wants/systemd-resolved.service
mkdir -p /etc/udev/rules.d
for rules in 60-autosuspend 60-drm 60-fido-id 60-infiniband 60-persistent-alsa 60-persistent-input 60-persistent-storage-mtd 60-persistent-storage-tape \
  60-persistent-v4l 60-sensor 64-btrfs 66-azure-ephemeral 70-camera 70-joystick 70-memory 70-mouse 70-touchpad 70-uaccess 71-seat 73-seat-late \
  75-probe_mtd 78-sound-card 80-debian-compat 90-iocost 96-e2scrub; do
  ln -sf /dev/null "/etc/udev/rules.d/$rules.rules"
done
mkdir -p /etc/systemd/system/getty.target.wants
ln -sf /usr/lib/systemd/system/serial-getty@.service /etc/systemd/system/getty.target.wants/serial-getty@ttyS0.service
ln -sf /usr/lib/systemd/system/multi-user.target /etc/systemd/system/default.target
# cloud-init makes them, or the first connection does.
rm -f /etc/ssh/ssh_host_*

rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/cache/debconf/*-old /var/lib/dpkg/*-old /var/log/* /usr/share/i18n /usr/share/doc /usr/share/man \
  /usr/share/locale /usr/share/info /usr/share/zsh /usr/share/bash-completion
