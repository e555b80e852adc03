// The few buildah calls that the image builders need. No daemon, no privileges beyond root's own, nothing is run in namespaces:
// it must work inside containers too.
import { join } from 'node:path';
import { messageOf } from '../src/base/errors.js';
import { type StreamOptions, stream } from './stream.js';

const ENV = { BUILDAH_ISOLATION: 'chroot' };

const buildah = (args: readonly string[], options: StreamOptions = {}): Promise<string> =>
  stream(['buildah', ...args], { ...options, env: ENV });

export interface ImageBuild {
  readonly tag: string;
  readonly context: string;
  readonly args: Readonly<Record<string, string>>;
  readonly onStep: (step: string) => void;
}

/** Steps whose inputs did not change are taken from buildah's own cache of layers. */
export async function buildImage({ tag, context, args, onStep }: ImageBuild): Promise<void> {
  const before = await imageId(tag);
  const buildArgs = Object.entries(args).flatMap(([name, value]) => ['--build-arg', `${name}=${value}`]);
  await buildah(['bud', '--layers', ...buildArgs, '-t', tag, '-f', join(context, 'Containerfile'), context], {
    onLine: (line) => {
      const step = /^(?:\[\d+\/\d+\] )?STEP (\d+\/\d+: .*)$/.exec(line)?.[1];
      if (step) onStep(step);
    },
  });
  if (before !== undefined && before !== (await imageId(tag))) await removeImage(before);
}

/** Undefined when there is no such image. */
export async function imageId(name: string): Promise<string | undefined> {
  try {
    return (await buildah(['inspect', '--type', 'image', '--format', '{{.FromImageID}}', name])).trim();
  } catch {
    // inspect fails for one reason only that matters here: the image does not exist. A broken store fails in the build that follows.
    return undefined;
  }
}

/** The image that had the name before; only its own layers go. Kept when something else still uses it. */
async function removeImage(id: string): Promise<void> {
  try {
    await buildah(['rmi', id]);
  } catch {
    // In use by another image or container: not ours to remove.
  }
}

/** An image whose only layer is the given root file system. */
export async function importRoot(tar: string, tag: string): Promise<void> {
  const container = (await buildah(['from', 'scratch'])).trim();
  try {
    await buildah(['add', '-q', container, tar, '/']);
    await buildah(['config', '--cmd', '/bin/sh', container]);
    await buildah(['commit', '-q', container, tag]);
  } finally {
    await buildah(['rm', container]);
  }
}

/** Undefined when pulled; else why not. */
export async function pull(name: string, timeoutMs: number): Promise<string | undefined> {
  try {
    await buildah(['pull', '-q', name], { timeoutMs });
    return undefined;
  } catch (err) {
    // The caller has another way, and says why it takes it.
    return messageOf(err).split('\n').at(-1) ?? 'no reason given';
  }
}

/** Layers are not compressed: they are read on this very machine, and unpacking is what loading them costs. */
export async function saveImage(tag: string, file: string): Promise<void> {
  await buildah(['push', '-q', tag, `docker-archive:${file}:${tag}`]);
}
