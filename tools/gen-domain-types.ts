// Writes src/core/plugins/generated/domain-types.ts: by which names CEL expressions of Plugins know the parts of a domain, and where these stand in
// its XML. The names are those of libvirt's Go module libvirtxml, whose structures KubeVirt shows to expressions; they are read off its tags and off
// what it writes. Run by hand with another version of the module: `tsx tools/gen-domain-types.ts v1.12002.0`.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const MODULE = 'libvirt.org/go/libvirtxml';
const OUTPUT = resolve(import.meta.dirname, '../src/core/plugins/generated/domain-types.ts');
const QEMU = 'http://libvirt.org/schemas/domain/qemu/1.0 ';

interface GoField {
  readonly name: string;
  readonly type: string;
  readonly tag: string | undefined;
}

function sourceOf(version: string): string {
  const told = execFileSync('go', ['mod', 'download', '-json', `${MODULE}@${version}`], { cwd: '/', encoding: 'utf8' });
  const { Dir } = JSON.parse(told) as { Dir: string };
  return ['domain.go', 'storage_encryption.go', 'domain_snapshot.go'].map((file) => readFileSync(join(Dir, file), 'utf8')).join('\n');
}

function fieldOf(line: string): GoField[] {
  const [, name, type, tag] = /^\t(\w+)\s+([\w.*[\]{}]+)(?:\s+`xml:"([^"]*)"`)?/.exec(line) ?? [];
  if (name !== undefined && type !== undefined) return [{ name, type, tag }];
  const [, embedded] = /^\t(\w+)$/.exec(line) ?? [];
  return embedded === undefined ? [] : [{ name: '', type: embedded, tag: undefined }];
}

function structsOf(source: string): Map<string, GoField[]> {
  const structs = new Map<string, GoField[]>();
  for (const [, name = '', body = ''] of source.matchAll(/^type ([A-Z]\w+) struct \{\n([\s\S]*?)^\}/gm)) {
    structs.set(name, body.split('\n').flatMap(fieldOf));
  }
  for (const [, name = '', same = ''] of source.matchAll(/^type ([A-Z]\w+) ([A-Z]\w+)$/gm)) structs.set(name, structs.get(same) ?? []);
  return structs;
}

/** Type → the text of the function that writes it. */
function writersOf(source: string): Map<string, string> {
  const functions = source.matchAll(/^func \(a \*(\w+)\) MarshalXML\([\s\S]*?\n\}/gm);
  return new Map([...functions].map(([body, name = '']) => [name, body]));
}

const ATTRIBUTE = /xml\.Name\{Local: "(\w+)"\},\s+"([^"]+)"/g;

/** What a writer sets beside each variant: `type=file`. */
function marksIn(body: string, owner: string): Map<string, string> {
  const marks = new Map<string, string>();
  const pieces = body.split(new RegExp(`if ${owner}\\.(\\w+) != nil`)).slice(1);
  for (let i = 0; i < pieces.length; i += 2) {
    const set = [...((pieces[i + 1] ?? '').split(/\} else \{|\n\t\}\n/)[0]?.matchAll(ATTRIBUTE) ?? [])].map(
      ([, name, value]) => `${name}=${value}`,
    );
    if (set.length > 0) marks.set(pieces[i] ?? '', set.join('&'));
  }
  for (const [, value = '', field = ''] of body.matchAll(/a\.Type == "([\w-]+)" \{[\s\S]*?if a\.(\w+) != nil/g))
    marks.set(field, `type=${value}`);
  return marks;
}

const isOfSource = (type: string): boolean => /Source|Params$/.test(type);

/** Type → variant → where its mark is: `.` on the element itself, `<` on the one around it. */
function variantsOf(source: string, structs: Map<string, GoField[]>): Map<string, Map<string, string>> {
  const variants = new Map<string, Map<string, string>>();
  const note = (type: string, marks: Map<string, string>, at: string): void => {
    const known = variants.get(type) ?? new Map<string, string>();
    for (const [variant, mark] of marks) if (!known.has(variant)) known.set(variant, `${at}${mark}`);
    variants.set(type, known);
  };
  for (const [type, body] of writersOf(source)) {
    note(type, marksIn(body, 'a'), '.');
    for (const holder of ['Source', 'Params']) {
      const inner =
        structs
          .get(type)
          ?.find(({ name }) => name === holder)
          ?.type.replace('*', '') ?? '';
      if (isOfSource(inner)) note(inner, marksIn(body, `a\\.${holder}`), '<');
    }
  }
  const characters = /func getChardevSourceType[\s\S]*?\n\}/.exec(source)?.[0] ?? '';
  const kinds = new Map(
    [...characters.matchAll(/s\.(\w+) != nil \{\s+return "([\w-]+)"/g)].map(([, name = '', type]) => [name, `type=${type}`]),
  );
  note('DomainChardevSource', kinds, '<');
  for (const type of ['DomainDiskReservationsSource', 'DomainDiskSourceVHostUser', 'DomainTPMBackendExternalSource'])
    note(type, kinds, '.');
  return variants;
}

/** Fields that are written in hexadecimal, with how many digits. */
function hexOf(writer: string | undefined): Map<string, number> {
  const attributes = (writer ?? '').matchAll(/a\.(?<name>\w+),? "0x%(?:0(?<digits>\d))?x"/g);
  const elements = (writer ?? '').matchAll(/"0x%(?:0(?<digits>\d))?x", \*a\.(?<name>\w+)/g);
  return new Map([...attributes, ...elements].map(({ groups }) => [groups?.name ?? '', Number(groups?.digits ?? 1)]));
}

const SCALARS: Readonly<Record<string, string>> = { string: '', uint: 'u', uint64: 'u', int: 'i', int64: 'i' };

