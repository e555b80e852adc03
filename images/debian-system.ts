// The Debian systems that images are cut from: a list of packages on Debian trixie. Each is made once per list, from a public base image
// where a registry is in reach and with mmdebstrap from this machine's own mirror elsewhere.
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { KvError } from '../src/base/errors.js';
import type { Log } from '../test/cluster/progress.js';
import { buildImage, imageId, importRoot, pull } from './buildah.js';
import { fileHash, fingerprint } from './fingerprint.js';
import { debianMirror, parsePackages } from './packages.js';
import { stream } from './stream.js';

export interface DebianSystem {
  /** Of its image, and in progress lines. */
  readonly name: string;
  /** packages.txt of the system. */
  readonly packages: string;
}

const SUITE = 'trixie';
const PUBLIC_BASE = `docker.io/library/debian:${SUITE}-slim`;
const PULL_TIMEOUT_MS = 120_000;
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };
/** Installs a list of packages into the public base. */
const INSTALLER_DIR = join(import.meta.dirname, 'workshop');
const INSTALLER_FILES = ['Containerfile', 'install.sh'];
const APT_DIR = '/etc/apt';

/** What the tools of the image builds come from; never shipped. */
export const WORKSHOP: DebianSystem = { name: 'workshop', packages: join(INSTALLER_DIR, 'packages.txt') };

export function debianArchitecture(arch: string = process.arch): string {
  const found = ARCHITECTURES[arch];
  if (!found)
    throw new KvError('Invalid', `no images can be built on ${arch}; the architectures are ${Object.keys(ARCHITECTURES).join(', ')}`);
  return found;
}

/** Equal keys, equal systems. */
export function systemKey({ packages }: DebianSystem): string {
  const installer = INSTALLER_FILES.map((file) => fileHash(join(INSTALLER_DIR, file)));
  return fingerprint([SUITE, debianArchitecture(), fileHash(packages), ...installer]);
}

/** Name of the system's image, built when it is not there yet. */
export async function ensureSystem(system: DebianSystem, workDir: string, log: Log): Promise<string> {
  const { name } = system;
  const tag = `localhost/kubevirt-ts/${name}:${systemKey(system)}`;
  if ((await imageId(tag)) !== undefined) return tag;
  log(`${name}: looking for a public base image (${PUBLIC_BASE})`);
  const noPull = await pull(PUBLIC_BASE, PULL_TIMEOUT_MS);
  if (noPull === undefined) {
    log(`${name}: installing packages into the public base image; takes a few minutes, once`);
    await installPackages(system, workDir, tag, log);
  } else {
    log(`${name}: no registry in reach, so mmdebstrap makes the base from the Debian mirror; takes about two minutes, once`);
    await bootstrap(system, join(workDir, `${name}.tar`), tag, log);
  }
  return tag;
}

async function installPackages({ name, packages }: DebianSystem, workDir: string, tag: string, log: Log): Promise<void> {
  const context = mkdtempSync(join(workDir, `context-${name}-`));
  try {
    for (const file of INSTALLER_FILES) cpSync(join(INSTALLER_DIR, file), join(context, file));
    cpSync(packages, join(context, 'packages.txt'));
    await buildImage({ tag, context, args: { BASE: PUBLIC_BASE }, onStep: (step) => log(`${name}: ${step}`) });
  } finally {
    rmSync(context, { recursive: true, force: true });
  }
}

async function bootstrap(system: DebianSystem, tar: string, tag: string, log: Log): Promise<void> {
  const packages = parsePackages(readFileSync(system.packages, 'utf8'), debianArchitecture());
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
      '--aptopt=Acquire::Retries "3"',
      // The kernel's install hooks would build an initramfs that nothing boots.
      ...excluded.map((path) => `--dpkgopt=path-exclude=${path}`),
      `--include=${packages.join(',')}`,
      SUITE,
      tar,
      // Without one mmdebstrap takes Debian's own.
      ...(mirror === undefined ? [] : [`deb ${mirror} ${SUITE} main`]),
    ],
    { onLine: (line) => line.startsWith('I: ') && log(`${system.name}: mmdebstrap: ${line.slice(3)}`) },
  );
  log(`${system.name}: importing the root file system`);
  await importRoot(tar, tag);
  rmSync(tar, { force: true });
}

function readAptSources(): Record<string, string> {
  const dir = join(APT_DIR, 'sources.list.d');
  const lists = existsSync(dir) ? readdirSync(dir).map((name) => join(dir, name)) : [];
  const files = [join(APT_DIR, 'sources.list'), ...lists].filter((path) => existsSync(path) && /\.(list|sources)$/.test(path));
  return Object.fromEntries(files.map((path) => [path, readFileSync(path, 'utf8')]));
}
