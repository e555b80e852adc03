// Ports of a guest on local ones, and the guest's own words, over a real WebSocket.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { PassThrough } from 'node:stream';
import { describe, expect, it, vi } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { systemClock } from '../../base/clock.js';
import type { Cluster } from './cluster.js';
import { guestCommand } from './guest.js';
import { portForwardCommand } from './port-forward.js';
import type { Terminal } from './terminal.js';

function terminalOf(stop: AbortController): { terminal: Terminal; notes: string[]; output: PassThrough } {
  const notes: string[] = [];
  const output = new PassThrough();
  return { terminal: { input: new PassThrough(), output, note: (line) => notes.push(line), signal: stop.signal }, notes, output };
}

/** A port that is free now. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

describe('portForwardCommand', () => {
  it('gives each connection a stream of its own, and ends when it is stopped', async () => {
    const guest = new WebSocketServer({ port: 0, host: '127.0.0.1' });
    guest.on('connection', (ws, request) => ws.on('message', (data) => ws.send(Buffer.from(`${request.url} heard ${data}`))));
    await once(guest, 'listening');
    const dial = async (name: string, verb: string): Promise<WebSocket> => {
      if (verb.includes('/81/')) throw new Error('nobody listens there');
      const ws = new WebSocket(`ws://127.0.0.1:${(guest.address() as AddressInfo).port}/${name}/${verb}`);
      await once(ws, 'open');
      return ws;
    };
    const stop = new AbortController();
    const { terminal, notes } = terminalOf(stop);
    const [http, closed] = [await freePort(), await freePort()];
    const ports = [
      { local: http, remote: 80 },
      { local: closed, remote: 81 },
    ];
    const cluster = { namespace: 'default', dial } as unknown as Cluster;
    const code = portForwardCommand(cluster, { name: 'web', address: '127.0.0.1', ports }, { terminal, clock: systemClock });
    await vi.waitFor(() => expect(notes.filter((note) => note.includes('leads to'))).toHaveLength(2));
    for (const word of ['a', 'b']) {
      const visitor = connect(http, '127.0.0.1');
      visitor.write(word);
      const [heard] = (await once(visitor, 'data')) as [Buffer];
      expect(String(heard)).toBe(`/web/portforward/80/tcp heard ${word}`);
      visitor.destroy();
    }
    await once(connect(closed, '127.0.0.1').resume(), 'close');
    expect(notes).toContain('Cannot open port 81 of default/web: nobody listens there');
    stop.abort();
    expect(await code).toBe(0);
    for (const ws of guest.clients) ws.terminate();
    await new Promise((resolve) => guest.close(resolve));
  });

  it('says when a local port is taken', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const { terminal } = terminalOf(new AbortController());
    const cluster = { namespace: 'default' } as unknown as Cluster;
    const command = { name: 'web', address: '127.0.0.1', ports: [{ local: port, remote: 80 }] };
    await expect(portForwardCommand(cluster, command, { terminal, clock: systemClock })).rejects.toThrow(
      `cannot listen on 127.0.0.1:${port}`,
    );
    taken.close();
  });
});

describe('guestCommand', () => {
  it('prints what the guest says', async () => {
    const asked: unknown[] = [];
    const cluster = {
      get: async (...args: unknown[]) => {
        asked.push(args);
        return { items: [] };
      },
    } as unknown as Cluster;
    const { terminal, output } = terminalOf(new AbortController());
    expect(await guestCommand(cluster, 'fslist', 'web', terminal)).toBe(0);
    expect(asked).toEqual([['virtualmachineinstances', 'web', 'filesystemlist']]);
    expect(JSON.parse(String(output.read()))).toEqual({ items: [] });
  });
});
