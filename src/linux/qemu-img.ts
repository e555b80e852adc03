// Disk images: creating them by qemu-img, and telling their format from their first bytes (starting a process for that would cost more
// than reading them). Images come from users: one that refers to further files is refused, as QEMU would open those.
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import type { Ctx } from '../base/context.js';
import { KvError } from '../base/errors.js';
import type { Run } from './exec.js';

export type ImageFormat = 'qcow2' | 'raw';

export interface Overlay {
  readonly backing: string;
  readonly backingFormat: ImageFormat;
}

const QCOW2_MAGIC = 0x514649fb;
const HEADER_BYTES = 104;
// Offsets in a qcow2 header and the feature bit "external data file".
const BACKING_FILE_OFFSET = 8;
const INCOMPATIBLE_FEATURES = 72;
const EXTERNAL_DATA_FILE = 4n;

async function readHeader(path: string, what: string): Promise<Buffer> {
  // A pipe in the place of an image must not hold us up.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((err: NodeJS.ErrnoException) => {
    const code = err.code === 'ENOENT' ? 'NotReady' : 'Invalid';
    const hint = err.code === 'EACCES' ? ': make user 107 its owner in the image, or let everybody read it' : '';
    throw new KvError(code, `cannot open ${what}: ${err.code ?? err.message}${hint}`, { cause: err });
  });
  try {
    const found = await file.stat();
    if (!found.isFile() && !found.isBlockDevice()) throw new KvError('Invalid', `${what} is neither a file nor a block device`);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEADER_BYTES), 0, HEADER_BYTES, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

function refuseReferences(header: Buffer, what: string): void {
  if (header.length >= 16 && header.readBigUInt64BE(BACKING_FILE_OFFSET) !== 0n) {
    throw new KvError('Terminal', `${what} has a backing file; flatten it with "qemu-img convert"`);
  }
  const isVersion3 = header.length >= INCOMPATIBLE_FEATURES + 8 && header.readUInt32BE(4) >= 3;
  if (isVersion3 && (header.readBigUInt64BE(INCOMPATIBLE_FEATURES) & EXTERNAL_DATA_FILE) !== 0n) {
    throw new KvError('Terminal', `${what} keeps its data in another file; convert it with "qemu-img convert"`);
  }
}

/** Format of an image a user brought; anything that is not qcow2 counts as raw. `what`: how errors call it. */
export async function detectImageFormat(path: string, what = `the disk image ${path}`): Promise<ImageFormat> {
  const header = await readHeader(path, what);
  if (header.length < 4 || header.readUInt32BE(0) !== QCOW2_MAGIC) return 'raw';
  refuseReferences(header, what);
  return 'qcow2';
}

/** Makes a raw image longer; what is new reads as zeros. */
export async function growRaw(
  ctx: Ctx,
  run: Run,
  path: string,
  { bytes, isPreallocated }: { readonly bytes: bigint; readonly isPreallocated: boolean },
): Promise<void> {
  const allocation = isPreallocated ? ['--preallocation=falloc'] : [];
  await run(ctx, 'qemu-img', ['resize', '-q', '-f', 'raw', ...allocation, path, bytes.toString()]);
}

/** A qcow2 of its own, or one over a backing image (then its size is the backing image's). */
export async function createQcow2(ctx: Ctx, run: Run, path: string, content: Overlay | { readonly sizeBytes: bigint }): Promise<void> {
  const args = 'backing' in content ? ['-F', content.backingFormat, '-b', content.backing, path] : [path, content.sizeBytes.toString()];
  await run(ctx, 'qemu-img', ['create', '-q', '-f', 'qcow2', ...args]);
}
