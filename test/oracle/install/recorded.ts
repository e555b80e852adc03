// The recorded objects of an installation, by situation.
import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { parse } from 'yaml';
import type { KubeObject } from '../../../src/api/index.js';
import { ORACLES } from '../schema/recorded.js';

export interface Recorded {
  readonly folder: string;
  /** `folder/kind.name` */
  readonly id: string;
  readonly object: KubeObject;
}

/** Without the CRDs, which are compared by themselves. */
export function recordedObjects(): Recorded[] {
  return globSync(join(ORACLES, 'pairs', 'install', '*', '*.yaml'))
    .filter((path) => !basename(path).startsWith('customresourcedefinition.'))
    .sort()
    .map((path) => {
      const folder = basename(dirname(path));
      return { folder, id: `${folder}/${basename(path, '.yaml')}`, object: parse(readFileSync(path, 'utf8')) as KubeObject };
    });
}
