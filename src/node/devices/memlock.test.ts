// Which processes of a pod get a higher limit. Processes are files of a made-up /proc, prlimit is only recorded.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { scratchDir } from '../../../test/fakes/scratch.js';
import { systemClock } from '../../base/clock.js';
import { makeCtx } from '../../base/context.js';
import { silentLogger } from '../../base/logger.js';
import { allowLockedMemory, softMemlock } from './memlock.js';

const ctx = makeCtx(new AbortController().signal, silentLogger, systemClock);
const limits = (soft: string): string =>
  `Limit                     Soft Limit           Hard Limit           Units\nMax locked memory         ${soft}                ${soft}                bytes\n`;

let proc: string;
let ran: string[];
beforeEach(async () => {
  proc = scratchDir();
  ran = [];
});

async function addProcess(pid: number, command: string, soft: string): Promise<void> {
  await mkdir(join(proc, String(pid)));
  await writeFile(join(proc, String(pid), 'cmdline'), `${command}\0-f\0`);
  await writeFile(join(proc, String(pid), 'limits'), limits(soft));
}

const allow = (run?: () => Promise<never>): Promise<void> =>
  allowLockedMemory(
    ctx,
    { podUid: 'p1', bytes: 2n ** 30n, vm: 'ns/vm1' },
    {
      run:
        run ??
        (async (_, command, args) => {
          ran.push([command, ...args].join(' '));
          return { stdout: '', stderr: '' };
        }),
      pidsOfPod: async () => [1, 2, 3, 4, 5, 6],
      proc,
    },
  );

describe('allowLockedMemory', () => {
  it('raises what is too low, of libvirt and QEMU only', async () => {
    await addProcess(1, '/usr/bin/tini', '65536');
    await addProcess(2, '/usr/local/bin/node', '65536');
    await addProcess(3, '/usr/sbin/libvirtd', '65536');
    await addProcess(4, '/usr/bin/qemu-system-x86_64', '8388608');
    await addProcess(5, '/usr/bin/qemu-system-x86_64', 'unlimited');
    await allow();
    expect(ran).toEqual(['prlimit --pid=3 --memlock=1073741824:1073741824', 'prlimit --pid=4 --memlock=1073741824:1073741824']);
  });

  it('says what a refusal means', async () => {
    await addProcess(3, '/usr/sbin/virtqemud', '65536');
    const refused = allow(() => Promise.reject(new Error('Operation not permitted')));
    await expect(refused).rejects.toMatchObject({ reason: 'MemlockLimit', message: expect.stringContaining('CAP_SYS_RESOURCE') });
  });
});

describe('softMemlock', () => {
  it.each([
    ['a number', limits('8388608'), 8388608n],
    ['none', limits('unlimited'), 2n ** 64n],
    ['a process that is gone', '', undefined],
  ])('%s', (_, given, expected) => {
    expect(softMemlock(given)).toBe(expected);
  });
});
