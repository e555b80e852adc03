import { describe, expect, it } from 'vitest';
import { guest } from '../../../test/builders/domain.js';
import type { AccessCredential, VirtualMachineInstance, Volume } from '../../api/index.js';
import { type CloudInitFacts, cloudInitSecretDirs, renderCloudInit, requireCloudInitKeys, type SecretFiles } from './cloud-init.js';

const UUID = '00000000-0000-4000-8000-000000000000';
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const facts = (secrets: Record<string, Record<string, string>> = {}, more: Partial<CloudInitFacts> = {}): CloudInitFacts => ({
  fallbackUuid: UUID,
  secrets: Object.fromEntries(
    Object.entries(secrets).map(([dir, files]) => [
      dir,
      Object.fromEntries(Object.entries(files).map(([name, text]) => [name, bytes(text)])),
    ]),
  ),
  ...more,
});

const withVolume = (volume: Omit<Volume, 'name'>, more: Parameters<typeof guest>[0] = {}) =>
  guest({ ...more, spec: { ...more.spec, volumes: [{ name: 'ci', ...volume }] } });

const filesOf = (vmi: ReturnType<typeof guest>, given: CloudInitFacts = facts()): Record<string, string> =>
  Object.fromEntries(
    Object.entries(renderCloudInit(vmi, given)?.files ?? {}).map(([path, content]) => [path, new TextDecoder().decode(content)]),
  );

const META = '{"instance-id":"5d307ca9-b3ef-428c-8861-06e72d69f223","local-hostname":"vm"}';

describe('data sources', () => {
  it('NoCloud', () => {
    const vmi = withVolume({ cloudInitNoCloud: { userData: '#cloud-config', networkData: 'version: 2' } });
    expect(renderCloudInit(vmi, facts())).toMatchObject({
      source: 'noCloud',
      volumeName: 'ci',
      volumeId: 'cidata',
      isoPath: '/var/run/kubevirt-ephemeral-disks/cloud-init-data/default/vm/noCloud.iso',
    });
    expect(filesOf(vmi)).toEqual({ 'user-data': '#cloud-config', 'meta-data': META, 'network-config': 'version: 2' });
  });

  it('ConfigDrive', () => {
    const vmi = withVolume({ cloudInitConfigDrive: { userData: 'x' } });
    expect(renderCloudInit(vmi, facts())).toMatchObject({
      source: 'configDrive',
      volumeId: 'config-2',
      isoPath: '/var/run/kubevirt-ephemeral-disks/cloud-init-data/default/vm/configdrive.iso',
    });
    expect(filesOf(vmi)).toEqual({
      'openstack/latest/user_data': 'x',
      'openstack/latest/meta_data.json': '{"instance_id":"vm.default","hostname":"vm","uuid":"5d307ca9-b3ef-428c-8861-06e72d69f223"}',
    });
  });

  it('none', () => {
    expect(renderCloudInit(guest(), facts())).toBeUndefined();
  });

  it('only the first counts', () => {
    const volumes = [
      { name: 'a', cloudInitConfigDrive: { userData: 'a' } },
      { name: 'b', cloudInitNoCloud: { userData: 'b' } },
    ];
    expect(renderCloudInit(guest({ spec: { volumes } }), facts())?.volumeName).toBe('a');
  });
});

describe('user and network data', () => {
  const ref = { name: 's' };
  it.each<[string, NonNullable<Volume['cloudInitNoCloud']>, CloudInitFacts, string, string | undefined]>([
    ['base64', { userDataBase64: 'IyEvYmlu\nL3NoCg==' }, facts(), '#!/bin/sh\n', undefined],
    ['text before base64', { userData: 'text', userDataBase64: 'IyE=' }, facts(), 'text', undefined],
    ['network only', { networkDataBase64: 'dmVyc2lvbjogMQo=' }, facts(), '', 'version: 1\n'],
    ['a secret', { secretRef: ref }, facts({ ci: { userdata: 'secret' } }), 'secret', undefined],
    ['a secret with the other spelling', { secretRef: ref }, facts({ ci: { userData: 'secret' } }), 'secret', undefined],
    ['a secret before text', { secretRef: ref, userData: 'text' }, facts({ ci: { userdata: 'secret' } }), 'secret', undefined],
    ['text where the secret is empty', { secretRef: ref, userData: 'text' }, facts({ ci: { userdata: '' } }), 'text', undefined],
    ['text where the secret is missing', { networkDataSecretRef: ref, userData: 'text' }, facts(), 'text', undefined],
    ['both from secrets', { secretRef: ref, networkDataSecretRef: ref }, facts({ ci: { userdata: 'u', networkData: 'n' } }), 'u', 'n'],
    ['a secret nobody refers to', { userData: 'text' }, facts({ ci: { userdata: 'secret' } }), 'text', undefined],
  ])('%s', (_title, cloudInitNoCloud, given, user, network) => {
    const files = filesOf(withVolume({ cloudInitNoCloud }), given);
    expect(files['user-data']).toBe(user);
    expect(files['network-config']).toBe(network);
  });

  it('keeps bytes that are no text', () => {
    const files = renderCloudInit(withVolume({ cloudInitNoCloud: { userDataBase64: 'H4sIAP8=' } }), facts())?.files;
    expect([...(files?.['user-data'] ?? [])]).toEqual([0x1f, 0x8b, 0x08, 0x00, 0xff]);
  });

  it.each<[string, NonNullable<Volume['cloudInitNoCloud']>, string]>([
    ['nothing', {}, 'is required for a cloud-init data source'],
    ['only a missing secret', { secretRef: ref }, 'is required for a cloud-init data source'],
    ['two missing secrets', { secretRef: ref, networkDataSecretRef: ref, userData: 'x' }, 'no cloud-init data-source found at volume: ci'],
    ['broken base64', { userData: 'x', networkDataBase64: '!' }, 'illegal base64 data in volume ci.networkDataBase64'],
    ['base64 without padding', { userDataBase64: 'IyE' }, 'illegal base64 data in volume ci.userDataBase64'],
  ])('refuses %s', (_title, cloudInitNoCloud, message) => {
    expect(() => renderCloudInit(withVolume({ cloudInitNoCloud }), facts())).toThrow(message);
  });
});

