// The light client against the real server: what it sends arrives, what it gets is what the full client gets, errors included.
import { createServer } from 'node:net';
import { join } from 'node:path';
import type { ServiceDefinition } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { scratchDir } from '../../../test/fakes/scratch.js';
import type { DomainReport } from '../../api/domain-report.js';
import type { VirtualMachineInstance } from '../../api/index.js';
import { KvError } from '../../base/errors.js';
import { type CmdApi, type CmdHandlers, createCmdClient, serveCmd } from '../index.js';
import { SERVICES } from '../loader.js';
import { lightCmdClient } from './client.js';
import { decodeMessage, encodeMessage, PACKAGES, type Package } from './message.js';

const vmi = { metadata: { name: 'vm1', namespace: 'ns', uid: 'u1' } } as VirtualMachineInstance;
const report: DomainReport = {
  metadata: { name: 'vm1', namespace: 'ns', uid: 'u1' },
  spec: { disks: [], interfaces: [], agentConnected: true },
  status: { status: 'Running', reason: 'Unknown' },
};

let dir: string;
let socket: string;
const cleanups: (() => Promise<void> | void)[] = [];
beforeEach(async () => {
  dir = scratchDir();
  socket = join(dir, 'cmd');
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function serve(handlers: CmdHandlers): Promise<void> {
  cleanups.push((await serveCmd(socket, handlers)).close);
}

describe('calls', () => {
  it('carries arguments and answers', async () => {
    const seen: unknown[] = [];
    await serve({
      exec: async (command) => {
        seen.push(command);
        return { exitCode: -1, stdOut: 'größer\n' };
      },
      guestPing: async (...args) => void seen.push(args),
      freezeVirtualMachine: async (...args) => void seen.push(args),
      unfreezeVirtualMachine: async (...args) => void seen.push(args),
      getDomain: async () => report,
    });
    const client = lightCmdClient(socket);
    const command = { domainName: 'ns_vm1', command: 'ls', args: ['', '-l', 'ä'], timeoutSeconds: 300 };
    expect(await client.exec(command)).toEqual({ exitCode: -1, stdOut: 'größer\n' });
    await client.guestPing('ns_vm1', 7);
    await client.freezeVirtualMachine(vmi, 0);
    await client.unfreezeVirtualMachine(vmi);
    expect(await client.getDomain()).toEqual(report);
    expect(seen).toEqual([command, ['ns_vm1', 7], [vmi, 0], [vmi]]);
  });

  it('takes answers longer than a frame', async () => {
    const stdOut = 'x'.repeat(300_000);
    await serve({ exec: async () => ({ exitCode: 0, stdOut }) });
    const answer = await lightCmdClient(socket).exec({ domainName: '', command: 'c', args: [], timeoutSeconds: 5 });
    expect(answer.stdOut).toHaveLength(stdOut.length);
  });

  it('tells "no domain" from a domain', async () => {
    await serve({ getDomain: async () => undefined });
    expect(await lightCmdClient(socket).getDomain()).toBeUndefined();
  });
});

describe('errors are those of the full client', () => {
  const refuse = async (): Promise<never> => {
    throw new KvError('NotReady', 'no agent: 100 % gone');
  };
  const bothCodes = async (options: { deadlineMs?: number }, ask: (client: CmdApi) => Promise<unknown>): Promise<unknown[]> => {
    const full = createCmdClient(socket, options);
    cleanups.push(full.close);
    return Promise.all([lightCmdClient(socket, options), full].map((client) => ask(client).catch((err: KvError) => err.code)));
  };

  it('keeps code and message of a refusal', async () => {
    await serve({ guestPing: refuse, pauseVirtualMachine: refuse });
    const client = lightCmdClient(socket);
    const expected = { code: 'NotReady', message: 'no agent: 100 % gone' };
    await expect(client.guestPing('d', 1)).rejects.toMatchObject(expected);
    await expect(client.pauseVirtualMachine(vmi)).rejects.toMatchObject(expected);
  });

  it('a call the launcher does not serve', async () => {
    await serve({});
    expect(await bothCodes({}, (client) => client.ping())).toEqual(['NotImplemented', 'NotImplemented']);
  });

  it('a late answer', async () => {
    await serve({ ping: () => new Promise(() => undefined) });
    expect(await bothCodes({ deadlineMs: 50 }, (client) => client.ping())).toEqual(['Timeout', 'Timeout']);
  });

  it('nobody listens', async () => {
    expect(await bothCodes({}, (client) => client.ping())).toEqual(['LauncherUnreachable', 'LauncherUnreachable']);
  });

  it('a peer that hangs up', async () => {
    const server = createServer((connection) => connection.destroy()).listen(socket);
    cleanups.push(() => void server.close());
    await expect(lightCmdClient(socket).ping()).rejects.toMatchObject({
      code: 'LauncherUnreachable',
      message: expect.stringContaining(socket),
    });
  });

  it('a peer that never answers', async () => {
    const server = createServer(() => undefined).listen(socket);
    cleanups.push(() => void server.close());
    await expect(lightCmdClient(socket, { deadlineMs: 50 }).ping()).rejects.toMatchObject({ code: 'Timeout' });
  });
});

describe('messages', () => {
  it('passes over fields it does not know', () => {
    // Field 9 in each of the four encodings, then success=true.
    const unknown = [0x48, 0x96, 0x01, 0x49, 1, 2, 3, 4, 5, 6, 7, 8, 0x4a, 2, 9, 9, 0x4d, 1, 2, 3, 4];
    expect(decodeMessage('Response', Buffer.from([...unknown, 0x08, 1]))).toEqual({ success: true, message: '' });
  });

  it('refuses a message that ends early, and a number for a map', () => {
    expect(() => decodeMessage('Response', Buffer.from([0x12, 5, 0x61]))).toThrow('ends in the middle');
    // Field 5, DisksInfo, as a number.
    expect(() => decodeMessage('VirtualMachineOptions', Buffer.from([0x28, 1]))).toThrow('in the place of a map');
  });

  const SAMPLES: Readonly<Record<string, unknown>> = { bool: true, string: 'größer', bytes: Buffer.from([0, 255]), int32: -7, int64: -9 };
  const depthOf = (value: number) => ({ deeper: value - 1, isDeepest: value <= 0 });

  /** A message with a value in every field, lists and maps with two. */
  function sample(type: string, from: Package, depth = 4): Record<string, unknown> {
    const { deeper, isDeepest } = depthOf(depth);
    const one = (of: string): unknown => SAMPLES[of] ?? (of.startsWith('uint') ? 300 : isDeepest ? null : sample(of, from, deeper));
    const fields = Object.entries(from[type]?.fields ?? {}).map(([name, field]): [string, unknown] => {
      if (field.keyType !== undefined) return [name, { a: one(field.type), 'b c': one(field.type) }];
      return [name, field.rule === 'repeated' ? [one(field.type), one(field.type)] : one(field.type)];
    });
    return Object.fromEntries(fields);
  }

  const services: readonly [string, Package, ServiceDefinition][] = [
    ['Cmd', PACKAGES.cmd, SERVICES.cmd],
    ['CmdInfo', PACKAGES.cmdInfo, SERVICES.cmdInfo],
    ['Notify', PACKAGES.notify, SERVICES.notify],
    ['NotifyInfo', PACKAGES.notifyInfo, SERVICES.notifyInfo],
  ];
  const methods = services.flatMap(([service, from, definition]) =>
    Object.entries(from[service]?.methods ?? {}).map(([name, types]) => ({ name, from, types, definition: definition[name] })),
  );

  it.each(methods)('are those of the full library: $name', ({ from, types, definition }) => {
    if (!definition) throw new Error('the full library does not know it');
    const [request, response] = [sample(types.requestType, from), sample(types.responseType, from)];
    expect(decodeMessage(types.requestType, definition.requestSerialize(request), from)).toEqual(request);
    expect(decodeMessage(types.responseType, definition.responseSerialize(response), from)).toEqual(response);
    expect(definition.requestDeserialize(encodeMessage(types.requestType, request, from))).toEqual(request);
    expect(definition.responseDeserialize(encodeMessage(types.responseType, response, from))).toEqual(response);
    // What was not sent has the same value in both.
    expect(decodeMessage(types.requestType, Buffer.alloc(0), from)).toEqual(definition.requestDeserialize(Buffer.alloc(0)));
    expect(decodeMessage(types.responseType, Buffer.alloc(0), from)).toEqual(definition.responseDeserialize(Buffer.alloc(0)));
  });
});
