#!/bin/sh
# slim.sh LIST TARGET: copies the files named in LIST (paths and shell patterns, `dir:PATH` for an empty folder) from this
# system to TARGET, with everything they need: symbolic links to their ends, and the shared libraries of every program.
# Fails when a path of the list does not exist (patterns may match nothing) or a library cannot be found.
set -eu
list=$1
target=$2
found=$(mktemp)
trap 'rm -f "$found"' EXIT

# Every name under which a path is reached: itself with its folder resolved, and each step of a symbolic link.
add() {
  path=$(readlink -f "$(dirname "$1")")/$(basename "$1")
  echo "$path" >>"$found"
  if [ -L "$path" ]; then
    link=$(readlink "$path")
    case $link in
      /*) add "$link" ;;
      *) add "$(dirname "$path")/$link" ;;
    esac
  fi
}

add_libraries() {
  case $(head -c 4 "$1" | tail -c 3) in
    ELF) ;;
    *) return 0 ;;
  esac
  # `not a dynamic executable` is an answer too.
  libraries=$(ldd "$1" 2>/dev/null) || return 0
  case $libraries in
    *'not found'*)
      echo "slim.sh: $1 lacks a library: $libraries" >&2
      exit 1
      ;;
  esac
  for library in $(echo "$libraries" | grep -o '/[^ ]*'); do
    grep -qxF "$library" "$found" || add "$library"
  done
}

add_entry() {
  if [ -d "$1" ] && [ ! -L "$1" ]; then
    find "$1" \( -type f -o -type l \) >"$found.dir"
    while read -r file; do add "$file"; done <"$found.dir"
    rm -f "$found.dir"
    return
  fi
  add "$1"
  if [ -f "$1" ]; then add_libraries "$1"; fi
}

mkdir -p "$target"
for folder in bin sbin lib lib64; do
  mkdir -p "$target/usr/$folder"
  ln -s "usr/$folder" "$target/$folder"
done
mkdir -p "$target/proc" "$target/sys" "$target/dev" "$target/run" "$target/etc" "$target/root" "$target/var/lib" "$target/var/log" "$target/var/cache"
mkdir -m 1777 "$target/tmp" "$target/var/tmp"
ln -s ../run "$target/var/run"

sed -e 's/#.*//' -e 's/[[:space:]]*$//' "$list" | while read -r entry; do
  case $entry in
    '') ;;
    dir:*) mkdir -p "$target${entry#dir:}" ;;
    *'*'*)
      for match in $entry; do
        if [ -e "$match" ]; then add_entry "$match"; fi
      done
      ;;
    *)
      if [ ! -e "$entry" ]; then
        echo "slim.sh: $list names $entry, which is not there" >&2
        exit 1
      fi
      add_entry "$entry"
      ;;
  esac
done
sort -u "$found" | sed 's#^/##' | tar -C / --no-recursion -cf - -T - | tar -C "$target" -xf -
ldconfig -r "$target"
du -sm "$target"
