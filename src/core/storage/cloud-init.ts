// The files of a guest's cloud-init ISO, for the NoCloud and ConfigDrive data sources: user data, network data and metadata with the guest's
// identity and SSH keys. The launcher reads the secrets, hands them in, writes the files and runs xorriso.
import type { AccessCredential, CloudInitConfigDriveSource, CloudInitNoCloudSource, VirtualMachineInstance } from '../../api/index.js';
import { KvError } from '../../base/errors.js';
import { guestHostname } from '../network/hostname.js';
import { type CloudInitSource, cloudInitIso } from './paths.js';

/** File name → content. */
export type SecretFiles = Readonly<Record<string, Uint8Array>>;

/** A tagged device that the guest can find by its address; ConfigDrive only. */
export interface TaggedDevice {
  readonly type: 'nic' | 'hostdev';
  readonly bus: string;
  readonly address: string;
  readonly mac?: string;
  readonly serial?: string;
  readonly numaNode?: number;
  readonly alignedCPUs?: readonly number[];
  readonly tags: readonly string[];
}

export interface CloudInitFacts {
  /** Directory below the secrets' mount point → its files; a directory that is not there is absent. See cloudInitSecretDirs. */
  readonly secrets: Readonly<Record<string, SecretFiles>>;
  /** Identity of a guest that has no firmware UUID: a fresh random one. */
  readonly fallbackUuid: string;
  /** Known once the domain is defined. */
  readonly devices?: readonly TaggedDevice[];
}

export interface CloudInitIso {
  readonly source: CloudInitSource;
  /** The volume the data come from. */
  readonly volumeName: string;
  /** Label by which the guest recognises the disk. */
  readonly volumeId: 'cidata' | 'config-2';
  readonly isoPath: string;
  /** Path inside the ISO → content. */
  readonly files: Readonly<Record<string, Uint8Array>>;
}

type Given = CloudInitNoCloudSource & CloudInitConfigDriveSource;

interface CloudInitVolume {
  readonly name: string;
  readonly source: CloudInitSource;
  readonly given: Given;
}

/** Where each part lies inside the ISO. */
export const CLOUD_INIT_LAYOUT = {
  noCloud: { volumeId: 'cidata', user: 'user-data', meta: 'meta-data', network: 'network-config' },
  configDrive: {
    volumeId: 'config-2',
    user: 'openstack/latest/user_data',
    meta: 'openstack/latest/meta_data.json',
    network: 'openstack/latest/network_data.json',
  },
} as const;

const EMPTY = new Uint8Array();
const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Undefined when the VMI has no cloud-init volume. Only its first one counts. */
export function renderCloudInit(vmi: VirtualMachineInstance, facts: CloudInitFacts): CloudInitIso | undefined {
  const volume = cloudInitVolume(vmi);
  if (!volume) return undefined;
  const { namespace = '', name = '' } = vmi.metadata;
  const keys = sshKeys(vmi, volume.source, facts);
  const { user, network } = contents(volume, facts.secrets[volume.name]);
  const layout = CLOUD_INIT_LAYOUT[volume.source];
  const meta = volume.source === 'noCloud' ? noCloudMetadata(vmi, keys, facts) : configDriveMetadata(vmi, keys, facts);
  return {
    source: volume.source,
    volumeName: volume.name,
    volumeId: layout.volumeId,
    isoPath: cloudInitIso(volume.source, namespace, name),
    files: { [layout.user]: user, [layout.meta]: utf8(meta), ...(network.length > 0 ? { [layout.network]: network } : {}) },
  };
}

/** Directories below the secrets' mount point that renderCloudInit looks into. */
export function cloudInitSecretDirs(vmi: VirtualMachineInstance): string[] {
  const volume = cloudInitVolume(vmi);
  if (!volume) return [];
  const own = volume.given.secretRef || volume.given.networkDataSecretRef ? [volume.name] : [];
  return [...own, ...credentialSecrets(vmi, volume.source).map(credentialDir)];
}

function cloudInitVolume({ spec }: VirtualMachineInstance): CloudInitVolume | undefined {
  for (const { name, cloudInitNoCloud, cloudInitConfigDrive } of spec.volumes ?? []) {
    if (cloudInitNoCloud) return { name, source: 'noCloud', given: cloudInitNoCloud };
    if (cloudInitConfigDrive) return { name, source: 'configDrive', given: cloudInitConfigDrive };
  }
  return undefined;
}

interface Contents {
  readonly user: Uint8Array;
  readonly network: Uint8Array;
}

function contents({ name, given }: CloudInitVolume, secret: SecretFiles | undefined): Contents {
  const secretUser = given.secretRef && firstOf(secret, KEYS.secretRef);
  const secretNetwork = given.networkDataSecretRef && firstOf(secret, KEYS.networkDataSecretRef);
  if (given.secretRef && given.networkDataSecretRef && !secretUser && !secretNetwork) {
    throw new KvError('Invalid', `no cloud-init data-source found at volume: ${name}: its secrets hold neither userdata nor networkdata`);
  }
  const user = chosen(secretUser, given.userData, { base64: given.userDataBase64, field: `${name}.userDataBase64` });
  const network = chosen(secretNetwork, given.networkData, { base64: given.networkDataBase64, field: `${name}.networkDataBase64` });
  if (user.length === 0 && network.length === 0) {
    const fields = 'userDataBase64, userData, networkDataBase64 or networkData is required for a cloud-init data source';
    throw new KvError('Invalid', `${fields}: volume ${name} has none, nor do its secrets`);
  }
  return { user, network };
}

const KEYS = { secretRef: ['userdata', 'userData'], networkDataSecretRef: ['networkdata', 'networkData'] } as const;

