// The image tools: what they ask of qemu-img and xorrisofs, and what they read from an image themselves.
import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { scratchDir } from '../../test/fakes/scratch.js';
import { systemClock } from '../base/clock.js';
import { makeCtx } from '../base/context.js';
import { KvError } from '../base/errors.js';
import { silentLogger } from '../base/logger.js';
import type { Run } from './exec.js';
import { isoOfDirectory, isoOfFiles } from './iso.js';
import { createQcow2, detectImageFormat } from './qemu-img.js';

const ctx = makeCtx(new AbortController().signal, silentLogger, systemClock);
let dir: string;
beforeEach(async () => {
  dir = scratchDir();
});

/** A tool that notes its command line and writes the image it is told to. */
function tool(commands: string[][]): Run {
  return async (_, file, args) => {
    commands.push([file, ...args]);
    const output = args.indexOf('-output');
    if (output >= 0) await writeFile(args[output + 1] ?? '', 'iso');
    return { stdout: '', stderr: '' };
  };
}

describe('qcow2', () => {
  it('is created empty or over a backing image', async () => {
    const commands: string[][] = [];
    await createQcow2(ctx, tool(commands), '/a', { sizeBytes: 1048576n });
    await createQcow2(ctx, tool(commands), '/b', { backing: '/base', backingFormat: 'raw' });
    expect(commands).toEqual([
      ['qemu-img', 'create', '-q', '-f', 'qcow2', '/a', '1048576'],
      ['qemu-img', 'create', '-q', '-f', 'qcow2', '-F', 'raw', '-b', '/base', '/b'],
    ]);
  });
});

function qcow2Header(change: (header: Buffer) => void = () => undefined): Buffer {
  const header = Buffer.alloc(104);
  header.write('QFI\xfb', 0, 'latin1');
  header.writeUInt32BE(3, 4);
  change(header);
  return header;
}

describe('detectImageFormat', () => {
  const file = (): string => join(dir, 'disk.img');

  it.each([
    ['a qcow2', qcow2Header(), 'qcow2'],
    ['an empty file', Buffer.alloc(0), 'raw'],
    ['a boot sector', Buffer.alloc(512, 0x55), 'raw'],
  ])('%s', async (_, content, expected) => {
    await writeFile(file(), content);
    expect(await detectImageFormat(file())).toBe(expected);
  });

  it.each([
    ['a backing file', qcow2Header((header) => header.writeBigUInt64BE(512n, 8)), 'backing file'],
    ['its data elsewhere', qcow2Header((header) => header.writeBigUInt64BE(4n, 72)), 'another file'],
  ])('refuses an image with %s', async (_, content, message) => {
    await writeFile(file(), content);
    await expect(detectImageFormat(file())).rejects.toMatchObject({
      code: 'Terminal',
      retry: 'never',
      message: expect.stringContaining(message),
    });
  });

  it('does not wait at a pipe that bears the name of an image', async () => {
    execFileSync('mkfifo', [file()]);
    await expect(detectImageFormat(file(), 'the image')).rejects.toMatchObject({
      code: 'Invalid',
      message: 'the image is neither a file nor a block device',
    });
  });

  it('waits for an image that is not there', async () => {
    await expect(detectImageFormat(file())).rejects.toMatchObject({ code: 'NotReady' });
  });
});

describe('ISO images', () => {
  it('hold a directory under a label', async () => {
    const commands: string[][] = [];
    const output = join(dir, 'a.iso');
    await isoOfDirectory(ctx, tool(commands), { output, volumeId: 'cidata' }, '/data');
    expect(commands).toEqual([
      [
        'xorrisofs',
        '-quiet',
        '-output',
        `${output}.staging`,
        '-volid',
        'cidata',
        '-joliet',
        '-rock',
        '-partition_cyl_align',
        'on',
        '/data',
      ],
    ]);
  });

  it('hold files under names of their own, also such as look like options', async () => {
    const grafts = new Map([
      ['a=b', '/p\\q'],
      ['-version', '/v'],
    ]);
    const commands: string[][] = [];
    await isoOfFiles(ctx, tool(commands), { output: join(dir, 'a.iso'), volumeId: 'x' }, grafts);
    expect(commands[0]?.slice(6)).toEqual([
      '-follow-links',
      '-graft-points',
      '-joliet',
      '-rock',
      '-partition_cyl_align',
      'on',
      '/a\\=b=/p\\\\q',
      '/-version=/v',
    ]);
  });

  it('leave nothing half done behind', async () => {
    const failing: Run = async () => {
      throw new KvError('Internal', 'no space');
    };
    const output = join(dir, 'a.iso');
    await expect(isoOfDirectory(ctx, failing, { output, volumeId: 'x' }, '/data')).rejects.toMatchObject({ message: 'no space' });
    await expect(detectImageFormat(output)).rejects.toMatchObject({ code: 'NotReady' });
  });
});
