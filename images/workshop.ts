// The Debian system that all images are cut from: the packages of workshop/packages.txt on Debian trixie. Made once per list, from a
// public base image where a registry is in reach and with mmdebstrap from this machine's own mirror elsewhere.
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { KvError } from '../src/base/errors.js';
import type { Log } from '../test/cluster/progress.js';
import { buildImage, imageId, importRoot, pull } from './buildah.js';
import { fingerprint, treeHash } from './fingerprint.js';
import { debianMirror, parsePackages } from './packages.js';
import { stream } from './stream.js';

const SUITE = 'trixie';
const PUBLIC_BASE = `docker.io/library/debian:${SUITE}-slim`;
const PULL_TIMEOUT_MS = 120_000;
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };
const DIR = join(import.meta.dirname, 'workshop');
const APT_DIR = '/etc/apt';

export function debianArchitecture(arch: string = process.arch): string {
  const found = ARCHITECTURES[arch];
  if (!found)
    throw new KvError('Invalid', `no images can be built on ${arch}; the architectures are ${Object.keys(ARCHITECTURES).join(', ')}`);
  return found;
}

export function workshopKey(): string {
  return fingerprint([SUITE, debianArchitecture(), treeHash(DIR, (path) => path !== 'slim.sh')]);
}

const tagOf = (key: string): string => `localhost/kubevirt-ts/workshop:${key}`;

/** Name of the image, built when it is not there yet. */
export async function ensureWorkshop(workDir: string, log: Log): Promise<string> {
  const tag = tagOf(workshopKey());
  if ((await imageId(tag)) !== undefined) return tag;
  log(`workshop: looking for a public base image (${PUBLIC_BASE})`);
  const noPull = await pull(PUBLIC_BASE, PULL_TIMEOUT_MS);
  if (noPull === undefined) {
    log('workshop: installing packages into the public base image; takes a few minutes, once');
    await buildImage({ tag, context: DIR, args: { BASE: PUBLIC_BASE }, onStep: (step) => log(`workshop: ${step}`) });
  } else {
    log('workshop: no registry in reach, so mmdebstrap makes the base from the Debian mirror; takes about two minutes, once');
    await bootstrap(join(workDir, 'workshop.tar'), tag, log);
  }
  return tag;
}

async function bootstrap(tar: string, tag: string, log: Log): Promise<void> {
  const packages = parsePackages(readFileSync(join(DIR, 'packages.txt'), 'utf8'), debianArchitecture());
  const mirror = debianMirror(readAptSources());
  const excluded = ['/usr/share/man/*', '/usr/share/doc/*', '/usr/share/locale/*', '/usr/share/info/*', '/etc/kernel/postinst.d/*'];
  rmSync(tar, { force: true });
  await stream(
    [
      'mmdebstrap',
      '--variant=minbase',
      // The mirror may be a dated snapshot.
      '--aptopt=Acquire::Check-Valid-Until "false"',
      '--aptopt=Acquire::Check-Date "false"',
      '--aptopt=APT::Install-Recommends "false"',
      // The kernel's install hooks would build an initramfs that nothing boots.
      ...excluded.map((path) => `--dpkgopt=path-exclude=${path}`),
      `--include=${packages.join(',')}`,
      SUITE,
      tar,
      // Without one mmdebstrap takes Debian's own.
      ...(mirror === undefined ? [] : [`deb ${mirror} ${SUITE} main`]),
    ],
    { onLine: (line) => line.startsWith('I: ') && log(`workshop: mmdebstrap: ${line.slice(3)}`) },
  );
  log('workshop: importing the root file system');
  await importRoot(tar, tag);
  rmSync(tar, { force: true });
}

function readAptSources(): Record<string, string> {
  const dir = join(APT_DIR, 'sources.list.d');
  const lists = existsSync(dir) ? readdirSync(dir).map((name) => join(dir, name)) : [];
  const files = [join(APT_DIR, 'sources.list'), ...lists].filter((path) => existsSync(path) && /\.(list|sources)$/.test(path));
  return Object.fromEntries(files.map((path) => [path, readFileSync(path, 'utf8')]));
}