describe('identity', () => {
  const metaOf = (more: Parameters<typeof guest>[0]): string | undefined =>
    filesOf(withVolume({ cloudInitNoCloud: { userData: 'x' } }, more))['meta-data'];

  it.each<[string, Parameters<typeof guest>[0], string]>([
    [
      'host name of the VMI',
      { spec: { hostname: 'web' } },
      '{"instance-id":"5d307ca9-b3ef-428c-8861-06e72d69f223","local-hostname":"web"}',
    ],
    ['no firmware', { domain: { firmware: undefined as never } }, `{"instance-id":"${UUID}","local-hostname":"vm"}`],
    [
      'instance type',
      { annotations: { 'kubevirt.io/instancetype-name': 'small' } },
      '{"instance-type":"small","instance-id":"5d307ca9-b3ef-428c-8861-06e72d69f223","local-hostname":"vm"}',
    ],
    [
      'cluster instance type first',
      { annotations: { 'kubevirt.io/instancetype-name': 'small', 'kubevirt.io/cluster-instancetype-name': 'u1' } },
      '{"instance-type":"u1","instance-id":"5d307ca9-b3ef-428c-8861-06e72d69f223","local-hostname":"vm"}',
    ],
  ])('%s', (_title, more, want) => {
    expect(metaOf(more)).toBe(want);
  });

  it('names tagged devices to ConfigDrive', () => {
    const devices = [{ type: 'nic', bus: 'pci', address: '0000:01:00.0', mac: '02:00:00:00:00:01', tags: ['fast'] }] as const;
    const files = filesOf(withVolume({ cloudInitConfigDrive: { userData: 'x' } }), facts({}, { devices }));
    expect(files['openstack/latest/meta_data.json']).toContain(
      '"devices":[{"type":"nic","bus":"pci","address":"0000:01:00.0","mac":"02:00:00:00:00:01","tags":["fast"]}]',
    );
  });
});

describe('SSH keys', () => {
  const credential = (secretName: string, method: string): AccessCredential => ({
    sshPublicKey: { source: { secret: { secretName } }, propagationMethod: { [method]: {} } },
  });
  const vmi = (...accessCredentials: AccessCredential[]) =>
    withVolume({ cloudInitNoCloud: { userData: 'x' } }, { spec: { accessCredentials } });
  const keysOf = (vmiGiven: ReturnType<typeof guest>, given: CloudInitFacts): unknown =>
    JSON.parse(filesOf(vmiGiven, given)['meta-data'] ?? '')['public-keys'];

  it('are numbered over all secrets, by file name', () => {
    const secrets = { 'a-access-cred': { k2: 'two', k1: 'one', '..data': 'x', empty: '' }, 'b-access-cred': { k: 'three' } };
    expect(keysOf(vmi(credential('a', 'noCloud'), credential('b', 'noCloud')), facts(secrets))).toEqual({ 0: 'one', 1: 'two', 2: 'three' });
  });

  it('of another data source stay out', () => {
    expect(keysOf(vmi(credential('a', 'configDrive')), facts())).toBeUndefined();
  });

  it('with markup are escaped', () => {
    const files = filesOf(vmi(credential('a', 'noCloud')), facts({ 'a-access-cred': { k: 'ssh-rsa A <me>&' } }));
    expect(files['meta-data']).toContain('"ssh-rsa A \\u003cme\\u003e\\u0026"');
  });

  it('wait for their secret', () => {
    expect(() => renderCloudInit(vmi(credential('a', 'noCloud')), facts())).toThrow('access credential secret a is not mounted');
  });

  it('tell which directories are needed', () => {
    const volume = { cloudInitNoCloud: { secretRef: { name: 's' } } };
    const all = withVolume(volume, { spec: { accessCredentials: [credential('a', 'noCloud'), credential('b', 'configDrive')] } });
    expect(cloudInitSecretDirs(all)).toEqual(['ci', 'a-access-cred']);
    expect(cloudInitSecretDirs(guest())).toEqual([]);
  });
});

describe('requireCloudInitKeys', () => {
  const seeded = (source: object): VirtualMachineInstance => ({
    metadata: { name: 'vm' },
    spec: { domain: { devices: {} }, volumes: [{ name: 'seed', cloudInitNoCloud: source }] },
  });
  const both = seeded({ secretRef: { name: 'user' }, networkDataSecretRef: { name: 'net' } });
  const content = new Uint8Array([1]);
  it.each<[string, VirtualMachineInstance, SecretFiles, RegExp | undefined]>([
    ['all there, in either spelling', both, { userData: content, networkdata: content }, undefined],
    [
      'no network data',
      both,
      { userdata: content },
      /Secret net \(networkDataSecretRef of volume seed\) has no key networkdata: add it and/,
    ],
    ['no user data', both, { networkdata: content }, /Secret user \(secretRef of volume seed\) has no key userdata/],
    ['no secret asked for', seeded({ userData: 'x' }), {}, undefined],
  ])('%s', (_, vmi, files, message) => {
    const check = (): void => requireCloudInitKeys(vmi, { seed: files });
    if (message) expect(check).toThrow(message);
    else expect(check).not.toThrow();
  });
});
