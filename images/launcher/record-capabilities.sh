#!/bin/sh
# record-capabilities.sh TARGET: run as the launcher's user, starts libvirt once and keeps what it learned about QEMU. The launcher
# puts these files where its libvirt looks (src/launcher/capabilities-cache.ts).
set -eu
target=$1
state=/tmp/recording
export HOME="$state" XDG_RUNTIME_DIR="$state/run" XDG_CONFIG_HOME="$state" XDG_CACHE_HOME="$state" XDG_DATA_HOME="$state"
mkdir -p "$state/run" "$state/libvirt" "$target"
# With a usable /dev/kvm libvirt would record answers that no emulating launcher can use.
if [ -w /dev/kvm ]; then
  echo "record-capabilities.sh: /dev/kvm is usable here; nothing is recorded"
  mkdir -p "$target"
  exit 0
fi
printf 'listen_tls = 0\nlisten_tcp = 0\nlog_outputs = "3:stderr"\n' >"$state/libvirt/libvirtd.conf"
printf 'stdio_handler = "file"\nnamespaces = []\ncgroup_controllers = []\nsecurity_driver = "none"\n' >"$state/libvirt/qemu.conf"
/usr/sbin/libvirtd -f "$state/libvirt/libvirtd.conf" &
daemon=$!
tries=0
until [ -S "$state/run/libvirt/libvirt-sock" ]; do
  tries=$((tries + 1))
  [ "$tries" -lt 300 ] || { echo 'record-capabilities.sh: libvirt did not start' >&2; exit 1; }
  sleep 0.1
done
timeout 120 virsh -q -c "qemu+unix:///session?socket=$state/run/libvirt/libvirt-sock" domcapabilities --virttype qemu >/dev/null
kill "$daemon"
wait "$daemon" || true
cp "$state"/libvirt/qemu/cache/capabilities/*.xml "$target/"
chmod 644 "$target"/*.xml
ls -l "$target"
