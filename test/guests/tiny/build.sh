#!/bin/sh
# Builds the guest's disk below $2 from the Debian root this runs in and the folder $1: kernel, initramfs with busybox, boot loaders for BIOS and UEFI.
# Runs as root inside the build container; mounts nothing, so that nothing can be left mounted.
set -eu
source=$1
out=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

release=$(ls /lib/modules | head -n 1)
kernel=/boot/vmlinuz-$release
root=$work/root
partition_start=2048
megabytes=26

build_root() {
  mkdir -p "$root"
  cp -a "$source/rootfs/." "$root/"
  mkdir -p "$root/bin" "$root/sbin" "$root/usr/bin" "$root/usr/sbin" "$root/root" "$root/www" "$root/dev"
  cp /bin/busybox "$root/bin/busybox"
  for applet in $(/bin/busybox --list-full); do
    [ -e "$root/$applet" ] || [ -e "$root/sbin/${applet##*/}" ] || ln -s /bin/busybox "$root/$applet"
  done
  chown -R 0:0 "$root"
}

build_modules() {
  modules=$root/lib/modules/$release
  mkdir -p "$modules"
  grep -v '^#' "$source/modules.txt" | while read -r name; do
    # An unknown name is a driver that this kernel was built without, or has built in.
    modprobe -S "$release" --show-depends "$name" 2>/dev/null | awk '$1 == "insmod" { print $2 }' || true
  done | sort -u | while read -r file; do
    mkdir -p "$modules/$(dirname "${file#"/lib/modules/$release/"}")"
    copy_module "$file" "$modules/${file#"/lib/modules/$release/"}"
  done
  cp "/lib/modules/$release/modules.order" "/lib/modules/$release/modules.builtin" "/lib/modules/$release/modules.builtin.modinfo" "$modules/"
  depmod -b "$root" "$release"
  rm -f "$modules"/*.bin "$modules/modules.order" "$modules"/modules.builtin* "$modules/modules.devname" "$modules/modules.softdep" "$modules/modules.symbols"
}

# Without debug data, type data and signature: reading and checking these costs an emulated CPU more than the driver itself.
copy_module() {
  plain=${2%.xz}
  plain=${plain%.zst}
  case $1 in
    *.ko.xz) xz -dc "$1" >"$plain" ;;
    *.ko.zst) zstd -qdc "$1" >"$plain" ;;
    *) cp "$1" "$plain" ;;
  esac
  strip --strip-debug --remove-section=.BTF --remove-section=.BTF.base --remove-section=.comment "$plain"
}

build_disk() {
  disk=$1
  cmdline=$(cat "$source/cmdline.txt")
  # Not compressed: reading costs an emulated CPU nothing, unpacking does.
  (cd "$root" && find . | LC_ALL=C sort | cpio --quiet -o -H newc --reproducible) >"$work/initrd"
  truncate -s "${megabytes}M" "$disk"
  printf 'label: dos\nlabel-id: 0x74696e79\n%s,,ef,*\n' "$partition_start" | sfdisk -q "$disk"
  mkfs.fat -F 16 -n TINY -i 74696e79 --offset "$partition_start" "$disk" $(((megabytes * 2048 - partition_start) / 2)) >/dev/null
  at=$disk@@$((partition_start * 512))
  sed "s|@CMDLINE@|$cmdline|" "$source/syslinux.cfg" >"$work/syslinux.cfg"
  sed "s|@CMDLINE@|$cmdline|" "$source/loader.conf" >"$work/tiny.conf"
  mmd -i "$at" ::/EFI ::/EFI/BOOT ::/loader ::/loader/entries
  mcopy -i "$at" "$kernel" ::/vmlinuz
  mcopy -i "$at" "$work/initrd" ::/initrd
  mcopy -i "$at" "$work/syslinux.cfg" ::/syslinux.cfg
  mcopy -i "$at" "$work/tiny.conf" ::/loader/entries/tiny.conf
  mcopy -i "$at" /usr/lib/systemd/boot/efi/systemd-bootx64.efi ::/EFI/BOOT/BOOTX64.EFI
  syslinux --install --offset $((partition_start * 512)) "$disk"
  dd if=/usr/lib/syslinux/mbr/mbr.bin of="$disk" conv=notrunc bs=440 count=1 status=none
}

build_root
build_modules
mkdir -p "$out"
build_disk "$out/disk.img"
cp "$kernel" "$out/vmlinuz"
cp "$work/initrd" "$out/initrd"
du -h "$kernel" "$work/initrd" "$out/disk.img"
