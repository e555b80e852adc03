// Both services over real unix sockets: arguments and results survive, errors keep their code, a missing peer is LauncherUnreachable.
import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { scratchDir } from '../../test/fakes/scratch.js';
import type { DomainReport } from '../api/domain-report.js';
import type { VirtualMachineInstance } from '../api/index.js';
import { KvError } from '../base/errors.js';
import { atStep } from '../base/steps.js';
import { patienceMs } from './cmd-server.js';
import {
  type CmdClient,
  type CmdHandlers,
  createCmdClient,
  createNotifyClient,
  type DomainEvent,
  type LauncherEvent,
  serveCmd,
  serveNotify,
} from './index.js';
import { agreeOnVersion } from './versions.js';

const vmi = { metadata: { name: 'vm1', namespace: 'ns', uid: 'u1' }, spec: { domain: { devices: {} } } } as VirtualMachineInstance;
const report: DomainReport = {
  metadata: { name: 'vm1', namespace: 'ns', uid: 'u1' },
  spec: { disks: [{ name: 'root', target: 'vda' }], interfaces: [] },
  status: { status: 'Running', reason: 'Unknown' },
};

let dir: string;
const cleanups: (() => Promise<void> | void)[] = [];
beforeEach(async () => {
  dir = scratchDir();
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function connect(handlers: CmdHandlers): Promise<CmdClient> {
  const server = await serveCmd(join(dir, 'cmd'), handlers);
  const client = createCmdClient(join(dir, 'cmd'));
  cleanups.push(server.close, client.close);
  return client;
}

describe('the command service', () => {
  it('carries the VMI and the options to the launcher', async () => {
    const seen: unknown[] = [];
    const client = await connect({ syncVirtualMachine: async (...args) => void seen.push(...args) });
    await client.syncVirtualMachine(vmi, { MemBalloonStatsPeriod: 10, interfaceDomainAttachment: { default: 'tap' } });
    expect(seen).toEqual([vmi, expect.objectContaining({ MemBalloonStatsPeriod: 10, interfaceDomainAttachment: { default: 'tap' } })]);
  });

  it('carries answers of every shape', async () => {
    const client = await connect({
      getDomain: async () => report,
      getGuestInfo: async () => ({ hostname: 'h', fsInfo: { disks: [] } }),
      getQemuVersion: async () => '10.0.13',
      getDomainDirtyRateStats: async () => 12,
      getScreenshot: async () => ({ mime: 'image/png', data: Buffer.from([0, 255]) }),
      exec: async ({ command, args }) => ({ exitCode: 3, stdOut: [command, ...args].join(' ') }),
      redefineCheckpoint: async () => true,
    });
    expect(await client.getDomain()).toEqual(report);
    expect(await client.getGuestInfo()).toEqual({ hostname: 'h', fsInfo: { disks: [] } });
    expect(await client.getQemuVersion()).toBe('10.0.13');
    expect(await client.getDomainDirtyRateStats()).toBe(12);
    expect(await client.getScreenshot(vmi)).toEqual({ mime: 'image/png', data: Buffer.from([0, 255]) });
    expect(await client.exec({ domainName: 'ns_vm1', command: 'echo', args: ['a', 'b'], timeoutSeconds: 1 })).toEqual({
      exitCode: 3,
      stdOut: 'echo a b',
    });
    expect(await client.redefineCheckpoint(vmi, {})).toBe(true);
  });

  it('tells "no domain" from a domain', async () => {
    const client = await connect({ getDomain: async () => undefined });
    expect(await client.getDomain()).toBeUndefined();
  });

  it('keeps code, reason, retry and message of an error', async () => {
    const failing = async (): Promise<never> => {
      throw new KvError('CriticalNetwork', 'no tap', { reason: 'TapMissing', retry: { afterMs: 700 } });
    };
    const client = await connect({ syncVirtualMachine: failing, getDomain: failing });
    const expected = { code: 'CriticalNetwork', message: 'no tap', reason: 'TapMissing', retry: { afterMs: 700 } };
    await expect(client.syncVirtualMachine(vmi)).rejects.toMatchObject(expected);
    await expect(client.getDomain()).rejects.toMatchObject(expected);
  });

  it('says NotImplemented for a call the launcher does not serve', async () => {
    const client = await connect({ ping: async () => undefined });
    await expect(client.pauseVirtualMachine(vmi)).rejects.toMatchObject({
      code: 'NotImplemented',
      message: expect.stringContaining('another version'),
    });
  });

  it('says LauncherUnreachable when nobody listens', async () => {
    const client = createCmdClient(join(dir, 'nobody'));
    cleanups.push(client.close);
    await expect(client.ping()).rejects.toMatchObject({
      code: 'LauncherUnreachable',
      message: expect.stringContaining(join(dir, 'nobody')),
    });
  });

  it('says Timeout when the answer is late', async () => {
    const server = await serveCmd(join(dir, 'cmd'), { ping: () => new Promise(() => undefined) });
    const client = createCmdClient(join(dir, 'cmd'), { deadlineMs: 50 });
    cleanups.push(server.close, client.close);
    await expect(client.ping()).rejects.toMatchObject({ code: 'Timeout' });
  });

  it('answers for a handler that hangs, with the step it hangs at', async () => {
    const server = await serveCmd(join(dir, 'cmd'), {
      ping: async () => {
        atStep('read the state of domain ns_vm1');
        await new Promise(() => undefined);
      },
    });
    const client = createCmdClient(join(dir, 'cmd'), { deadlineMs: 1_500 });
    cleanups.push(server.close, client.close);
    await expect(client.ping()).rejects.toMatchObject({
      code: 'Timeout',
      reason: 'StuckAtStep',
      message: expect.stringMatching(/^Ping was not done after 1\.\d s; it was at: read the state of domain ns_vm1$/),
    });
  });

  it.each([
    ['what the caller waits, less a tenth', 10_000, 60_000, 9_000],
    ['what the method may take', 1_000_000, 20_000, 18_000],
    ['no deadline', undefined, 5_000, 4_500],
    ['a caller that is gone', 0, 5_000, 50],
  ])('patience: %s', (_, deadline, own, expected) => expect(patienceMs(deadline, own)).toBe(expected));

  it('agrees on a version', async () => {
    const client = await connect({});
    expect(await client.negotiate()).toBe(1);
  });

  it('takes over a socket file left behind and removes its own', async () => {
    await writeFile(join(dir, 'cmd'), '');
    const server = await serveCmd(join(dir, 'cmd'), {});
    await server.close();
    await expect(stat(join(dir, 'cmd'))).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('refuses a path no socket address can hold', async () => {
    await expect(serveCmd(`/${'x'.repeat(120)}`, {})).rejects.toMatchObject({ code: 'Invalid' });
  });
});

describe('the notify service', () => {
  it('hands over events with the socket they came by, on many sockets', async () => {
    const domains: [DomainEvent, string][] = [];
    const events: [LauncherEvent, string][] = [];
    const server = serveNotify({
      domainEvent: (event, path) => void domains.push([event, path]),
      k8sEvent: (event, path) => void events.push([event, path]),
    });
    const [a, b] = [join(dir, 'a'), join(dir, 'b')];
    await Promise.all([server.listen(a), server.listen(b), server.listen(a)]);
    const [ca, cb] = [createNotifyClient(a), createNotifyClient(b)];
    cleanups.push(server.close, ca.close, cb.close);
    const event: LauncherEvent = {
      type: 'Warning',
      reason: 'IOerror',
      message: 'bad disk',
      involved: { namespace: 'ns', name: 'vm1', uid: 'u1' },
    };
    await ca.domainEvent({ type: 'MODIFIED', domain: report });
    await cb.domainEvent({ type: 'ERROR', error: 'lost libvirt' });
    await cb.k8sEvent(event);
    expect(domains).toEqual([
      [{ type: 'MODIFIED', domain: report }, a],
      [{ type: 'ERROR', error: 'lost libvirt' }, b],
    ]);
    expect(events).toEqual([[event, b]]);
    expect(await ca.negotiate()).toBe(1);
    await server.unlisten(a);
    await expect(ca.domainEvent({ type: 'DELETED', domain: report })).rejects.toMatchObject({ code: 'LauncherUnreachable' });
  });

  it('gives the sender the error of a handler', async () => {
    const server = serveNotify({
      domainEvent: () => {
        throw new KvError('Conflict', 'not yours');
      },
      k8sEvent: () => undefined,
    });
    await server.listen(join(dir, 'n'));
    const client = createNotifyClient(join(dir, 'n'));
    cleanups.push(server.close, client.close);
    await expect(client.domainEvent({ type: 'ADDED', domain: report })).rejects.toMatchObject({ code: 'Conflict', message: 'not yours' });
  });
});

describe('pacing a sender', () => {
  it('asks before a message is read; a refusal is the sender’s answer', async () => {
    let admitted = 0;
    const seen: string[] = [];
    const server = serveNotify({
      admit: () => {
        if (++admitted > 2) throw new KvError('Unavailable', 'too many notifications');
      },
      domainEvent: ({ type }) => void seen.push(type),
      k8sEvent: () => undefined,
    });
    await server.listen(join(dir, 'n'));
    const client = createNotifyClient(join(dir, 'n'));
    cleanups.push(server.close, client.close);
    for (const type of ['ADDED', 'MODIFIED'] as const) await client.domainEvent({ type, domain: report });
    await expect(client.domainEvent({ type: 'MODIFIED', domain: report })).rejects.toMatchObject({ code: 'Unavailable' });
    expect(seen).toEqual(['ADDED', 'MODIFIED']);
  });

  it('takes no message of a size that no honest launcher sends', async () => {
    const server = serveNotify({ domainEvent: () => undefined, k8sEvent: () => undefined });
    await server.listen(join(dir, 'n'));
    const client = createNotifyClient(join(dir, 'n'));
    cleanups.push(server.close, client.close);
    const huge = { ...report, status: { ...report.status, hostname: 'x'.repeat(5 * 1024 * 1024) } };
    await expect(client.domainEvent({ type: 'MODIFIED', domain: huge })).rejects.toMatchObject({ code: 'Internal' });
  });
});

describe('agreeOnVersion', () => {
  it.each([
    ['same', [1], [1], 1],
    ['the highest common one', [1, 2, 3], [1, 2], 2],
  ])('%s', (_, ours, theirs, expected) => expect(agreeOnVersion(ours, theirs, 'x')).toBe(expected));

  it('names both sides when nothing is common', () => {
    expect(() => agreeOnVersion([2], [1], 'the launcher')).toThrow('we speak 2, it speaks 1');
  });
});
