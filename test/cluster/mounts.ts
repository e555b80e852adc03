// Which mount points lie below a folder, out of /proc/<pid>/mounts. Pure; used before a folder is removed.

/** Deepest first. /proc escapes blanks as \040. */
export function mountsBelow(dir: string, mounts: string): string[] {
  return mounts
    .split('\n')
    .flatMap((line) => line.split(' ')[1]?.replaceAll('\\040', ' ') ?? [])
    .filter((point) => point.startsWith(`${dir}/`))
    .sort((a, b) => b.length - a.length);
}
