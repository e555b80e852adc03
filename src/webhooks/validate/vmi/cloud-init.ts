// The two cloud-init volumes: one user-data and one network-data source at most, at least one of them, within the size that an object
// spread to every node may carry. Pure.

import { type FieldPath, field } from '../../../api/field-path.js';
import type { CloudInitNoCloudSource, Volume } from '../../../api/index.js';
import { type Causes, invalid } from '../rule.js';

const LIMIT_BYTES = 2048;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

interface DataSource {
  readonly what: 'user' | 'network';
  readonly secret: string | undefined;
  readonly base64: string | undefined;
  readonly plain: string | undefined;
}

const sourcesOf = (source: CloudInitNoCloudSource): readonly DataSource[] => [
  { what: 'user', secret: source.secretRef?.name, base64: source.userDataBase64, plain: source.userData },
  { what: 'network', secret: source.networkDataSecretRef?.name, base64: source.networkDataBase64, plain: source.networkData },
];

const count = ({ secret, base64, plain }: DataSource): number => [secret, base64, plain].filter(Boolean).length;

function sizeOf({ base64, plain }: DataSource): number {
  return plain ? Buffer.byteLength(plain) : Buffer.from(base64 ?? '', 'base64').length;
}

function* dataCauses(data: DataSource, at: FieldPath): Causes {
  const { what, base64 } = data;
  if (base64 && !BASE64.test(base64.replace(/[\r\n]/g, ''))) {
    const path = field(at, `${what}DataBase64`);
    yield invalid(path, `${path} is not valid base64: encode the data, or give it as ${what}Data`);
  }
  if (count(data) > 1) {
    yield invalid(at, `${at} has several sources of ${what} data: keep one of ${what}Data, ${what}DataBase64 and the secret`);
  }
  if (sizeOf(data) > LIMIT_BYTES) {
    const secret = what === 'user' ? 'secretRef' : 'networkDataSecretRef';
    yield invalid(at, `${at} ${what} data exceeds the ${LIMIT_BYTES} byte limit: put larger data into a Secret and name it in ${secret}`);
  }
}

export function* cloudInitCauses(volume: Volume, at: FieldPath): Causes {
  const kind = volume.cloudInitNoCloud ? 'cloudInitNoCloud' : 'cloudInitConfigDrive';
  const source = volume[kind];
  if (!source) return;
  const path = field(at, kind);
  const data = sourcesOf(source);
  for (const each of data) yield* dataCauses(each, path);
  if (data.every((d) => count(d) === 0)) {
    yield invalid(path, `${path} is empty: give it user data or network data`);
  }
}
