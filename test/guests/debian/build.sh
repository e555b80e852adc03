#!/bin/sh
# Lays out the guest's disk below $2 from the folder $1: its root file system in $1/root, kernel, initramfs and GRUB on a GPT that boots by
# BIOS and by UEFI. Runs as root inside the build container; mounts nothing, so that nothing can be left mounted.
set -eu
source=$1
out=$2
root=$source/root
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

release=$(ls /lib/modules | head -n 1)
modules=$root/usr/lib/modules/$release
# In sectors of 512 bytes.
bios_start=2048
esp_start=4096
esp_sectors=98304
root_start=$((esp_start + esp_sectors))
disk_megabytes=1024

# Without debug data, type data and signature: reading and checking these costs an emulated CPU more than the driver itself.
copy_module() {
  plain=${2%.xz}
  plain=${plain%.zst}
  mkdir -p "$(dirname "$plain")"
  case $1 in
    *.ko.xz) xz -dc "$1" >"$plain" ;;
    *.ko.zst) zstd -qdc "$1" >"$plain" ;;
    *) cp "$1" "$plain" ;;
  esac
  strip --strip-debug --remove-section=.BTF --remove-section=.BTF.base --remove-section=.comment "$plain"
}

# The files of a driver and of what it needs, in the order in which they are loaded. None for a driver that is built in.
files_of() {
  modprobe -S "$release" --show-depends "$1" 2>/dev/null | awk '$1 == "insmod" { print $2 }' || true
}

build_modules() {
  grep -v '^#' "$source/modules.txt" | while read -r name _; do files_of "$name"; done | sort -u | while read -r file; do
    copy_module "$file" "$modules/${file#"/lib/modules/$release/"}"
  done
  cp "/lib/modules/$release/modules.order" "/lib/modules/$release/modules.builtin" "/lib/modules/$release/modules.builtin.modinfo" "$modules/"
  depmod -b "$root" "$release"
}

build_initramfs() {
  image=$work/initramfs
  mkdir -p "$image/bin" "$image/dev" "$image/proc" "$image/sys" "$image/root" "$image/modules"
  cp "$source/initramfs.sh" "$image/init"
  chmod 755 "$image/init"
  cp /bin/busybox "$image/bin/busybox"
  for applet in sh mount umount insmod findfs seq usleep switch_root; do ln -s busybox "$image/bin/$applet"; done
  for when in boot root; do
    grep -v '^#' "$source/modules.txt" | while read -r name stage; do
      [ "$stage" = "$when" ] && files_of "$name"
    done | awk '!seen[$0]++' | while read -r file; do
      plain=${file%.xz}
      plain=${plain%.zst}
      cp "$modules/${plain#"/lib/modules/$release/"}" "$image/modules/"
      echo "${plain##*/}"
    done >"$image/modules/$when"
  done
  # Not compressed: reading costs an emulated CPU nothing, unpacking does.
  (cd "$image" && find . | LC_ALL=C sort | cpio --quiet -o -H newc --reproducible) >"$work/initrd"
}

# little_endian VALUE BYTES FILE OFFSET
little_endian() {
  value=$1
  count=$2
  text=
  while [ "$count" -gt 0 ]; do
    text="$text\\0$(printf %o $((value % 256)))"
    value=$((value / 256))
    count=$((count - 1))
  done
  printf '%b' "$text" | dd of="$3" bs=1 seek="$4" conv=notrunc status=none
}

build_partitions() {
  truncate -s "${disk_megabytes}M" "$disk"
  sfdisk -q "$disk" <<TABLE
label: gpt
label-id: 6b767473-6465-6269-616e-000000000001
start=$bios_start, size=$((esp_start - bios_start)), type=21686148-6449-6E6F-744E-656564454649
start=$esp_start, size=$esp_sectors, type=uefi
start=$root_start, type=linux
TABLE
}

build_boot() {
  sed "s|@CMDLINE@|$(cat "$source/cmdline.txt")|" "$source/grub.cfg" >"$work/grub.cfg"
  parts='part_gpt fat search search_label linux boot'
  # shellcheck disable=SC2086 # a list of words
  grub-mkimage -O i386-pc -p /grub -c "$work/grub.cfg" -o "$work/core.img" biosdisk $parts
  # shellcheck disable=SC2086 # a list of words
  grub-mkimage -O x86_64-efi -p /grub -c "$work/grub.cfg" -o "$work/BOOTX64.EFI" $parts
  cp /usr/lib/grub/i386-pc/boot.img "$work/boot.img"
  # Where the first sector finds the second, and that one the rest: places in boot.img and diskboot.img that GRUB's installer fills in.
  little_endian "$bios_start" 8 "$work/boot.img" 92
  little_endian $((bios_start + 1)) 8 "$work/core.img" 500
  dd if="$work/boot.img" of="$disk" conv=notrunc bs=440 count=1 status=none
  dd if="$work/core.img" of="$disk" conv=notrunc bs=512 seek="$bios_start" status=none
  mkfs.fat -F 16 -n GUEST-ESP -i 6b767473 --offset "$esp_start" "$disk" $((esp_sectors / 2)) >/dev/null
  at=$disk@@$((esp_start * 512))
  mmd -i "$at" ::/EFI ::/EFI/BOOT
  mcopy -i "$at" "/boot/vmlinuz-$release" ::/vmlinuz
  mcopy -i "$at" "$work/initrd" ::/initrd
  mcopy -i "$at" "$work/BOOTX64.EFI" ::/EFI/BOOT/BOOTX64.EFI
}

build_root() {
  # The backup of the partition table takes the last 33 sectors.
  kilobytes=$(((disk_megabytes * 2048 - root_start - 2048) / 2))
  mkfs.ext4 -q -L guest-root -U 6b767473-6465-6269-616e-000000000002 -m 0 -J size=8 -O ^metadata_csum_seed \
    -E "offset=$((root_start * 512)),lazy_itable_init=0,lazy_journal_init=0" -d "$root" "$disk" "${kilobytes}k"
}

disk=$work/disk.raw
mkdir -p "$out"
build_modules
build_initramfs
build_partitions
build_boot
build_root
qemu-img convert -f raw -O qcow2 -c -o compression_type=zstd -W -m 4 "$disk" "$out/disk.qcow2"
du -hs "$root" "$modules" "$work/initrd" "$out/disk.qcow2"
