// Puts images into the nodes' containerd stores: archives given by path, and the two tiny images that the cluster itself
// brings (pause, and busybox for a look around). Nothing is ever pulled.
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { KvError } from '../../src/base/errors.js';
import type { ClusterConfig, NodeConfig } from './config.js';
import { CONTAINERD_SOCKET } from './node-config.js';
import { renderImage, type TarEntry } from './oci-tar.js';
import { run } from './run.js';

/** What was loaded from which file: spares importing the same archive again. */
export interface Loaded {
  readonly file: string;
  readonly names: readonly string[];
}

const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };
const IMPORT_TIMEOUT_MS = 600_000;
/**
 * The label makes containerd take off the mark of its CRI plugin when a name moves to another image. Without that, the plugin believes it
 * knows the image already, gives it no name by its id, and a pod that mounts it as a volume finds none.
 */
const IMPORT_OPTIONS = ['--local', '--digests=false', '--label', 'kubevirt-ts.loaded=true'];

export function ctr(config: ClusterConfig, leader: number, args: readonly string[]): string[] {
  return ['nsenter', '-t', String(leader), '-m', '--', join(config.binDir, 'ctr'), '-a', CONTAINERD_SOCKET, '-n', 'k8s.io', ...args];
}

export function writeOwnImages(config: ClusterConfig): string[] {
  const architecture = ARCHITECTURES[process.arch] ?? process.arch;
  const pause = renderImage({
    name: config.pauseImage,
    architecture,
    entries: [{ path: 'pause', mode: 0o755, data: readFileSync('/usr/bin/catatonit') }],
    entrypoint: ['/pause', '-P'],
    user: '65535:65535',
  });
  const tool = renderImage({
    name: config.toolImage,
    architecture,
    entries: toolEntries(),
    entrypoint: ['/bin/sh'],
    env: ['PATH=/bin'],
  });
  return Object.entries({ pause, tool }).map(([name, content]) => {
    const file = join(config.stateDir, `${name}.tar`);
    if (!existsSync(file)) writeFileSync(file, content);
    return file;
  });
}

const APPLETS = [
  'sh',
  'ls',
  'cat',
  'sleep',
  'nslookup',
  'wget',
  'nc',
  'ping',
  'mount',
  'umount',
  'mkdir',
  'rm',
  'touch',
  'id',
  'ps',
  'ip',
  'httpd',
  'grep',
  'stat',
];

function toolEntries(): TarEntry[] {
  return [
    { path: 'bin/', mode: 0o755, directory: true },
    { path: 'bin/busybox', mode: 0o755, data: readFileSync('/usr/bin/busybox') },
    ...APPLETS.map((applet) => ({ path: `bin/${applet}`, mode: 0o777, linkTo: 'busybox' })),
    { path: 'etc/', mode: 0o755, directory: true },
    { path: 'etc/passwd', mode: 0o644, data: Buffer.from('root:x:0:0::/:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n') },
    { path: 'tmp/', mode: 0o1777, directory: true },
  ];
}

export async function loadIntoNode(config: ClusterConfig, node: NodeConfig, leader: number, archive: string): Promise<string[]> {
  const file = identityOf(archive);
  const loaded = readLoaded(node);
  const present = loaded.find((entry) => entry.file === file);
  if (present && (await hasAll(config, leader, present.names))) return [...present.names];
  const output = await run(ctr(config, leader, ['images', 'import', ...IMPORT_OPTIONS, resolve(archive)]), {
    timeoutMs: IMPORT_TIMEOUT_MS,
  });
  const names = importedNames(output);
  if (names.length === 0) {
    throw new KvError(
      'Invalid',
      `${archive} holds no named image (containerd said: ${output.trim()}); save it with a name, such as localhost/x:dev`,
    );
  }
  writeFileSync(loadedFile(node), JSON.stringify(remember(loaded, { file, names })));
  return names;
}

/** Somebody may have removed an image by hand, or a test to see what happens without it. */
async function hasAll(config: ClusterConfig, leader: number, names: readonly string[]): Promise<boolean> {
  const there = new Set((await run(ctr(config, leader, ['images', 'list', '--quiet']))).split('\n'));
  return names.every((name) => there.has(name));
}

/** Another archive that holds a name takes the name away from the archive that brought it before. */
export function remember(loaded: readonly Loaded[], now: Loaded): Loaded[] {
  return [...loaded.filter((entry) => !entry.names.some((name) => now.names.includes(name))), now];
}

/** ctr says "unpacking NAME (sha256:…)...done" a line an image. */
export function importedNames(output: string): string[] {
  return [...output.matchAll(/^unpacking (\S+) \(sha256:/gm)].flatMap((match) => match[1] ?? []);
}

function identityOf(archive: string): string {
  try {
    const { size, mtimeMs, ino } = statSync(archive);
    return `${resolve(archive)} ${size} ${mtimeMs} ${ino}`;
  } catch (err) {
    throw new KvError('NotFound', `there is no image archive ${resolve(archive)}`, { cause: err });
  }
}

function loadedFile(node: NodeConfig): string {
  return join(node.dir, 'loaded-images.json');
}

function readLoaded(node: NodeConfig): Loaded[] {
  if (!existsSync(loadedFile(node))) return [];
  return JSON.parse(readFileSync(loadedFile(node), 'utf8')) as Loaded[];
}
