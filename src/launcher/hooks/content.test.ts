// Domains and cloud-init data on their way to a hook and back.
import { describe, expect, it } from 'vitest';
import { guest } from '../../../test/builders/domain.js';
import { planDeviceChanges, readDomain } from '../../core/converter/index.js';
import { type CloudInitIso, renderCloudInit } from '../../core/storage/index.js';
import { cloudInitForHooks, cloudInitOfHook } from './cloud-init.js';
import { domainForHooks, domainOfHook } from './domain-xml.js';
import { withoutUndoing } from './undoing.js';

const UUID = '5d307ca9-b3ef-428c-8861-06e72d69f223';
const domain = readDomain(
  `<domain type='kvm'><name>ns_vm</name><sysinfo type='smbios'><system><entry name='uuid'>${UUID}</entry></system></sysinfo><devices/></domain>`,
);

describe('a domain', () => {
  it('is given as scripts know it: nothing closed at once, all tables there', () => {
    expect(domainForHooks(domain)).toBe(`<domain type="kvm">
  <name>ns_vm</name>
  <sysinfo type="smbios">
    <system>
      <entry name="uuid">${UUID}</entry>
    </system>
    <bios></bios>
    <baseBoard></baseBoard>
    <chassis></chassis>
  </sysinfo>
  <devices></devices>
</domain>`);
  });

  it.each([
    [
      'in one line, after a declaration',
      `<?xml version="1.0"?>\n<domain><name>ns_vm</name><uuid>${UUID.toUpperCase()}</uuid><x/></domain>\n`,
    ],
    ['with a comment and CDATA', `<!-- c --><domain><name><![CDATA[ns_vm]]></name><uuid>${UUID}</uuid></domain>`],
  ])('comes back %s', (_, answer) => {
    expect(domainOfHook(answer, domain)).toMatchObject({ xml: answer.trim(), domain: { name: 'ns_vm' } });
  });

  it.each<[string, string, string]>([
    ['nothing', ' \n', 'it gave back no domain'],
    ['chatter before it', `changing…\n${domainForHooks(domain)}`, 'begins with "changing…'],
    ['something else', '<network/>', 'begins with "<network/>"'],
    ['an element beside it', `<domains></domains>`, 'begins with "<domains>'],
    ['half of it', '<domain><name>ns_vm</name>', 'the XML that it gave back cannot be read'],
    ['crossed tags', '<domain><name>ns_vm</domain></name>', 'the XML that it gave back cannot be read: it ends <name> by </domain>'],
    ['another name', `<domain><name>x</name><uuid>${UUID}</uuid></domain>`, 'changed the name of the domain from ns_vm to x'],
    ['no UUID', '<domain><name>ns_vm</name></domain>', `changed the UUID of the domain from ${UUID} to nothing`],
  ])('is refused: %s', (_, answer, message) => {
    expect(() => domainOfHook(answer, domain)).toThrow(message);
  });
});

const text = (bytes: Uint8Array | undefined): string => new TextDecoder().decode(bytes);
const bytes = (value: unknown): Uint8Array => new TextEncoder().encode(typeof value === 'string' ? value : JSON.stringify(value));
const NOTHING = new Uint8Array();

function isoOf(volume: object): CloudInitIso {
  const iso = renderCloudInit(guest({ spec: { volumes: [{ name: 'ci', ...volume }] } }), { secrets: {}, fallbackUuid: UUID });
  if (!iso) throw new Error('no cloud-init volume');
  return iso;
}
const noCloud = isoOf({ cloudInitNoCloud: { userData: 'u', networkData: 'n' } });
const META = { 'instance-id': UUID, 'local-hostname': 'vm' };

