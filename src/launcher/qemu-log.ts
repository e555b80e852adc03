// QEMU's own messages, which libvirt keeps in one file a domain. The last of them says why QEMU ended; it goes into errors users see.
import { open } from 'node:fs/promises';
import { posix } from 'node:path';
import { VMI_DISKS_DIR } from '../core/storage/paths.js';
import { text } from './text.js';

const TAIL_BYTES = 8 * 1024;

/** Lines libvirt writes into the file itself: time stamps of start and end, the command line, notices of taint. */
const LIBVIRT_LINE =
  /^(\d{4}-\d\d-\d\d [\d:.+]+: (starting up|shutting down|Domain id=|panic)|LC_ALL=|PATH=|HOME=|XDG_|\/usr\/bin\/qemu|-|char device redirected|qemu-system-\S+: terminating on signal)/;

/** The last line QEMU wrote, without its program name. */
export function lastWordsOf(log: string): string {
  const lines = log.split('\n').map((line) => line.trim());
  const words = lines.filter((line) => line !== '' && !LIBVIRT_LINE.test(line)).at(-1) ?? '';
  return words.replace(/^(\d{4}-\d\d-\d\dT[\d:.Z]+ )?(\S*qemu-system-\S+: )?/, '');
}

const LOCKED = /Failed to get (shared )?"[a-z ]+" lock/;
const LOCKED_IMAGE = /Is another process using the image \[([^\]]+)\]/;

/** The sentence for a user when QEMU found an image in use; undefined when it ended for another reason. */
export function lockedImageOf(reason: string): string | undefined {
  if (!LOCKED.test(reason)) return undefined;
  const path = LOCKED_IMAGE.exec(reason)?.[1] ?? '';
  const volume = path.startsWith(`${VMI_DISKS_DIR}/`) ? path.slice(VMI_DISKS_DIR.length + 1).split('/')[0] : undefined;
  return text.imageInUse(volume, path);
}

export const qemuLog = (dir: string, domain: string): string => posix.join(dir, `${domain}.log`);

/** Empty when there is nothing to read: the log only adds to an error somebody has already. */
export async function lastQemuWords(dir: string, domain: string): Promise<string> {
  try {
    const file = await open(qemuLog(dir, domain), 'r');
    try {
      const { size } = await file.stat();
      const start = Math.max(0, size - TAIL_BYTES);
      const { buffer, bytesRead } = await file.read(Buffer.alloc(TAIL_BYTES), 0, TAIL_BYTES, start);
      return lastWordsOf(buffer.toString('utf8', 0, bytesRead));
    } finally {
      await file.close();
    }
  } catch {
    // No log: QEMU never ran.
    return '';
  }
}
