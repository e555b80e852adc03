// The images: their names, what each is made of, and the hash of that. Called by ensure.ts, which builds what is missing.
import { chmodSync, cpSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { appKey, type BundleRecord, nodeBinary, nodeVersion, writeApp } from './app-files.js';
import { type DebianSystem, systemKey, WORKSHOP } from './debian-system.js';
import { fileHash, fingerprint, treeHash } from './fingerprint.js';

export const IMAGE_NAMES = ['control', 'launcher', 'tiny', 'debian'] as const;
export type ImageName = (typeof IMAGE_NAMES)[number];
/** Without the guest that only some tests start: it is large. */
export const USUAL_IMAGES = ['control', 'launcher', 'tiny'] as const satisfies readonly ImageName[];

export interface ImageRecipe {
  readonly name: ImageName;
  readonly tag: string;
  /** Equal keys, equal images. */
  readonly key: string;
  /** What its Containerfile builds on: build argument → system. */
  readonly systems: Readonly<Record<string, DebianSystem>>;
  /** Lays out the build context, Containerfile included. */
  readonly writeContext: (dir: string) => void;
}

const HERE = import.meta.dirname;
const SLIM = join(HERE, 'workshop', 'slim.sh');
const TINY = resolve(HERE, '..', 'test', 'guests', 'tiny');
const DEBIAN = resolve(HERE, '..', 'test', 'guests', 'debian');
const DEBIAN_ROOT: DebianSystem = { name: 'guest-debian-root', packages: join(DEBIAN, 'packages.txt') };

const PROCESSES = {
  control: ['virt-operator', 'virt-api', 'virt-controller', 'virt-handler'],
  launcher: ['virt-launcher', 'node-labeller', 'virt-probe', 'virt-freezer', 'sidecar-shim'],
} as const;

const tagOf = (image: string): string => `localhost/kubevirt-ts/${image}:dev`;

function processImage(name: keyof typeof PROCESSES, all: readonly BundleRecord[]): ImageRecipe {
  const wanted: readonly string[] = PROCESSES[name];
  const bundles = all.filter(({ process }) => wanted.includes(process));
  const dir = join(HERE, name);
  return {
    name,
    tag: tagOf(name),
    systems: { BASE: WORKSHOP },
    key: fingerprint([systemKey(WORKSHOP), nodeVersion(), fileHash(SLIM), treeHash(dir), appKey(bundles)]),
    writeContext: (target) => {
      copyTree(dir, target);
      cpSync(SLIM, join(target, 'slim.sh'));
      cpSync(nodeBinary(), join(target, 'node'));
      writeApp(bundles, join(target, 'app'));
    },
  };
}

function tinyGuest(): ImageRecipe {
  return {
    name: 'tiny',
    tag: tagOf('guest-tiny'),
    systems: { BASE: WORKSHOP },
    key: fingerprint([systemKey(WORKSHOP), treeHash(TINY)]),
    writeContext: (target) => copyTree(TINY, target),
  };
}

function debianGuest(): ImageRecipe {
  return {
    name: 'debian',
    tag: tagOf('guest-debian'),
    systems: { BASE: WORKSHOP, ROOT: DEBIAN_ROOT },
    key: fingerprint([systemKey(WORKSHOP), systemKey(DEBIAN_ROOT), treeHash(DEBIAN)]),
    writeContext: (target) => copyTree(DEBIAN, target),
  };
}

function copyTree(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  // Folders of an image must not carry the permissions of whoever cloned the repository.
  chmodSync(to, 0o755);
  cpSync(from, to, { recursive: true });
}

export function recipes(names: readonly ImageName[], bundles: readonly BundleRecord[]): ImageRecipe[] {
  const guests: Partial<Record<ImageName, () => ImageRecipe>> = { tiny: tinyGuest, debian: debianGuest };
  return names.map((name) => guests[name]?.() ?? processImage(name as keyof typeof PROCESSES, bundles));
}
