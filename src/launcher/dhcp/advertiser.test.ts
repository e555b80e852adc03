import { EventEmitter } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../base/clock.js';
import { makeCtx } from '../../base/context.js';
import { silentLogger } from '../../base/logger.js';
import { Advertiser } from './advertiser.js';

const PACKET = Uint8Array.of(134);
const SOLICITATION = Buffer.from('8500000000000000', 'hex');
const GUEST = 'fe80::11ff:fe22:3344%k6t-eth0';
const MINUTES = 60_000;

class FakeSocket extends EventEmitter {
  readonly sent: string[] = [];
  isClosed = false;
  send(packet: Uint8Array, port: number, to: string): void {
    expect(packet).toBe(PACKET);
    this.sent.push(`${to} ${port}`);
  }
  close(): this {
    this.isClosed = true;
    return this;
  }
  ask(from: string, message: Uint8Array = SOLICITATION): void {
    this.emit('message', message, { address: from });
  }
}

let socket: FakeSocket;
let advertiser: Advertiser;
beforeEach(() => {
  vi.useFakeTimers();
  socket = new FakeSocket();
  const ctx = makeCtx(new AbortController().signal, silentLogger, systemClock);
  advertiser = new Advertiser(ctx, socket as unknown as ConstructorParameters<typeof Advertiser>[1], {
    bridge: 'k6t-eth0',
    packet: PACKET,
    port: 58,
  });
});
afterEach(() => {
  advertiser.close();
  vi.useRealTimers();
});

describe('the advertiser', () => {
  it('answers whom it is asked by', () => {
    socket.ask(GUEST);
    expect(socket.sent).toEqual([`${GUEST} 58`]);
  });
  it('answers everybody where the guest has no address yet', () => {
    socket.ask('::%k6t-eth0');
    expect(socket.sent).toEqual(['ff02::1 58']);
  });
  it('does not answer what is no solicitation', () => {
    socket.ask(GUEST, Buffer.from('8500', 'hex'));
    socket.ask(GUEST, Buffer.from('8800000000000000', 'hex'));
    expect(socket.sent).toEqual([]);
  });
  it('answers five times a second at most', async () => {
    for (let i = 0; i < 1000; i++) {
      socket.ask(GUEST);
      await vi.advanceTimersByTimeAsync(1);
    }
    expect(socket.sent).toHaveLength(5);
  });
  it('answers everybody once in three seconds at most', async () => {
    for (let i = 0; i < 60; i++) {
      socket.ask('::');
      await vi.advanceTimersByTimeAsync(100);
    }
    expect(socket.sent).toEqual(['ff02::1 58', 'ff02::1 58']);
  });
  it('speaks unasked every ten minutes, until it is closed', async () => {
    await vi.advanceTimersByTimeAsync(35 * MINUTES);
    expect(socket.sent).toEqual(Array(3).fill('ff02::1 58'));
    advertiser.close();
    expect(socket.isClosed).toBe(true);
    await vi.advanceTimersByTimeAsync(60 * MINUTES);
    expect(socket.sent).toHaveLength(3);
    expect(vi.getTimerCount()).toBe(0);
  });
});
