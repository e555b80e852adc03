// The launcher's link to libvirt where the daemon goes away at the worst moment.
import { beforeEach, describe, expect, it } from 'vitest';
import { FakeLibvirt } from '../../test/fakes/fake-libvirt.js';
import { systemClock } from '../base/clock.js';
import { makeCtx } from '../base/context.js';
import { silentLogger } from '../base/logger.js';
import { LibvirtSession } from './session.js';

const ctx = makeCtx(new AbortController().signal, silentLogger, systemClock);
let libvirt: FakeLibvirt;
let reconnections: number;
let session: LibvirtSession;
beforeEach(() => {
  libvirt = new FakeLibvirt();
  reconnections = 0;
  session = new LibvirtSession(ctx, libvirt, 'fake:///', { event: () => undefined, reconnected: () => void reconnections++ });
});

describe('the session', () => {
  it('gives a connection back that it cannot use', async () => {
    libvirt.failNext('subscribe', 'the daemon went away');
    await expect(session.open()).rejects.toThrow('went away');
    expect(libvirt.connections.size).toBe(0);
  });

  it('connects again, and leaves nothing of the tries that failed', async () => {
    await session.open();
    libvirt.failNext('subscribe', 'not yet');
    libvirt.loseDaemon();
    await expect.poll(() => reconnections, { timeout: 5_000 }).toBe(1);
    expect([libvirt.connections.size, session.isConnected]).toEqual([1, true]);
    await session.close();
    expect(libvirt.connections.size).toBe(0);
  });

  it('notices a daemon that went away before anybody listened for that', async () => {
    await session.open();
    const connect = libvirt.open.bind(libvirt);
    libvirt.open = async (uri) => {
      const conn = await connect(uri);
      const subscribe = conn.subscribe.bind(conn);
      conn.subscribe = async (handler) => {
        const end = await subscribe(handler);
        libvirt.open = connect;
        libvirt.loseDaemon();
        return end;
      };
      return conn;
    };
    libvirt.loseDaemon();
    await expect.poll(() => session.isConnected && reconnections, { timeout: 5_000 }).toBe(2);
    await session.close();
  });
});
