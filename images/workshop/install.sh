#!/bin/sh
# Installs the packages of packages.txt into a public Debian base. Not run where the base was made with them inside.
set -eu
list=$1
machine=$(dpkg --print-architecture)
packages=$(sed -e 's/#.*//' "$list" | awk -v machine="$machine" 'NF == 1 { print $1 } NF == 2 && $2 == "[" machine "]" { print $1 }')
apt-get update
# The kernel's install hooks would build an initramfs that nothing boots.
# shellcheck disable=SC2086 # a list of words
DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
  -o Dpkg::Options::=--path-exclude=/etc/kernel/postinst.d/* -o Dpkg::Options::=--path-exclude=/usr/share/man/* $packages
rm -rf /var/lib/apt/lists/*
