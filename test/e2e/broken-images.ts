// Container images that no guest can start from, written as archives and loaded into the cluster's nodes: for tests of what is said then.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { renderImage, type TarEntry } from '../cluster/oci-tar.js';
import { scratchDir } from '../fakes/scratch.js';
import { cluster } from './harness.js';

const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };
const MIB = 1024 * 1024;
const DISK: TarEntry = { path: 'disk/', mode: 0o755, directory: true };

/** A qcow2 header of version 3 that names a backing file. */
function withBackingFile(path: string): Buffer {
  const image = Buffer.alloc(MIB);
  const name = Buffer.from(path);
  image.writeUInt32BE(0x514649fb, 0);
  image.writeUInt32BE(3, 4);
  image.writeBigUInt64BE(512n, 8);
  image.writeUInt32BE(name.length, 16);
  image.writeUInt32BE(16, 20);
  image.writeBigUInt64BE(BigInt(MIB), 24);
  name.copy(image, 512);
  return image;
}

const CONTENT = {
  twoFiles: [
    DISK,
    { path: 'disk/a.img', mode: 0o644, data: Buffer.alloc(512) },
    { path: 'disk/b.img', mode: 0o644, data: Buffer.alloc(512) },
  ],
  backingFile: [DISK, { path: 'disk/disk.qcow2', mode: 0o644, data: withBackingFile('/etc/passwd') }],
  leadsOut: [DISK, { path: 'disk/disk.img', mode: 0o777, linkTo: '/etc/passwd' }],
  unreadable: [DISK, { path: 'disk/disk.img', mode: 0o600, data: Buffer.alloc(512) }],
} satisfies Readonly<Record<string, readonly TarEntry[]>>;

export type BrokenImages = Readonly<Record<keyof typeof CONTENT, string>>;

/** Their names in the cluster. */
export async function loadBrokenImages(): Promise<BrokenImages> {
  const dir = scratchDir();
  const names = Object.entries(CONTENT).map(async ([what, entries]) => {
    const name = `localhost/kubevirt-ts/broken-${what.toLowerCase()}:1`;
    const file = join(dir, `${what}.tar`);
    writeFileSync(file, renderImage({ name, architecture: ARCHITECTURES[process.arch] ?? process.arch, entries, entrypoint: ['/none'] }));
    await (await cluster()).load(file);
    return [what, name] as const;
  });
  return Object.fromEntries(await Promise.all(names)) as BrokenImages;
}
