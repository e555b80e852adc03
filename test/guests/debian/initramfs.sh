#!/bin/busybox sh
# First process of the guest: loads the drivers of its disk, mounts the root file system by its label and hands over to systemd. Nothing
# else is probed here; udev does that later, with the root file system at hand.
PATH=/bin
mount -t devtmpfs dev /dev
mount -t proc proc /proc
mount -t sysfs sys /sys
echo 1 >/proc/sys/kernel/printk

load() {
  while read -r module; do insmod "/modules/$module"; done <"/modules/$1" 2>/dev/null
}
find_root() {
  root=
  for _ in $(seq "$1"); do
    root=$(findfs LABEL=guest-root 2>/dev/null) && return 0
    usleep 50000
  done
  return 1
}

load boot
if ! find_root 4; then
  load root
  find_root 200
fi
if [ -z "$root" ] || ! mount -t ext4 -o rw,noatime "$root" /root; then
  echo 'the guest found no disk with its root file system' >/dev/console
  exec sh
fi
umount /sys
umount /proc
mount -o move /dev /root/dev
exec switch_root /root /sbin/init </root/dev/console >/root/dev/console 2>&1