describe('cloud-init data', () => {
  it('are given in both forms', () => {
    const { cloudInitData, cloudInitNoCloudSource } = cloudInitForHooks(noCloud);
    expect(JSON.parse(text(cloudInitData))).toEqual({
      DataSource: 'noCloud',
      NoCloudMetaData: META,
      ConfigDriveMetaData: null,
      UserData: 'u',
      NetworkData: 'n',
      DevicesData: null,
      VolumeName: 'ci',
    });
    expect(JSON.parse(text(cloudInitNoCloudSource))).toEqual({ userData: 'u', networkData: 'n' });
  });

  it.each<[string, unknown, unknown, Record<string, string>]>([
    [
      'the whole data',
      { DataSource: 'noCloud', NoCloudMetaData: { ...META, 'local-hostname': 'a<b' }, UserData: 'U', NetworkData: 'n' },
      '',
      { 'user-data': 'U', 'meta-data': `{"instance-id":"${UUID}","local-hostname":"a\\u003cb"}`, 'network-config': 'n' },
    ],
    ['no network data any more', { NoCloudMetaData: META, UserData: 'u' }, '', { 'user-data': 'u', 'meta-data': JSON.stringify(META) }],
    [
      'the older form',
      '',
      { userData: 'U', networkData: 'N' },
      { 'user-data': 'U', 'meta-data': JSON.stringify(META), 'network-config': 'N' },
    ],
    [
      'data without metadata and the older form',
      { UserData: 'x' },
      { userData: 'U' },
      { 'user-data': 'U', 'meta-data': JSON.stringify(META) },
    ],
  ])('come back as %s', (_, data, source, expected) => {
    const { files, isoPath } = cloudInitOfHook({ cloudInitData: bytes(data), cloudInitNoCloudSource: bytes(source) }, noCloud);
    expect(Object.fromEntries(Object.entries(files).map(([path, content]) => [path, text(content)]))).toEqual(expected);
    expect(isoPath).toBe(noCloud.isoPath);
  });

  it('keep their bytes when a hook leaves them alone', () => {
    const iso = isoOf({ cloudInitConfigDrive: { userDataBase64: 'H4sIAP8=' } });
    expect(cloudInitOfHook(cloudInitForHooks(iso), iso)).toEqual(iso);
  });

  it.each<[string, unknown, unknown, string]>([
    ['nothing', '', '', 'it gave back no cloud-init data'],
    ['no JSON', '#cloud-config', '', 'is no JSON of cloud-init data'],
    ['no object', '3', '', 'is no JSON of cloud-init data'],
    ['another data source', { DataSource: 'configDrive', ConfigDriveMetaData: {}, UserData: 'u' }, '', 'from noCloud to configDrive'],
  ])('are refused: %s', (_, data, source, message) => {
    const answer = { cloudInitData: data === '' ? NOTHING : bytes(data), cloudInitNoCloudSource: source === '' ? NOTHING : bytes(source) };
    expect(() => cloudInitOfHook(answer, noCloud)).toThrow(message);
  });
});

describe('later synchronisations', () => {
  const HP = '/var/run/kubevirt/hotplug-disks';
  const nic = (name: string, state = 'up'): string =>
    `<interface type='ethernet'><target dev='tap-${name}'/><link state='${state}'/><alias name='ua-${name}'/></interface>`;
  const disk = (name: string, path: string): string =>
    `<disk type='file' device='disk'><source file='${path}'/><target dev='x' bus='virtio'/><alias name='ua-${name}'/></disk>`;
  const tree = (devices: string) => readDomain(`<domain><devices>${devices}</devices></domain>`);
  const vmi = guest({});
  const short = (wanted: string, live: string, given: string, made: string): string[] => {
    const undoings = planDeviceChanges(vmi, tree(given), tree(made));
    return withoutUndoing(planDeviceChanges(vmi, tree(wanted), tree(live)), undoings).map(({ kind, name }) => `${kind} ${name}`);
  };
  const a = nic('a');
  it.each<[string, string, string, string, string, string[]]>([
    ['leave an interface out that a hook took away', a, '', a, '', []],
    ['leave a link down that a hook pulled', a, nic('a', 'down'), a, nic('a', 'down'), []],
    ['bring what is new', a + nic('b'), '', a, '', ['attach b']],
    [
      'leave a disk alone that a hook exchanged',
      disk('d', `${HP}/1`),
      disk('d', `${HP}/2`),
      disk('d', `${HP}/1`),
      disk('d', `${HP}/2`),
      [],
    ],
    ['unplug a disk that a hook exchanged', '', disk('d', `${HP}/2`), disk('d', `${HP}/1`), disk('d', `${HP}/2`), ['detach d']],
    ['leave a disk that a hook added', '', disk('d', `${HP}/2`), '', disk('d', `${HP}/2`), []],
    ['do all where no hook did anything', a, '', a, a, ['attach a']],
  ])('%s', (_, wanted, live, given, made, expected) => {
    expect(short(wanted, live, given, made)).toEqual(expected);
  });
});
