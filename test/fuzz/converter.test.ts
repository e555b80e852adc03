// The converter's properties: whatever admission lets through becomes a domain or an error that names a field, on whatever node; and XML comes
// back from text as it was. Guests are reproducible by their number.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { VirtualMachineInstance, VirtualMachineInstanceSpec } from '../../src/api/index.js';
import { schemaOf } from '../../src/api/schema/crds.js';
import type { Schema } from '../../src/api/schema/resolve.js';
import { KvError } from '../../src/base/errors.js';
import {
  type Arch,
  buildDomain,
  type DomainFacts,
  type DomainModel,
  PLAIN_FACTS,
  parseXml,
  readDomain,
  renderDomain,
  renderXml,
  type XmlNode,
} from '../../src/core/converter/index.js';
import { valueFrom } from './from-schema.js';
import { admitted, nodeOf, wishedGuest } from './guests.js';
import { type Random, randomOf } from './random.js';

const SEEDS = 4000;
const ARCHES: readonly Arch[] = ['amd64', 'arm64', 's390x', 'ppc64le'];

const DOMAIN = schemaOf('VirtualMachineInstance').properties?.spec?.properties?.domain as Schema;
/** Those that admission mostly refuses when they are random, or that a guest must have. */
const KEPT = new Set(['devices', 'memory', 'resources', 'machine']);
const PARTS = Object.keys(DOMAIN.properties ?? {}).filter((key) => !KEPT.has(key));
const DEVICES = DOMAIN.properties?.devices as Schema;
const DEVICE_PARTS = Object.keys(DEVICES.properties ?? {}).filter((key) => !['disks', 'interfaces', 'filesystems'].includes(key));

type Loose = Record<string, unknown>;

/** One part of the domain as its schema alone describes it. */
function withRandomPart(vmi: VirtualMachineInstance, random: Random): VirtualMachineInstance {
  const copy = structuredClone(vmi);
  const { domain } = copy.spec;
  const [holder, schema, keys] = random.chance(0.6) ? [domain.devices, DEVICES, DEVICE_PARTS] : [domain, DOMAIN, PARTS];
  const key = random.pick(keys);
  (holder as unknown as Loose)[key] = valueFrom(key, schema.properties?.[key] as Schema, random, 2);
  return copy;
}

function guestOf(seed: number): VirtualMachineInstance | undefined {
  const random = randomOf(seed);
  const wished = wishedGuest(random);
  const spec: VirtualMachineInstanceSpec = { ...wished.spec, architecture: ARCHES[seed % ARCHES.length] as Arch };
  const base = { ...wished, spec };
  return admitted(random.chance(0.5) ? withRandomPart(base, random) : base);
}

const keysIn = (value: unknown): string[] =>
  typeof value === 'object' && value !== null ? Object.entries(value).flatMap(([key, member]) => [key, ...keysIn(member)]) : [];

/** An error is of use when it has a word that stands in the VMI. */
function namesField(err: unknown, vmi: VirtualMachineInstance): boolean {
  if (!(err instanceof KvError) || !['Invalid', 'NotReady'].includes(err.code)) return false;
  const words = new Set(err.message.split(/[^A-Za-z]+/).map((word) => word.toLowerCase()));
  return keysIn(vmi.spec).some((key) => words.has(key.toLowerCase()));
}

interface Outcome {
  readonly domain?: DomainModel;
  readonly err?: unknown;
}

function convert(vmi: VirtualMachineInstance, facts: DomainFacts): Outcome {
  try {
    return { domain: buildDomain(vmi, facts) };
  } catch (err) {
    return { err };
  }
}

