// Images are made where the launcher's pod has its volumes, never over something that is there, and each refusal says which volume it is.
import { lstatSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { scratchDir } from '../../../test/fakes/scratch.js';
import type { VirtualMachineInstance } from '../../api/index.js';
import { systemClock } from '../../base/clock.js';
import { makeCtx } from '../../base/context.js';
import { silentLogger } from '../../base/logger.js';
import { clusterConfig } from '../../core/config/cluster-config.js';
import { ensureDiskImages, type ImageNote } from './disk-images.js';

const DIR = 'var/run/kubevirt-private/vmi-disks/data';
const MIB = 1024 * 1024;
const ctx = makeCtx(new AbortController().signal, silentLogger, systemClock);
let root: string;
const image = (): string => join(root, DIR, 'disk.img');

beforeEach(() => {
  root = scratchDir();
  mkdirSync(join(root, DIR), { recursive: true });
});

function claimed(storage: string, readOnly = false): VirtualMachineInstance {
  const info = { capacity: { storage }, requests: { storage }, volumeMode: 'Filesystem' };
  return {
    apiVersion: 'kubevirt.io/v1',
    kind: 'VirtualMachineInstance',
    metadata: { name: 'vm', namespace: 'default' },
    spec: {
      domain: { devices: { disks: [{ name: 'data' }] } },
      volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'c', ...(readOnly ? { readOnly } : {}) } }],
    },
    status: { volumeStatus: [{ name: 'data', target: '', persistentVolumeClaimInfo: info }] },
  };
}

const ensure = (vmi: VirtualMachineInstance): Promise<readonly ImageNote[]> =>
  ensureDiskImages(ctx, vmi, { root, uid: process.getuid?.() ?? 0 }, clusterConfig());

describe('ensureDiskImages', () => {
  it('makes a sparse image of the size of the claim', async () => {
    expect(await ensure(claimed('8Mi'))).toEqual([]);
    const { size, blocks, mode } = statSync(image());
    expect([size, blocks, mode & 0o777]).toEqual([8 * MIB, 0, 0o660 & ~process.umask()]);
  });

  it('keeps an image that is there', async () => {
    writeFileSync(image(), 'content');
    await ensure(claimed('8Mi'));
    expect(readFileSync(image(), 'utf8')).toBe('content');
  });

  it('warns of one that is no raw image, and leaves it to the guest', async () => {
    writeFileSync(image(), Buffer.from('514649fb00000003', 'hex'));
    expect(await ensure(claimed('8Mi'))).toEqual([
      {
        type: 'Warning',
        reason: 'ImageReadAsRaw',
        message: expect.stringContaining('PersistentVolumeClaim c of volume data is a qcow2 image'),
      },
    ]);
  });

  it('warns of one that is larger than its claim, and leaves it as it is', async () => {
    writeFileSync(image(), '');
    truncateSync(image(), 9 * MIB);
    expect(await ensure(claimed('8Mi'))).toEqual([
      {
        type: 'Warning',
        reason: 'ImageLargerThanClaim',
        message: expect.stringMatching(
          /disk\.img on PersistentVolumeClaim c of volume data is 9437184 B large, and its claim holds 8388608 B/,
        ),
      },
    ]);
    expect(await ensure(claimed('9Mi'))).toEqual([]);
    expect(await ensure(claimed('8Mi', true))).toEqual([]);
  });

  it.each<[string, () => VirtualMachineInstance, RegExp]>([
    ['a volume that must hold an image', () => claimed('8Mi', true), /no disk\.img on PersistentVolumeClaim c for volume data/],
    ['a claim larger than its filesystem', () => claimed('9Ei'), /disk of volume data on PersistentVolumeClaim c, not enough space/],
    [
      'a link',
      () => {
        symlinkSync('/etc/passwd', image());
        return claimed('8Mi');
      },
      /disk\.img on PersistentVolumeClaim c of volume data is a symbolic link/,
    ],
    [
      'a folder',
      () => {
        mkdirSync(image());
        return claimed('8Mi');
      },
      /disk\.img on PersistentVolumeClaim c of volume data is no plain file/,
    ],
    [
      'a volume that is not mounted',
      () => {
        rmSync(join(root, DIR), { recursive: true });
        return claimed('8Mi');
      },
      /volume data \(PersistentVolumeClaim c\) is not mounted/,
    ],
  ])('says what is wrong: %s', async (_title, prepare, message) => {
    await expect(ensure(prepare())).rejects.toThrow(message);
  });

  it('touches nothing behind a link', async () => {
    const outside = join(root, 'outside');
    writeFileSync(outside, 'secret');
    symlinkSync(outside, image());
    await expect(ensure(claimed('8Mi'))).rejects.toThrow();
    expect(lstatSync(outside).size).toBe(6);
  });
});
