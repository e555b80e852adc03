// The doc comments of the API classes and of their fields, which become the descriptions that `kubectl explain` prints. Reads the classes as
// text: they are declared in one uniform way, a comment above the decorators of what it describes. Used by gen-crds.ts.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const CLASS = /^export class (\w+)/;
const FIELD = /^ {2}(\w+)[!?]: /;
const ONE_LINE = /^\s*\/\*\* (.*) \*\/$/;

/** Keys are `Class` and `Class.field`. */
export function docComments(source: string): Map<string, string> {
  const found = new Map<string, string>();
  let className = '';
  let comment: string | undefined;
  for (const line of joined(source)) {
    comment = ONE_LINE.exec(line)?.[1] ?? comment;
    const name = CLASS.exec(line)?.[1];
    const field = FIELD.exec(line)?.[1];
    if (name !== undefined) className = name;
    const key = name ?? (field === undefined ? undefined : `${className}.${field}`);
    if (key !== undefined && comment !== undefined) found.set(key, comment);
    if (key !== undefined || line === '') comment = undefined;
  }
  return found;
}

/** The lines of the source, with comments of several lines drawn into one. */
function joined(source: string): string[] {
  return source
    .replace(
      /\/\*\*\n([\s\S]*?)\*\//g,
      (_all, body: string) =>
        `/** ${body
          .replace(/^\s*\* ?/gm, '')
          .trim()
          .split('\n')
          .join(' ')} */`,
    )
    .split('\n');
}

export function docCommentsBelow(folder: string): Map<string, string> {
  const all = new Map<string, string>();
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !entry.name.endsWith('.ts') || entry.name.endsWith('.test.ts')) continue;
    for (const [key, text] of docComments(readFileSync(join(entry.parentPath, entry.name), 'utf8'))) all.set(key, text);
  }
  return all;
}