const EMULATORS = new Set(['x86_64', 'aarch64', 's390x'].map((machine) => `/usr/bin/qemu-system-${machine}`));
const withoutVersion = ({ libvirtVersion: _, ...facts }: DomainFacts): DomainFacts => facts;
const archOf = ({ spec }: VirtualMachineInstance): Arch => (spec.architecture ?? 'amd64') as Arch;
const guests = Array.from({ length: SEEDS }, (_, seed) => ({ seed, vmi: guestOf(seed) })).flatMap(({ seed, vmi }) =>
  vmi ? [{ seed, vmi }] : [],
);
const nodes: readonly [string, (vmi: VirtualMachineInstance) => DomainFacts][] = [
  ['a node that has everything', (vmi) => nodeOf(vmi)],
  ['the recorded reference', (vmi) => withoutVersion(nodeOf(vmi))],
  ['a node of which nothing is known', (vmi) => ({ ...PLAIN_FACTS, hostArch: archOf(vmi), libvirtVersion: 11_003_000 })],
  ['another architecture', (vmi) => ({ ...nodeOf(vmi), hostArch: 'amd64', crossArchEmulation: true, emulators: EMULATORS })],
  ['a migration target', (vmi) => ({ ...nodeOf(vmi), migrationTarget: true, vgpuLiveMigration: true })],
];

describe('every admitted guest', () => {
  it('is one of all architectures', () => {
    const counts = ARCHES.map((arch) => guests.filter(({ vmi }) => archOf(vmi) === arch).length);
    for (const count of counts) expect(count).toBeGreaterThan(20);
  });

  it.each(nodes)('becomes a domain or an error that names a field: %s', (_title, factsOf) => {
    const found = guests.flatMap(({ seed, vmi }) => {
      const { err } = convert(vmi, factsOf(vmi));
      return err === undefined || namesField(err, vmi) ? [] : [`guest ${seed}: ${err instanceof Error ? err.stack : String(err)}`];
    });
    expect(found.slice(0, 5)).toEqual([]);
  });

  it('is the same when it is read back', () => {
    for (const { seed, vmi } of guests) {
      const { domain } = convert(vmi, nodeOf(vmi));
      if (!domain) continue;
      const xml = renderDomain(domain);
      expect(renderDomain(readDomain(xml)), `guest ${seed}`).toBe(xml);
    }
  });

  it('is the same domain at a second time', () => {
    for (const { vmi } of guests.slice(0, 200)) {
      const facts = nodeOf(vmi);
      expect(convert(structuredClone(vmi), facts)).toEqual(convert(vmi, facts));
    }
  });
});

/** Without empty texts, which are written as no text. */
const plain = ({ tag, attrs, children, text }: XmlNode): XmlNode => ({
  tag,
  attrs,
  children: children.map(plain),
  ...(text === undefined || text === '' ? {} : { text }),
});

describe('XML', () => {
  const name = fc.stringMatching(/^[A-Za-z][A-Za-z0-9_.-]{0,6}$/);
  // What XML 1.0 can hold; the others are replaced, which xml.test.ts shows.
  const character = fc
    .integer({ min: 0x20, max: 0x10ffff })
    .filter((code) => (code < 0xd800 || code > 0xdfff) && code !== 0xfffe && code !== 0xffff);
  const text = fc
    .array(
      fc.oneof(
        character.map((code) => String.fromCodePoint(code)),
        fc.constantFrom('<', '>', '&', '"', "'", '\n', '\r', '\t', '&amp;', ']]>', ' '),
      ),
      { maxLength: 8 },
    )
    .map((parts) => parts.join(''));
  const words = text.map((each) => each.trim());
  const tree: fc.Memo<XmlNode> = fc.memo((depth) => {
    const attrs = fc.dictionary(name, text, { maxKeys: 3 }).map((given) => ({ ...given }));
    const leaf = fc.record({ tag: name, attrs, children: fc.constant([]), text: words });
    return depth <= 1 ? leaf : fc.oneof(leaf, fc.record({ tag: name, attrs, children: fc.array(tree(depth - 1), { maxLength: 3 }) }));
  });

  it('comes back from its text as it was', () => {
    fc.assert(
      fc.property(tree(3), (given) => {
        expect(parseXml(renderXml(given))).toEqual(plain(given));
      }),
      { numRuns: 1000 },
    );
  });

  it('of any text is read or refused by a KvError', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          text,
          tree(2).chain((given) => fc.nat().map((at) => cut(renderXml(given), at))),
        ),
        (given) => {
          try {
            parseXml(given);
          } catch (err) {
            expect(err).toBeInstanceOf(KvError);
          }
        },
      ),
      { numRuns: 2000 },
    );
  });
});

const cut = (xml: string, at: number): string => xml.slice(0, at % (xml.length + 1));
