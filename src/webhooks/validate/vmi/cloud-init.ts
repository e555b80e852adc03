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

function* dataCauses(data: DataSource, kind: string, at: FieldPath): Causes {
  const { what, base64 } = data;
  if (base64 && !BASE64.test(base64.replace(/[\r\n]/g, ''))) {
    const path = field(at, `${what}DataBase64`);
    yield invalid(path, `${path}.${kind}.${what}DataBase64 is not a valid base64 value.`);
  }
  if (count(data) > 1) {
    const name = what === 'user' ? 'userdatasource' : 'networkdata source';
    yield invalid(at, `${at} must have only one ${name} set.`);
  }
  if (sizeOf(data) > LIMIT_BYTES) {
    const secret = what === 'user' ? 'UserDataSecretRef' : 'NetworkDataSecretRef';
    yield invalid(at, `${at} ${what}data exceeds ${LIMIT_BYTES} byte limit. Should use ${secret} for larger data.`);
  }
}

export function* cloudInitCauses(volume: Volume, at: FieldPath): Causes {
  const kind = volume.cloudInitNoCloud ? 'cloudInitNoCloud' : 'cloudInitConfigDrive';
  const source = volume[kind];
  if (!source) return;
  const path = field(at, kind);
  const data = sourcesOf(source);
  for (const each of data) yield* dataCauses(each, kind, path);
  if (data.every((d) => count(d) === 0)) {
    yield invalid(path, `${path} must have at least one userdatasource or one networkdatasource set.`);
  }
}
