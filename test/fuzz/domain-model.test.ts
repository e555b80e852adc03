// Domains that others wrote, and our own whole ones, come back from the model as they were: nothing that a domain has is lost on the way.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseXml, readDomain, renderDomain, type XmlNode } from '../../src/core/converter/index.js';
import { RECORDINGS } from '../../tools/run/oracle.js';
import { ROOT } from '../../tools/run/steps.js';
import { grouped } from '../builders/grouped.js';

interface Given {
  readonly name: string;
  readonly xml: string;
}

const ours: readonly Given[] = globSync(join(ROOT, 'test/golden/domains/*.xml')).map((path) => ({
  name: basename(path),
  xml: readFileSync(path, 'utf8'),
}));

interface Recorded {
  readonly id: string;
  readonly expected: { readonly xml?: string };
}

/** What the reference made of its inputs, where the recordings are at hand. */
function recorded(): Given[] {
  const files = globSync(join(RECORDINGS, 'convert/*.jsonl'));
  const cases = files.flatMap((file) => readFileSync(file, 'utf8').split('\n').filter(Boolean)).map((line) => JSON.parse(line) as Recorded);
  const domains = globSync(join(RECORDINGS, '../domain/*.xml')).map((path) => ({ name: basename(path), xml: readFileSync(path, 'utf8') }));
  return [...domains, ...cases.flatMap(({ id, expected: { xml } }) => (xml === undefined ? [] : [{ name: id, xml }]))];
}

function lost({ xml }: Given): { readonly given: XmlNode; readonly back: XmlNode } {
  return { given: grouped(parseXml(xml)), back: grouped(parseXml(renderDomain(readDomain(xml)))) };
}

describe('a domain is the same when it was read and written', () => {
  it.each(ours)('ours: $name', (given) => {
    expect(renderDomain(readDomain(given.xml))).toBe(given.xml.trim());
  });

  it.skipIf(!existsSync(RECORDINGS))('the reference’s', () => {
    const all = recorded();
    expect(all.length).toBeGreaterThan(100);
    for (const each of all) {
      const { given, back } = lost(each);
      expect(back, each.name).toEqual(given);
    }
  });
});
