// libvirt asks each QEMU binary for its abilities, which costs every pod about a second, and remembers the answer in a file that holds
// as long as the binaries' change times do. The image carries such files, recorded when it was made; here they get this container's
// change times and go where libvirt looks. Only answers without KVM are recorded: with a usable /dev/kvm libvirt discards them and asks.
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { posix } from 'node:path';
import type { Ctx } from '../base/context.js';
import { messageOf } from '../base/errors.js';

/** Where the image keeps the recorded answers. */
export const RECORDED_CAPABILITIES = '/usr/share/kubevirt/qemu-capabilities';

const LIBVIRTD_BINARY = '/usr/sbin/libvirtd';
const DRIVER_DIRS = [...['x86_64', 'aarch64', 's390x', 'powerpc64le'].map((machine) => `/usr/lib/${machine}-linux-gnu`), '/usr/lib64'];

const changeTime = async (path: string): Promise<number> => Math.floor((await stat(path)).ctimeMs / 1000);

/** libvirt's "self": the newest change time of the daemon and the drivers it loads. */
async function selfChangeTime(): Promise<number> {
  const times = [await changeTime(LIBVIRTD_BINARY)];
  for (const lib of DRIVER_DIRS) {
    const dir = posix.join(lib, 'libvirt/connection-driver');
    const files = await readdir(dir).catch((err: NodeJS.ErrnoException) => {
      if (err.code === 'ENOENT') return [];
      throw err;
    });
    for (const file of files) times.push(await changeTime(posix.join(dir, file)));
  }
  return Math.max(...times);
}

const tag = (xml: string, name: string): string | undefined => new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1];
const withTag = (xml: string, name: string, value: number): string =>
  xml.replace(new RegExp(`<${name}>[^<]*</${name}>`), `<${name}>${value}</${name}>`);

/** The recorded answer under the change times of this container's files. */
export function stampCapabilities(xml: string, times: { readonly qemu: number; readonly self: number }): string {
  return withTag(withTag(xml, 'qemuctime', times.qemu), 'selfctime', times.self);
}

async function restoreFile(from: string, to: string, self: number): Promise<void> {
  const xml = await readFile(from, 'utf8');
  const emulator = tag(xml, 'emulator');
  if (emulator === undefined) throw new Error(`${from} names no emulator`);
  await writeFile(to, stampCapabilities(xml, { qemu: await changeTime(emulator), self }), { mode: 0o600 });
}

/** Never fails: without the files libvirt asks QEMU itself. */
export async function restoreCapabilities(ctx: Ctx, recorded: string | undefined, cacheDir: string): Promise<void> {
  if (recorded === undefined) return;
  try {
    const names = await readdir(recorded);
    const self = await selfChangeTime();
    await mkdir(cacheDir, { recursive: true, mode: 0o700 });
    const outcomes = await Promise.allSettled(
      names.map((name) => restoreFile(posix.join(recorded, name), posix.join(cacheDir, name), self)),
    );
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  } catch (err) {
    // A slower start is no failure.
    ctx.log.debug({ reason: messageOf(err) }, 'No recorded QEMU capabilities; libvirt asks QEMU itself');
  }
}
