// The model and its XML say the same, in both directions: for models made at random from the fields, and for XML that has more in it than they know.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { grouped } from '../../../test/builders/grouped.js';
import { DOMAIN, type Domain } from './domain.js';
import type { Codec, Field, Shape } from './domain-fields.js';
import { domainFromXml, domainToXml, readDomain, renderDevice, renderDomain } from './domain-xml.js';
import type { XmlNode } from './xml.js';

const characters = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 8 })
  .filter((each) => each.trim() === each && !/\p{C}/u.test(each));

/** Values that a codec can write: those of the samples that come back. */
function valueFor(codec: Codec<unknown>): fc.Arbitrary<unknown> {
  const samples = ['on', 'yes', 'off', 'no', '0', '-7', '1048576'].map((each) => codec.read(each)).filter((each) => each !== undefined);
  if (codec.read('any words') === 'any words') return characters;
  return samples.length > 0 ? fc.constantFrom(...samples) : fc.constantFrom(...(wordsOf(codec) as [string]));
}

/** A choice of words tells them by reading them. */
const wordsOf = (codec: Codec<unknown>): string[] => WORDS.filter((each) => codec.read(each) === each);
const WORDS =
  'raw qcow2 kvm qemu hyperv b bytes KiB k MiB GiB M G file block dir pci drive usb unix client disk lun cdrom storage mount passthrough virtiofs tcp ethernet vhostuser passt up down vhost mdev subsystem scsi bind pty serial virtio connected tablet keyboard vnc socket emulator 2.0 random virtio-mem ich9 custom host-model strict memfd shared immediate static smbios slic hvm secure-boot rom pflash sysinfo rtc tsc utc timezone sev tdx destroy restart unmap stop efi'.split(
    ' ',
  );

function fieldValue(field: Field, depth: number): fc.Arbitrary<unknown> {
  switch (field.kind) {
    case 'flag':
      return fc.constant(true);
    case 'element':
      return model(field.shape, depth - 1);
    case 'elements':
      return fc.array(model(field.shape, depth - 1), { minLength: 1, maxLength: 2 });
    default:
      return valueFor(field.codec);
  }
}

/** Some of the fields, in any order. Text stands where there are no children. */
const model = (shape: Shape, depth: number): fc.Arbitrary<Record<string, unknown>> =>
  fc
    .shuffledSubarray(depth > 0 ? Object.keys(shape) : [])
    .map((keys) => keys.slice(0, 6))
    .chain((keys) =>
      fc.tuple(...keys.map((key) => fieldValue(shape[key] as Field, depth).map((value) => [key, value] as const))).map(Object.fromEntries),
    );

const domains = model(DOMAIN, 5) as fc.Arbitrary<Domain>;

const name = fc.constantFrom(
  'type',
  'devices',
  'disk',
  'driver',
  'source',
  'alias',
  'name',
  'readonly',
  'memory',
  'unit',
  'os',
  'firmware',
  'x',
  'constructor',
);
const text = fc.oneof(fc.constantFrom('file', 'yes', 'on', '1', '007', '', 'KiB', 'hvm', '99999999999999999999'), characters);
const anyXml: fc.Memo<XmlNode> = fc.memo((depth) => {
  const attrs = fc.dictionary(name, text, { maxKeys: 3 }).map((given) => ({ ...given }));
  const leaf = fc.record({ tag: name, attrs, children: fc.constant([]), text: characters });
  const empty = fc.record({ tag: name, attrs, children: fc.constant([]) });
  if (depth <= 1) return fc.oneof(leaf, empty);
  return fc.oneof(leaf, empty, fc.record({ tag: name, attrs, children: fc.array(anyXml(depth - 1), { maxLength: 4 }) }));
});

describe('a domain', () => {
  it('comes back from its XML as it was', () => {
    fc.assert(
      fc.property(domains, (domain) => {
        const back = readDomain(renderDomain(domain));
        expect(back).toEqual(domain);
        expect(renderDomain(back)).toBe(renderDomain(domain));
      }),
      { numRuns: 500 },
    );
  });

  it('gives its XML back, whatever is in it', () => {
    fc.assert(
      fc.property(fc.array(anyXml(4), { maxLength: 4 }), fc.dictionary(name, text, { maxKeys: 3 }), (children, attrs) => {
        const xml: XmlNode = grouped({ tag: 'domain', attrs: { ...attrs }, children });
        expect(grouped(domainToXml(domainFromXml(xml)))).toEqual(xml);
      }),
      { numRuns: 1000 },
    );
  });
});

const read = (xml: string): Domain => readDomain(`<domain>${xml}</domain>`);

describe('what no field reads', () => {
  it.each<[string, string]>([
    [
      'elements and attributes that are not known',
      '<devices><shmem name="a"><size unit="M">4</size></shmem><disk snapshot="no"><x/></disk></devices>',
    ],
    ['words that are not known', '<devices><disk type="later"/></devices>'],
    ['numbers that are written otherwise', '<vcpu current="02">0x4</vcpu>'],
    ['a flag with something in it', '<features><acpi later="1"/></features>'],
    ['a second of what there is once', '<name>a</name><name>b</name>'],
    ['text where none is known', '<devices><disk>words</disk></devices>'],
    ['empty attributes', '<devices><disk type=""/></devices>'],
    ['namespaces', '<qemu:commandline><qemu:arg value="-x"/><qemu:env name="A" value="b"/></qemu:commandline>'],
  ])('is written again: %s', (_, xml) => {
    expect(renderDomain(read(xml)).replace(/\n\s*/g, '')).toBe(`<domain>${xml}</domain>`);
  });

  it('gives way to the field that is set', () => {
    const [disk] = read('<devices><disk type="later" snapshot="no"/></devices>').devices?.disk ?? [];
    expect(renderDevice('disk', { ...disk, type: 'file' })).toBe('<disk snapshot="no" type="file"/>');
  });

  it('can be looked at', () => {
    expect(read('<title>t</title>')['<title>']).toEqual([{ tag: 'title', attrs: {}, children: [], text: 't' }]);
  });
});

describe('what is not written', () => {
  it('are undefined fields, empty attributes, flags that are off and empty lists', () => {
    const disk = { type: undefined, model: '', readonly: false, source: undefined };
    expect(renderDomain({ devices: { disk: [disk], interface: [] } }).replace(/\n\s*/g, '')).toBe(
      '<domain><devices><disk/></devices></domain>',
    );
  });

  it('is what the compiler overlooked', () => {
    const overlooked = ['a'].map((serial) => ({ serial, spelt: 'wrong' }));
    expect(() => renderDomain({ devices: { disk: overlooked } })).toThrow('<disk> has no field spelt');
  });
});

it('a document that is none of a domain is refused', () => {
  expect(() => readDomain('<network/>', 'the answer')).toThrow('the answer is no domain: it begins with <network>');
});
