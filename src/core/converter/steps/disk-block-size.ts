// Block sizes that the guest sees: given ones, or those of what lies behind the disk.
import type { CustomBlockSize, Disk } from '../../../api/index.js';
import { KvError } from '../../../base/errors.js';
import type { BlockIo } from '../domain-devices.js';
import type { Scope } from '../scope.js';

/** s390x boot code reads no larger blocks. */
const S390X_LARGEST = 4096;

export function blockIo(disk: Disk, { arch, blockSizes }: Pick<Scope, 'arch' | 'blockSizes'>): BlockIo | undefined {
  const { custom, matchVolume } = disk.blockSize ?? {};
  if (custom) return sizes(checked(custom, disk, arch.name));
  if (!matchVolume || matchVolume.enabled === false) return undefined;
  if (!blockSizes) return undefined;
  const found = blockSizes[disk.name];
  if (found) return sizes(found);
  throw new KvError(
    'NotReady',
    `failed to configure disk ${disk.name} with block size detection enabled: nothing was found out about its volume`,
  );
}

function checked(size: CustomBlockSize, { name }: Disk, arch: string): CustomBlockSize {
  const largest = Math.max(size.logical ?? 0, size.physical ?? 0);
  if (arch !== 's390x' || largest <= S390X_LARGEST) return size;
  throw new KvError('Invalid', `disk ${name} has a block size of ${largest}: s390x guests can use at most ${S390X_LARGEST}`);
}

const sizes = ({ logical, physical, discardGranularity }: CustomBlockSize): BlockIo => ({
  logical_block_size: logical || undefined,
  physical_block_size: physical || undefined,
  discard_granularity: discardGranularity,
});
