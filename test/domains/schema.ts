// Whether domains are valid by libvirt's own schema, the one that the launcher image carries. One xmllint judges all of them.
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { KvError } from '../../src/base/errors.js';
import { scratchDir } from '../fakes/scratch.js';

/** Of each document, in order: undefined when it is valid, else what is wrong with it. */
export async function validate(schema: string, documents: readonly string[]): Promise<(string | undefined)[]> {
  const dir = scratchDir();
  const names = documents.map((_, i) => `${i}.xml`);
  for (const [i, name] of names.entries()) writeFileSync(join(dir, name), documents[i] ?? '');
  const said = await xmllint(['--noout', '--relaxng', schema, ...names], dir);
  return names.map((name) => verdict(name, said));
}

function verdict(name: string, said: readonly string[]): string | undefined {
  if (said.includes(`${name} validates`)) return undefined;
  const about = said.filter((line) => line.startsWith(`${name}:`)).map((line) => line.slice(name.length + 1));
  return about.join('; ') || 'xmllint did not get to it';
}

/** It ends with 3 when a document is not valid. */
function xmllint(args: readonly string[], cwd: string): Promise<string[]> {
  return new Promise((resolve, reject) => {
    execFile('xmllint', [...args], { cwd, maxBuffer: 64 * 1024 * 1024 }, (err, _stdout, stderr) => {
      if (err && err.code !== 3) reject(new KvError('Internal', 'xmllint cannot be run: install libxml2-utils', { cause: err }));
      else resolve(stderr.split('\n'));
    });
  });
}
