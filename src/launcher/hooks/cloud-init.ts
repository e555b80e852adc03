// What cloud-init will read, as hooks get it and give it back: one object with the user data, the network data and the metadata of either data
// source; and the older, shorter form beside it. The keys are those of the reference's structure. Pure.
import { KvError } from '../../base/errors.js';
import { CLOUD_INIT_LAYOUT, type CloudInitIso, cloudInitJson } from '../../core/storage/index.js';
import { text } from './text.js';

export interface HookedData {
  readonly cloudInitData: Uint8Array;
  readonly cloudInitNoCloudSource: Uint8Array;
}

interface Data {
  readonly DataSource?: string;
  readonly NoCloudMetaData?: object | null;
  readonly ConfigDriveMetaData?: object | null;
  readonly UserData?: string;
  readonly NetworkData?: string;
}

interface Source {
  readonly userData?: string;
  readonly networkData?: string;
}

const decode = (bytes: Uint8Array | undefined): string => new TextDecoder().decode(bytes ?? new Uint8Array());
const encode = (value: string): Uint8Array => new TextEncoder().encode(value);
const given = <T extends object>(record: T): T =>
  Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined && value !== '')) as T;

export function cloudInitForHooks({ source, volumeName, files }: CloudInitIso): HookedData {
  const { user, network, meta } = CLOUD_INIT_LAYOUT[source];
  const metadata = JSON.parse(decode(files[meta])) as object;
  const [userData, networkData] = [decode(files[user]), decode(files[network])];
  const data = {
    DataSource: source,
    NoCloudMetaData: source === 'noCloud' ? metadata : null,
    ConfigDriveMetaData: source === 'configDrive' ? metadata : null,
    UserData: userData,
    NetworkData: networkData,
    DevicesData: null,
    VolumeName: volumeName,
  };
  return {
    cloudInitData: encode(JSON.stringify(data)),
    cloudInitNoCloudSource: encode(JSON.stringify(given({ userData, networkData }))),
  };
}

function parse<T>(bytes: Uint8Array): T | undefined {
  const json = decode(bytes).trim();
  if (json === '') return undefined;
  try {
    const value: unknown = JSON.parse(json);
    if (typeof value === 'object' && value !== null) return value as T;
  } catch (cause) {
    throw new KvError('Invalid', text.notCloudInit, { cause });
  }
  throw new KvError('Invalid', text.notCloudInit);
}

/** The ISO with what a hook made of its data. Data without users' data or metadata do not count: such a hook knows the older form only. */
export function cloudInitOfHook(answer: HookedData, before: CloudInitIso): CloudInitIso {
  const data = parse<Data>(answer.cloudInitData);
  const metadata = data?.NoCloudMetaData ?? data?.ConfigDriveMetaData;
  if (data?.UserData && metadata) return withData(before, data, metadata);
  const source = parse<Source>(answer.cloudInitNoCloudSource);
  if (source === undefined) throw new KvError('Invalid', text.noCloudInit);
  return withData(before, given({ UserData: source.userData ?? '', NetworkData: source.networkData ?? '' }));
}

function withData(before: CloudInitIso, { DataSource, UserData, NetworkData }: Data, metadata?: object): CloudInitIso {
  if (DataSource && DataSource !== before.source) throw new KvError('Invalid', text.changedSource(before.source, DataSource));
  const { user, network, meta } = CLOUD_INIT_LAYOUT[before.source];
  const files = {
    ...before.files,
    [user]: contentOf(UserData, before.files[user]) ?? new Uint8Array(),
    ...(metadata && !isSame(metadata, before.files[meta]) ? { [meta]: encode(cloudInitJson(new Map(Object.entries(metadata)))) } : {}),
  };
  const networkData = contentOf(NetworkData, before.files[network]);
  if (networkData) return { ...before, files: { ...files, [network]: networkData } };
  return { ...before, files: Object.fromEntries(Object.entries(files).filter(([path]) => path !== network)) };
}

const isSame = (metadata: object, before: Uint8Array | undefined): boolean =>
  JSON.stringify(metadata) === JSON.stringify(JSON.parse(decode(before)));

/** Content that the hook left alone keeps its bytes: they need not be text. */
function contentOf(value: string | undefined, before: Uint8Array | undefined): Uint8Array | undefined {
  if (!value) return undefined;
  return before !== undefined && decode(before) === value ? before : encode(value);
}