/** Fields that the module writes without a tag to read. */
const UNTAGGED: Readonly<Record<string, string>> = {
  'DomainControllerPCITarget.NUMANode': '=u:node',
  'DomainControllerPCITarget.Hotplug': '@:hotplug',
  'DomainDeviceList.IOMMU': '>DomainIOMMU:iommu',
  'DomainDiskSource.NVME': '^DomainDiskSourceNVME:<type=nvme',
  'DomainDiskSourceNVME.PCI': '^DomainDiskSourceNVMEPCI:.type=pci',
  'DomainHostdevSubsysSCSISource.Host': '^DomainHostdevSubsysSCSISourceHost:',
  'DomainInputSource.Passthrough': '^DomainInputSourcePassthrough:<type=passthrough',
  'DomainInputSource.EVDev': '^DomainInputSourceEVDev:<type=evdev',
  'DomainInterfaceSourceVHostUser.Dev': '@:dev',
  'DomainInterfaceVirtualPortParams.Any': '^DomainInterfaceVirtualPortParamsAny:',
  'DomainSmartcard.Host': '^DomainSmartcardHost:.mode=host',
  // The module writes another name than its tag says.
  'DomainLaunchSecuritySEV.Session': '=:session',
};
/** What the module writes in ways of its own, and no domain of ours has: left out. */
const LEFT_OUT = ['DomainInterfaceSourceHostdev.PCI', 'DomainInterfaceSourceHostdev.USB', 'DomainMetadata.XML'];

interface Reader {
  readonly structs: Map<string, GoField[]>;
  readonly variants: Map<string, Map<string, string>>;
  readonly writers: Map<string, string>;
}

/** `name:place` as src/core/plugins/domain-schema.ts reads it; nothing for what has no place in a domain of QEMU. */
function described({ structs, variants, writers }: Reader, owner: string, { name, type, tag }: GoField): string[] {
  const bare = type.replace(/[*[\]]/g, '');
  const fixed = UNTAGGED[`${owner}.${name}`];
  if (fixed !== undefined) return [`${name}:${fixed}`];
  if (LEFT_OUT.includes(`${owner}.${name}`)) return [];
  if (name === '') return (structs.get(bare) ?? []).flatMap((field) => described({ structs, variants, writers }, bare, field));
  if (type === 'xml.Name') return [];
  const mark = variants.get(owner)?.get(name);
  if ((tag === undefined || tag === '-') && mark !== undefined && structs.has(bare)) return [`${name}:^${bare}:${mark}`];
  const place = placeOf(structs, { name, type, tag: spaced(owner, tag) }, hexOf(writers.get(owner)).get(name));
  return place === undefined ? [] : [`${name}:${place}`];
}

/** Within an element of QEMU's own name space everything is of it. */
const spaced = (owner: string, tag: string | undefined): string | undefined =>
  owner.startsWith('DomainQEMU') && tag !== undefined && !/^,|,attr|^http/.test(tag) ? `${QEMU}${tag}` : tag;

function placeOf(structs: Map<string, GoField[]>, { name, type, tag }: GoField, digits: number | undefined): string | undefined {
  const bare = type.replace(/[*[\]]/g, '');
  const scalar = SCALARS[bare];
  if (scalar !== undefined) return scalarPlace({ name, type, tag }, `${scalar}${digits === undefined ? '' : `x${digits}`}`);
  const [path = ''] = (tag ?? structs.get(bare)?.find((field) => field.type === 'xml.Name')?.tag ?? '').split(',');
  const xml = path.startsWith(QEMU) ? `qemu:${path.slice(QEMU.length)}` : path;
  if (!structs.has(bare) || xml === '' || xml.includes(' ')) return undefined;
  return `${type.startsWith('[]') ? '*' : '>'}${bare}:${xml}`;
}

/** Without a tag the module writes attributes of its own making. */
function scalarPlace({ name, type, tag }: GoField, kind: string): string | undefined {
  const [xml = '', ...flags] = (tag ?? `${decapitalised(name)},attr`).split(',');
  if (flags.includes('chardata') || flags.includes('cdata')) return `#${kind}`;
  if (type.startsWith('[]')) return `%${kind}:${xml}`;
  return xml === '-' ? undefined : `${flags.includes('attr') ? '@' : '='}${kind}:${xml}`;
}

const decapitalised = (name: string): string => `${name.charAt(0).toLowerCase()}${name.slice(1)}`;

function reachable(reader: Reader): Map<string, string> {
  const lines = new Map<string, string>();
  const waiting = ['Domain'];
  for (let type = waiting.pop(); type !== undefined; type = waiting.pop()) {
    if (lines.has(type)) continue;
    const parts = (reader.structs.get(type) ?? []).flatMap((field) => described(reader, type, field));
    lines.set(type, parts.join(' '));
    waiting.push(...parts.flatMap((part) => /:[*>^](\w+)/.exec(part)?.[1] ?? []));
  }
  return lines;
}

const source = sourceOf(process.argv[2] ?? 'v1.12002.0');
const structs = structsOf(source);
const lines = reachable({ structs, variants: variantsOf(source, structs), writers: writersOf(source) });
const rows = [...lines].sort(([a], [b]) => (a < b ? -1 : 1)).map(([type, fields]) => `${type} ${fields}`.trim());
const header = `// Generated by tools/gen-domain-types.ts from the names and tags of ${MODULE}; run that instead of editing.`;
writeFileSync(OUTPUT, `${header}\nexport const DOMAIN_TYPES = \`\n${rows.join('\n')}\n\`;\n`);
console.log(`${rows.length} types in ${OUTPUT}`);
