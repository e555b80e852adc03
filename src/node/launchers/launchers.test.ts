// A launcher over real sockets, and one that is up to something: sockets exchanged behind the agent's back, floods of notifications. Also what
// counts as silence.
import { rename, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { POD_UID, UID } from '../../../test/builders/node-vm.js';
import { type FakeLauncher, startFakeLauncher } from '../../../test/fakes/fake-launcher.js';
import { scratchDir } from '../../../test/fakes/scratch.js';
import { type Clock, systemClock } from '../../base/clock.js';
import { makeCtx } from '../../base/context.js';
import { silentLogger } from '../../base/logger.js';
import { type CmdClient, createCmdClient, createNotifyClient, serveCmd } from '../../rpc/index.js';
import { createGhostRecords } from './ghost-records.js';
import type { Launcher } from './launcher.js';
import { Launchers } from './launchers.js';

let dir: string;
let now: number;
let fake: FakeLauncher;
let launchers: Launchers;
let launcher: Launcher;
const events: string[] = [];
const clock: Clock = { now: () => now, after: (ms, fn) => systemClock.after(ms, fn) };
const ctx = () => makeCtx(new AbortController().signal, silentLogger, clock);
const volume = (name: string): string => join(dir, 'pods', POD_UID, 'volumes/kubernetes.io~empty-dir', name);

function makeLaunchers(connect?: (path: string) => CmdClient): Launchers {
  return new Launchers({
    podsDir: join(dir, 'pods'),
    ghosts: createGhostRecords(join(dir, 'private')),
    watchdogMs: 30_000,
    wake: () => undefined,
    emit: (event) => events.push(`${event.type} ${event.reason}: ${event.message}`),
    belongsToPod: async () => true,
    ...(connect ? { connect } : {}),
  });
}

beforeEach(async () => {
  dir = scratchDir();
  now = 1_000_000;
  events.length = 0;
  fake = await startFakeLauncher({ podsDir: join(dir, 'pods'), now: () => now });
  await fake.publish();
  launchers = makeLaunchers();
  launcher = await launchers.manage(ctx(), { uid: UID, namespace: 'default', name: 'vm', podUid: POD_UID });
  await launchers.adopt(ctx(), launcher);
});
afterEach(async () => {
  await launchers.close();
  await fake.stop();
});

describe('silence', () => {
  it('does not blame a launcher for a time in which nobody asked it', async () => {
    await fake.stop();
    now += 3_600_000;
    await launchers.probe(ctx(), launcher);
    expect(launcher.state).toBe('ready');
    now += 31_000;
    await launchers.probe(ctx(), launcher);
    expect(launcher.state).toBe('unresponsive');
  });

  it('is not what it takes for an agent without the kubelet’s directory to give its guests up', async () => {
    await fake.set('Running');
    await launchers.close();
    await rename(join(dir, 'pods'), join(dir, 'not-mounted'));
    const again = makeLaunchers();
    const found = await again.manage(ctx(), { uid: UID, namespace: 'default', name: 'vm', podUid: POD_UID });
    await expect(again.adopt(ctx(), found)).rejects.toMatchObject({ code: 'NotReady', message: expect.stringContaining('is it mounted') });
    await rename(join(dir, 'not-mounted'), join(dir, 'pods'));
    await again.adopt(ctx(), found);
    expect([found.state, found.domain?.status.status]).toEqual(['ready', 'Running']);
    await again.close();
  });

  /** As a restarted agent finds it: its guest runs, and libvirt is busy for minutes. */
  async function findStuck(deadlineMs: number): Promise<{ again: Launchers; found: Launcher }> {
    await launchers.close();
    fake.isStuck = true;
    const again = makeLaunchers((path) => createCmdClient(path, { deadlineMs }));
    const found = await again.manage(ctx(), { uid: UID, namespace: 'default', name: 'vm', podUid: POD_UID });
    return { again, found };
  }

  it('is not what a launcher keeps that says where it is stuck; the VMI shows it', async () => {
    const { again, found } = await findStuck(1_500);
    for (let look = 0; look < 3; look++) {
      await expect(again.adopt(ctx(), found)).rejects.toMatchObject({ code: 'Timeout', reason: 'StuckAtStep' });
      now += 60_000;
    }
    expect(found.state).not.toBe('unresponsive');
    fake.isStuck = false;
    await again.adopt(ctx(), found);
    expect(found.state).toBe('ready');
    await again.close();
  });

  it('is not what a launcher keeps that listens and has no time to answer', async () => {
    const { again, found } = await findStuck(20);
    for (let look = 0; look < 3; look++) {
      await again.adopt(ctx(), found);
      now += 60_000;
    }
    expect(found.state).not.toBe('unresponsive');
    await fake.stop();
    await again.adopt(ctx(), found);
    now += 60_000;
    await again.adopt(ctx(), found);
    expect(found.state).toBe('unresponsive');
    await again.close();
  });
});

describe('a pod that is not trusted', () => {
  it('is talked to by the socket that was proven, whatever is put in its place', async () => {
    const other = await serveCmd(join(dir, 'other'), { getDomain: async () => undefined });
    await fake.set('Running');
    await rename(join(volume('sockets'), 'launcher-sock'), join(volume('sockets'), 'away'));
    await symlink(join(dir, 'other'), join(volume('sockets'), 'launcher-sock'));
    // A connection that is made anew.
    const again = createCmdClient(launcher.client?.socketPath ?? '');
    expect((await again.getDomain())?.status.status).toBe('Running');
    again.close();
    await other.close();
  });

  it('emits only so many events, of limited length', async () => {
    const notify = createNotifyClient(join(volume('public'), 'domain-notify-pipe.sock'));
    const involved = { namespace: 'default', name: 'vm', uid: UID };
    const emit = (): Promise<void> => notify.k8sEvent({ type: 'Warning', reason: 'IOerror', message: 'x'.repeat(5000), involved });
    for (let i = 0; i < 20; i++) await emit();
    await expect(emit()).rejects.toMatchObject({ code: 'Unavailable', retry: 'never' });
    expect(events).toHaveLength(20);
    expect(events[0]).toHaveLength('Warning IOerror: '.length + 1024);
    notify.close();
  });

  it('is turned away when it floods us with states', async () => {
    const notify = createNotifyClient(join(volume('public'), 'domain-notify-pipe.sock'));
    const send = (): Promise<void> => notify.domainEvent({ type: 'MODIFIED', ...(fake.domain ? { domain: fake.domain } : {}) });
    const outcomes = await Promise.race([
      Promise.allSettled(Array.from({ length: 60 }, send)).then(() => 'all at once'),
      new Promise<string>((resolve) => setTimeout(() => resolve('slowed down'), 500)),
    ]);
    expect(outcomes).toBe('slowed down');
    notify.close();
  });
});
