// Keeps the logs that a guest can fill (its serial console's, and QEMU's own words) from filling the pod's disk, for which the pod would be evicted:
// they are only ever appended to. When a file is large, its end is kept beside it under ".0" and the file is emptied, which appending writes survive.
import { open, stat, truncate, writeFile } from 'node:fs/promises';
import type { Ctx } from '../base/context.js';
import { messageOf } from '../base/errors.js';

const MAX_BYTES = 2 * 1024 * 1024;
const INTERVAL_MS = 30_000;

async function readEnd(path: string, bytes: number): Promise<Buffer> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const { buffer, bytesRead } = await file.read(Buffer.alloc(bytes), 0, bytes, Math.max(0, size - bytes));
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

async function rotate(path: string, maxBytes: number): Promise<void> {
  const found = await stat(path).catch((err: NodeJS.ErrnoException) => {
    if (err.code === 'ENOENT') return undefined;
    throw err;
  });
  if (!found || found.size <= maxBytes) return;
  await writeFile(`${path}.0`, await readEnd(path, maxBytes), { mode: 0o600 });
  await truncate(path);
}

/** Looks at the file now and then until the returned function is called. */
export function boundLog(ctx: Ctx, path: string, maxBytes = MAX_BYTES, intervalMs = INTERVAL_MS): () => void {
  let cancel: () => void = () => undefined;
  const arm = (): void => {
    cancel = ctx.clock.after(intervalMs, () => {
      rotate(path, maxBytes)
        // The log is a convenience; the guest must not suffer from it.
        .catch((err: unknown) => ctx.log.warn({ reason: messageOf(err), path }, 'Cannot shorten a log of the guest'))
        .finally(arm);
    });
  };
  arm();
  return () => cancel();
}