/** Throws Invalid for a secret that the VMI names and that lacks what it is named for: the guest would start without its network. */
export function requireCloudInitKeys(vmi: VirtualMachineInstance, secrets: CloudInitFacts['secrets']): void {
  const volume = cloudInitVolume(vmi);
  if (!volume) return;
  for (const field of ['secretRef', 'networkDataSecretRef'] as const) {
    const reference = volume.given[field];
    if (!reference || firstOf(secrets[volume.name], KEYS[field])) continue;
    const what = `Secret ${reference.name} (${field} of volume ${volume.name}) has no key ${KEYS[field][0]}`;
    throw new KvError('Invalid', `${what}: add it and restart the VM, as a running pod keeps what it was given of a secret`);
  }
}

const firstOf = (files: SecretFiles | undefined, names: readonly string[]): Uint8Array | undefined =>
  names.map((name) => files?.[name]).find((content) => content !== undefined);

/** Secret before plain text before base64; empty ones do not count. */
function chosen(
  secret: Uint8Array | undefined,
  text: string | undefined,
  encoded: { base64: string | undefined; field: string },
): Uint8Array {
  if (secret && secret.length > 0) return secret;
  if (text) return utf8(text);
  return encoded.base64 ? decodeBase64(encoded.base64, encoded.field) : EMPTY;
}

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

function decodeBase64(text: string, field: string): Uint8Array {
  const joined = text.replace(/[\r\n]/g, '');
  if (!BASE64.test(joined)) throw new KvError('Invalid', `illegal base64 data in volume ${field}: encode the data again, with padding`);
  return Buffer.from(joined, 'base64');
}

const credentialDir = (secretName: string): string => `${secretName}-access-cred`;

/** Secrets whose SSH keys reach the guest through this data source. */
function credentialSecrets({ spec }: VirtualMachineInstance, source: CloudInitSource): string[] {
  return (spec.accessCredentials ?? []).flatMap(({ sshPublicKey }: AccessCredential) => {
    const name = sshPublicKey?.propagationMethod[source] && sshPublicKey.source.secret?.secretName;
    return name ? [name] : [];
  });
}

/** Every file of the secrets is a key (or several lines of them), numbered in order of file names. */
function sshKeys(vmi: VirtualMachineInstance, source: CloudInitSource, { secrets }: CloudInitFacts): string[] {
  return credentialSecrets(vmi, source).flatMap((secretName) => {
    const files = secrets[credentialDir(secretName)];
    if (!files) throw new KvError('NotReady', `access credential secret ${secretName} is not mounted in the pod: check that it exists`);
    return Object.keys(files)
      .filter((name) => !name.startsWith('..'))
      .sort()
      .map((name) => new TextDecoder().decode(files[name]))
      .filter((key) => key !== '');
  });
}

/** Keeps the order of its fields; absent ones are left out. */
type Fields = ReadonlyMap<string, unknown>;

function noCloudMetadata(vmi: VirtualMachineInstance, keys: readonly string[], facts: CloudInitFacts): string {
  return cloudInitJson(
    new Map<string, unknown>([
      ['instance-type', instanceType(vmi)],
      ['instance-id', instanceUuid(vmi, facts)],
      ['local-hostname', guestHostname(vmi) || undefined],
      ['public-keys', numbered(keys)],
    ]),
  );
}

function configDriveMetadata(vmi: VirtualMachineInstance, keys: readonly string[], facts: CloudInitFacts): string {
  return cloudInitJson(
    new Map<string, unknown>([
      ['instance_type', instanceType(vmi)],
      ['instance_id', `${vmi.metadata.name}.${vmi.metadata.namespace}`],
      ['hostname', guestHostname(vmi) || undefined],
      ['uuid', instanceUuid(vmi, facts) || undefined],
      ['devices', facts.devices?.length ? facts.devices.map(deviceFields) : undefined],
      ['public_keys', numbered(keys)],
    ]),
  );
}

/** A cluster-wide instancetype goes before one of the namespace. */
const instanceType = ({ metadata }: VirtualMachineInstance): string | undefined =>
  metadata.annotations?.['kubevirt.io/cluster-instancetype-name'] || metadata.annotations?.['kubevirt.io/instancetype-name'] || undefined;

const instanceUuid = ({ spec }: VirtualMachineInstance, { fallbackUuid }: CloudInitFacts): string =>
  spec.domain.firmware ? (spec.domain.firmware.uuid ?? '') : fallbackUuid;

/** {"0": …, "1": …} with the numbers sorted as text. */
function numbered(keys: readonly string[]): Fields | undefined {
  if (keys.length === 0) return undefined;
  return new Map(keys.map((key, i): [string, string] => [String(i), key]).sort(([a], [b]) => (a < b ? -1 : 1)));
}

const deviceFields = (device: TaggedDevice): Fields =>
  new Map<string, unknown>([
    ['type', device.type],
    ['bus', device.bus],
    ['address', device.address],
    ['mac', device.mac || undefined],
    ['serial', device.serial || undefined],
    ['numaNode', device.numaNode || undefined],
    ['alignedCPUs', device.alignedCPUs?.length ? device.alignedCPUs : undefined],
    ['tags', device.tags],
  ]);

/**
 * Metadata as launchers have always written it, byte for byte: fields in a fixed order, characters that HTML gives a meaning escaped.
 * Guests compare metadata between boots.
 */
export function cloudInitJson(value: unknown): string {
  if (value instanceof Map) {
    const fields = [...(value as Fields)].filter(([, field]) => field !== undefined);
    return `{${fields.map(([key, field]) => `${cloudInitJson(key)}:${cloudInitJson(field)}`).join(',')}}`;
  }
  if (Array.isArray(value)) return `[${value.map(cloudInitJson).join(',')}]`;
  return JSON.stringify(value).replace(/[<>&\u2028\u2029]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
