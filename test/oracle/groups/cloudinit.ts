// Group cloudinit: VMI and secret files → data source, volume label and files of the ISO.
import type { VirtualMachineInstance } from '../../../src/api/index.js';
import { renderCloudInit, type SecretFiles } from '../../../src/core/storage/cloud-init.js';
import { CLOUD_INIT_DIR } from '../../../src/core/storage/paths.js';
import type { OracleCase } from '../oracle-case.js';

type Texts = Readonly<Record<string, string>>;

/** What the recording put in place of random UUIDs. */
const RECORDED_UUID = '00000000-0000-4000-8000-000000000000';

export function answer(testCase: OracleCase): unknown {
  const given = (testCase.params?.secrets ?? {}) as Readonly<Record<string, Texts>>;
  const secrets = mapValues(given, (files): SecretFiles => mapValues(files, (text) => new TextEncoder().encode(text)));
  const iso = renderCloudInit(testCase.object as VirtualMachineInstance, { secrets, fallbackUuid: RECORDED_UUID });
  if (!iso) return { none: true };
  return {
    dataSource: iso.source,
    volumeID: iso.volumeId,
    iso: iso.isoPath.replace(CLOUD_INIT_DIR, '<cloud-init-dir>'),
    files: mapValues(iso.files, (content) => new TextDecoder().decode(content)),
  };
}

const mapValues = <T, U>(record: Readonly<Record<string, T>>, map: (value: T) => U): Record<string, U> =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]));
