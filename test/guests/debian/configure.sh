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
mask cloud-init-hotplugd.socket
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
enable sysinit.target systemd-resolved.service
mkdir -p /etc/systemd/system/getty.target.wants
ln -sf /usr/lib/systemd/system/serial-getty@.service /etc/systemd/system/getty.target.wants/serial-getty@ttyS0.service
ln -sf /usr/lib/systemd/system/multi-user.target /etc/systemd/system/default.target
# cloud-init makes them, or the first connection does.
rm -f /etc/ssh/ssh_host_*

rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/cache/debconf/*-old /var/lib/dpkg/*-old /var/log/* /usr/share/i18n /usr/share/doc /usr/share/man \
  /usr/share/locale /usr/share/info /usr/share/zsh /usr/share/bash-completion
