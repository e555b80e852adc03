// Hook sidecars on real sockets: found, asked in order, and named when they are missing, refuse, hang or answer nonsense.
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { guest } from '../../../test/builders/domain.js';
import { fakeHookSidecar, type HookAnswers, type SidecarIdentity } from '../../../test/fakes/fake-hook-sidecar.js';
import { scratchDir } from '../../../test/fakes/scratch.js';
import { systemClock } from '../../base/clock.js';
import { makeCtx } from '../../base/context.js';
import { silentLogger } from '../../base/logger.js';
import { readDomain } from '../../core/converter/index.js';
import { renderCloudInit } from '../../core/storage/index.js';
import { HookSidecars } from './hooks.js';

const TIMES = { pollMs: 10, patienceMs: 150, infoMs: 500, callMs: 200, shutdownMs: 200 };
const ctx = makeCtx(new AbortController().signal, silentLogger, systemClock);
const vmi = guest({});
const domain = readDomain('<domain><name>vm</name></domain>');

let directory: string;
const cleanups: (() => void)[] = [];
beforeEach(async () => {
  directory = scratchDir();
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

async function sidecar(index: number, identity: SidecarIdentity, answers: HookAnswers): Promise<() => void> {
  const { close } = await fakeHookSidecar(directory, `hook-sidecar-${index}`, identity, answers);
  cleanups.push(close);
  return close;
}

const hooksOf = (wanted: number): HookSidecars => new HookSidecars(ctx, wanted, directory, TIMES);
const adding =
  (what: string): NonNullable<HookAnswers['OnDefineDomain']> =>
  ({ domainXML }) => ({ domainXML: Buffer.from(domainXML.toString().replace('</name>', `</name><${what}/>`)) });
const define = async (wanted: number): Promise<string | undefined> => (await hooksOf(wanted).onDefineDomain(domain, vmi))?.xml;

const answering = (xml: string): HookAnswers => ({ OnDefineDomain: () => ({ domainXML: Buffer.from(xml) }) });

describe('OnDefineDomain', () => {
  it.each(['v1alpha1', 'v1alpha2', 'v1alpha3'])('%s: gets domain and VMI, gives back a domain', async (version) => {
    const seen: unknown[] = [];
    await sidecar(
      0,
      { versions: [version] },
      {
        OnDefineDomain: (request) => {
          seen.push(JSON.parse(request.vmi.toString()));
          return adding('added')(request);
        },
      },
    );
    expect(await define(1)).toBe('<domain>\n  <name>vm</name><added/>\n</domain>');
    expect(seen).toEqual([JSON.parse(JSON.stringify(vmi))]);
  });

  it('goes from one to the next, the higher priority first', async () => {
    await sidecar(0, { versions: ['v1alpha1'], name: 'a' }, { OnDefineDomain: adding('low') });
    await sidecar(1, { versions: ['v1alpha2'], name: 'b', priority: 7 }, { OnDefineDomain: adding('high') });
    expect(await define(2)).toContain('</name><low/><high/>');
  });

  it.each([
    [-5, 0, '<first/><second/>'],
    [0, -5, '<second/><first/>'],
    [3, 3, '<second/><first/>'],
  ])('asks by priorities, also those below zero: %s and %s', async (first, second, expected) => {
    await sidecar(0, { versions: ['v1alpha1'], name: 'a', priority: first }, { OnDefineDomain: adding('first') });
    await sidecar(1, { versions: ['v1alpha3'], name: 'b', priority: second }, { OnDefineDomain: adding('second') });
    // Each writes right behind the name: who was asked last comes first.
    expect(await define(2)).toContain(`</name>${expected}`);
  });

  it('speaks the newest version that both know with each', async () => {
    await sidecar(0, { versions: ['v1alpha1', 'v1alpha2', 'v9'], name: 'a' }, { OnDefineDomain: adding('two') });
    await sidecar(1, { versions: ['v1alpha2', 'v1alpha1', 'v1alpha3'], name: 'b' }, { OnDefineDomain: adding('three') });
    expect(await define(2)).toContain('<three/><two/>');
  });

  it('tells of a sidecar that dies while it is asked, and goes on with the one that took its place', async () => {
    const hooks = hooksOf(1);
    const die = await sidecar(0, { versions: ['v1alpha2'], name: 'mortal' }, { OnDefineDomain: adding('x'), hangs: true });
    const asked = hooks.onDefineDomain(domain, vmi);
    await expect.poll(() => hooks.waitingFor).toContain('OnDefineDomain');
    await new Promise((resolve) => setTimeout(resolve, 50));
    die();
    await expect(asked).rejects.toThrow(
      /^hook sidecar hook-sidecar-0 \(mortal\) failed at OnDefineDomain: .*the peer hung up before it had answered/,
    );
    await sidecar(0, { versions: ['v1alpha2'], name: 'heir' }, { OnDefineDomain: adding('x') });
    expect((await hooks.onDefineDomain(domain, vmi))?.xml).toContain('<x/>');
  });

  it('remembers who changed it, not who gave it back as it was', async () => {
    await sidecar(0, { versions: ['v1alpha1'], name: 'a' }, { OnDefineDomain: ({ domainXML }) => ({ domainXML }) });
    await sidecar(1, { versions: ['v1alpha1'], name: 'b' }, { OnDefineDomain: adding('x') });
    expect((await hooksOf(2).onDefineDomain(domain, vmi))?.changedBy).toEqual(['hook sidecar hook-sidecar-1 (b)']);
  });

  it('changes nothing where nobody wants to', async () => {
    await sidecar(0, { versions: ['v1alpha3'] }, { Shutdown: () => ({}) });
    expect(await define(1)).toBeUndefined();
  });

  it.each<[string, HookAnswers, string, string]>([
    [
      'refuses',
      {
        OnDefineDomain: () => {
          throw new Error('no smbios for you');
        },
      },
      'Internal',
      'no smbios for you',
    ],
    ['hangs', { OnDefineDomain: adding('x'), hangs: true }, 'Timeout', 'no answer on'],
    ['answers nonsense', { OnDefineDomain: () => ({ domainXML: Buffer.from('hello') }) }, 'Internal', 'it begins with "hello"'],
    ['answers nothing', { OnDefineDomain: () => ({}) }, 'Internal', 'gave back no domain'],
    ['answers a document type', answering('<!DOCTYPE domain [<!ENTITY a "b">]><domain/>'), 'Internal', 'it begins with'],
    [
      'declares entities after all',
      answering('<?xml version="1.0"?><!DOCTYPE d [<!ENTITY a "b">]><domain>&a;</domain>'),
      'Internal',
      'cannot be read',
    ],
    ['nests without end', answering(`<domain>${'<a>'.repeat(200_000)}`), 'Internal', 'does not end'],
    ['forgets the name', answering('<domain type="kvm"/>'), 'Internal', 'changed the name of the domain from vm to nothing'],
  ])('names a sidecar that %s, and the step', async (_, answers, code, message) => {
    await sidecar(0, { versions: ['v1alpha2'], name: 'smbios' }, answers);
    await expect(define(1)).rejects.toMatchObject({
      code,
      reason: 'HookSidecarFailed',
      message: expect.stringMatching(new RegExp(`^hook sidecar hook-sidecar-0 \\(smbios\\) failed at OnDefineDomain: .*${message}`)),
    });
  });
});

it('takes no more from a sidecar than a domain can be', async () => {
  await sidecar(0, { versions: ['v1alpha2'] }, answering(`<domain>${' '.repeat(5 * 1024 * 1024)}</domain>`));
  const patient = new HookSidecars(ctx, 1, directory, { ...TIMES, callMs: 5_000 });
  await expect(patient.onDefineDomain(domain, vmi)).rejects.toThrow('the answer is larger than 4 MiB');
});

describe('the search', () => {
  it('waits for one that comes late', async () => {
    const late = define(1);
    await sidecar(0, { versions: ['v1alpha1'] }, { OnDefineDomain: adding('late') });
    expect(await late).toContain('<late/>');
  });

  it('tells which are missing and why', async () => {
    await mkdir(join(directory, 'hook-sidecar-0'));
    await mkdir(join(directory, 'hook-sidecar-1'));
    const dead = join(directory, 'hook-sidecar-1', 'dead.sock');
    await writeFile(dead, '');
    await chmod(dead, 0o700);
    await expect(define(3)).rejects.toMatchObject({
      code: 'NotReady',
      message: expect.stringMatching(
        /^waiting for hook sidecars: 0 of 3 have announced themselves. hook-sidecar-0: it has made no socket .*hook-sidecar-1: it does not answer on .*dead.sock.*1 container has not started/,
      ),
    });
  });

  it('names one that accepts and says nothing', async () => {
    await mkdir(join(directory, 'hook-sidecar-0'));
    const mute = createServer(() => undefined).listen(join(directory, 'hook-sidecar-0', 'mute.sock'));
    cleanups.push(() => mute.close());
    await expect(define(1)).rejects.toMatchObject({ message: expect.stringMatching(/hook-sidecar-0: it does not answer on .*mute.sock/) });
  });

  it.each<[string, (socket: Socket) => void]>([
    ['speaks another protocol', (socket) => void socket.end('HTTP/1.1 200 OK\r\n\r\n')],
    ['sends without end', (socket) => void socket.on('error', () => undefined).write(Buffer.alloc(1024 * 1024, 'x'))],
    ['hangs up', (socket) => void socket.destroy()],
  ])('names one that %s', async (_, answer) => {
    await mkdir(join(directory, 'hook-sidecar-0'));
    const strange = createServer(answer).listen(join(directory, 'hook-sidecar-0', 'strange.sock'));
    cleanups.push(() => strange.close());
    await expect(define(1)).rejects.toMatchObject({
      code: 'NotReady',
      message: expect.stringMatching(/hook-sidecar-0: it does not answer on .*strange.sock/),
    });
  });

  it('refuses a version that nobody speaks', async () => {
    await sidecar(0, { versions: [] }, { OnDefineDomain: adding('x') });
    await expect(define(1)).rejects.toMatchObject({ code: 'Invalid', message: expect.stringContaining('speaks no version') });
  });

  it('finds one again that was started anew on another socket', async () => {
    const hooks = hooksOf(1);
    const end = await sidecar(0, { versions: ['v1alpha1'], name: 'first' }, { OnDefineDomain: adding('one') });
    await hooks.onDefineDomain(domain, vmi);
    end();
    await expect(hooks.onDefineDomain(domain, vmi)).rejects.toThrow('hook-sidecar-0 (first) failed at OnDefineDomain');
    await sidecar(0, { versions: ['v1alpha1'], name: 'second' }, { OnDefineDomain: adding('two') });
    expect((await hooks.onDefineDomain(domain, vmi))?.xml).toContain('<two/>');
  });
});

describe('PreCloudInitIso', () => {
  const iso = renderCloudInit(guest({ spec: { volumes: [{ name: 'ci', cloudInitNoCloud: { userData: 'u' } }] } }), {
    secrets: {},
    fallbackUuid: '',
  });
  const rename = ({ cloudInitData }: { cloudInitData: Buffer }): object => {
    const data = JSON.parse(cloudInitData.toString()) as { UserData: string };
    return { cloudInitData: Buffer.from(JSON.stringify({ ...data, UserData: `${data.UserData}!` })) };
  };

  it('goes through all that know it; the first version does not', async () => {
    if (!iso) throw new Error('no ISO');
    await sidecar(0, { versions: ['v1alpha1'] }, { OnDefineDomain: adding('x'), PreCloudInitIso: rename });
    await sidecar(1, { versions: ['v1alpha2'] }, { PreCloudInitIso: rename });
    await sidecar(2, { versions: ['v1alpha3'] }, { PreCloudInitIso: rename });
    const { files } = await hooksOf(3).preCloudInitIso(iso, vmi);
    expect(new TextDecoder().decode(files['user-data'])).toBe('u!!');
  });
});

describe('Shutdown', () => {
  it('is told once to those that know it, and does not wait for one that hangs', async () => {
    let told = 0;
    const count = (): object => {
      told += 1;
      return {};
    };
    await sidecar(0, { versions: ['v1alpha3'] }, { Shutdown: count });
    await sidecar(1, { versions: ['v1alpha3'], name: 'deaf' }, { Shutdown: count, hangs: true });
    const hooks = hooksOf(2);
    await hooks.onDefineDomain(domain, vmi);
    await hooks.shutdown();
    await hooks.shutdown();
    expect(told).toBe(1);
  });
});
