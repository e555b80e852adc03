// The Ignition configuration of a guest, from its annotation into the file that QEMU shows to the firmware (the converter's step names it).
import { mkdir, writeFile } from 'node:fs/promises';
import { posix } from 'node:path';
import type { VirtualMachineInstance } from '../../api/index.js';
import { ANNOTATION } from '../../api/labels.js';
import { KvError } from '../../base/errors.js';
import { ignitionFile } from '../../core/storage/index.js';

/** QEMU may run as another user than the launcher. */
const READABLE = 0o644;

/** Written anew with every start: QEMU reads it once. */
export async function writeIgnition({ metadata }: VirtualMachineInstance): Promise<void> {
  const data = metadata.annotations?.[ANNOTATION.ignition];
  if (!data) return;
  const path = ignitionFile(metadata.namespace ?? '', metadata.name ?? '');
  try {
    await mkdir(posix.dirname(path), { recursive: true });
    await writeFile(path, data, { mode: READABLE });
  } catch (cause) {
    throw new KvError('Internal', `cannot write the Ignition data of annotation ${ANNOTATION.ignition} to ${path}`, { cause });
  }
}
