// The images: their names, what each is made of, and the hash of that. Called by ensure.ts, which builds what is missing.
import { chmodSync, cpSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { appKey, type BundleRecord, nodeBinary, nodeVersion, writeApp } from './app-files.js';
import { fileHash, fingerprint, treeHash } from './fingerprint.js';
import { workshopKey } from './workshop.js';

export const IMAGE_NAMES = ['control', 'launcher', 'tiny'] as const;
export type ImageName = (typeof IMAGE_NAMES)[number];

export interface ImageRecipe {
  readonly name: ImageName;
  readonly tag: string;
  /** Equal keys, equal images. */
  readonly key: string;
  /** Lays out the build context, Containerfile included. */
  readonly writeContext: (dir: string) => void;
}

const HERE = import.meta.dirname;
const SLIM = join(HERE, 'workshop', 'slim.sh');
const TINY = resolve(HERE, '..', 'test', 'guests', 'tiny');

const PROCESSES = {
  control: ['virt-operator', 'virt-api', 'virt-controller', 'virt-handler'],
  launcher: ['virt-launcher', 'node-labeller', 'virt-probe', 'virt-freezer'],
} as const;

const tagOf = (image: string): string => `localhost/kubevirt-ts/${image}:dev`;

function processImage(name: keyof typeof PROCESSES, all: readonly BundleRecord[]): ImageRecipe {
  const wanted: readonly string[] = PROCESSES[name];
  const bundles = all.filter(({ process }) => wanted.includes(process));
  const dir = join(HERE, name);
  return {
    name,
    tag: tagOf(name),
    key: fingerprint([workshopKey(), nodeVersion(), fileHash(SLIM), treeHash(dir), appKey(bundles)]),
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
    key: fingerprint([workshopKey(), treeHash(TINY)]),
    writeContext: (target) => copyTree(TINY, target),
  };
}

function copyTree(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  // Folders of an image must not carry the permissions of whoever cloned the repository.
  chmodSync(to, 0o755);
  cpSync(from, to, { recursive: true });
}

export function recipes(names: readonly ImageName[], bundles: readonly BundleRecord[]): ImageRecipe[] {
  return names.map((name) => (name === 'tiny' ? tinyGuest() : processImage(name, bundles)));
}
