import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { scratchDir } from '../../test/fakes/scratch.js';
import { isInPod, parseCgroups, pidsOfPod } from './cgroup.js';
import { isListening, peerOf } from './peercred.js';
import { isSameProcess, listPids, readCommandLine, readProcess } from './proc.js';

let dir: string;

beforeEach(async () => {
  dir = scratchDir();
});

describe('proc', () => {
  it('knows a process by pid and start time', async () => {
    const self = await readProcess(process.pid);
    expect(self).toEqual({ pid: process.pid, startTime: expect.stringMatching(/^\d+$/) });
    expect(self !== undefined && (await isSameProcess(self))).toBe(true);
    expect(await isSameProcess({ pid: process.pid, startTime: '1' })).toBe(false);
  });

  it('says undefined once the process has ended', async () => {
    const child = spawn('true');
    await once(child, 'close');
    expect(await readProcess(child.pid ?? -1)).toBeUndefined();
    expect(await readCommandLine(child.pid ?? -1)).toEqual([]);
  });

  it('is not confused by a command name with blanks and brackets, nor by zombies', async () => {
    const fields = ['S', '1', ...Array.from({ length: 17 }, () => '0'), '777', '0'];
    await mkdir(join(dir, '5'));
    await writeFile(join(dir, '5', 'stat'), `5 (a) b (c)) ${fields.join(' ')}\n`);
    await mkdir(join(dir, '6'));
    await writeFile(join(dir, '6', 'stat'), `6 (z) ${['Z', ...fields.slice(1)].join(' ')}\n`);
    expect(await readProcess(5, dir)).toEqual({ pid: 5, startTime: '777' });
    expect(await readProcess(6, dir)).toBeUndefined();
    expect(await listPids(dir)).toEqual([5, 6]);
  });
});

const V1 = '5:memory:/kubepods/burstable/poda-b/c1\n4:cpu,cpuacct:/kubepods/burstable/poda-b/c1\n0::/other\n';
const V2 = '0::/kubepods.slice/kubepods-poda_b.slice/cri-c1.scope\n';

describe('cgroup', () => {
  it.each([
    ['version 1', V1, true],
    ['version 2, groups by systemd', V2, true],
    ['version 2, groups by the runtime', '0::/kubepods/besteffort/poda-b/c1\n', true],
    ['version 2 beside a lone systemd hierarchy', `1:name=systemd:/\n${V2}`, true],
    ['version 2, below the container’s own group', '0::/kubepods/poda-b/c1/emulator\n', true],
    ['version 2, seen from the group of another pod', '0::/../../kubepods-poda_b.slice/cri-c1.scope\n', true],
    ['version 2, elsewhere', '0::/user.slice\n', false],
    ['version 2, another pod', '0::/kubepods.slice/kubepods-poda_c.slice/cri-c1.scope\n', false],
  ])('%s', (_title, text, inPod) => {
    expect(isInPod(parseCgroups(text), 'a-b')).toBe(inPod);
  });

  it('keeps colons of a path', () => {
    expect(parseCgroups('0::/a:b\n')).toEqual([{ hierarchy: 0, controllers: [], path: '/a:b' }]);
  });

  it('finds the processes of a pod', async () => {
    for (const [pid, text] of [
      ['10', V1],
      ['11', V2],
      ['12', '0::/\n'],
    ] as const) {
      await mkdir(join(dir, pid));
      await writeFile(join(dir, pid, 'cgroup'), text);
    }
    await mkdir(join(dir, '13'));
    expect(await pidsOfPod('a-b', dir)).toEqual([10, 11]);
  });
});

describe('peerOf', () => {
  it('returns the process that listens', async () => {
    const path = join(dir, 's');
    const server = createServer((socket) => socket.destroy()).listen(path);
    await once(server, 'listening');
    expect(await peerOf(path)).toEqual({ pid: process.pid, uid: process.getuid?.(), gid: process.getgid?.() });
    expect(await isListening(path)).toBe(true);
    server.close();
    await once(server, 'close');
    expect(await isListening(path)).toBe(false);
  });

  it('says which socket nobody answers on', async () => {
    await expect(peerOf(join(dir, 'none'))).rejects.toMatchObject({
      code: 'LauncherUnreachable',
      message: expect.stringContaining('/none'),
    });
  });
});
