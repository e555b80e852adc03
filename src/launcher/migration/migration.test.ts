// Both ends of a migration against the fake libvirt: what is begun once, what is refused, what the node agent hears.
import { beforeEach, describe, expect, it } from 'vitest';
import { DOMAIN, domainXml, type FakeLauncherParts, fakeLauncherParts, guestVmi } from '../../../test/fakes/fake-launcher-parts.js';
import type { VirtualMachineInstance } from '../../api/index.js';
import { readDomain } from '../../core/converter/index.js';
import { hasArrived, interfacesToRelink, isPausedByUser, misfits, relinked } from './arrival.js';

const POLL = { interval: 5, timeout: 3_000 };
const moving = (uid = 'm1', status: object = {}): VirtualMachineInstance => ({
  ...guestVmi(),
  status: { migrationState: { migrationUid: uid }, ...status },
});
const URI = 'migrate:qemu+unix:///session?socket=/var/run/kubevirt/migrationproxy/u1-source.sock';
let parts: FakeLauncherParts;
beforeEach(async () => {
  parts = await fakeLauncherParts();
});
const ended = () => expect.poll(() => parts.record.migration, POLL);

describe('source', () => {
  beforeEach(() => parts.manager.sync(guestVmi()));

  it('moves the guest once, and tells how it went', async () => {
    await parts.source.start(moving(), {});
    expect(parts.record.migration).toMatchObject({ uid: 'm1', mode: 'PreCopy', startTimestamp: expect.any(String) });
    await ended().toMatchObject({ uid: 'm1', completed: true, endTimestamp: expect.any(String) });
    expect(parts.libvirt.calls.filter((call) => call === URI)).toHaveLength(1);
    expect((await parts.states()).at(-1)).toBe('MODIFIED Shutoff/Migrated');
    expect(parts.heard.at(-1)?.domain?.spec.migration).toMatchObject({ completed: true });
    await expect(parts.source.start(moving(), {})).rejects.toMatchObject({
      code: 'Conflict',
      retry: 'never',
      message: expect.stringContaining('succeeded'),
    });
  });

  it.each<[string, VirtualMachineInstance, unknown, object]>([
    ['without a uid', guestVmi(), {}, { code: 'NotReady', message: 'cannot migrate VMI until migrationState is ready' }],
    ['with options that are none', moving(), { Bandwidth: 'x' }, { code: 'Invalid' }],
    [
      'during a backup',
      moving('m1', { changedBlockTracking: { state: 'Enabled', backupStatus: { backupName: 'b' } } }),
      {},
      { code: 'Conflict', message: 'cannot migrate VMI until backup b is completed' },
    ],
  ])('refuses a migration %s', async (_title, vmi, options, failure) => {
    await expect(parts.source.start(vmi, options)).rejects.toMatchObject(failure);
    expect(parts.record.migration).toBeUndefined();
  });

  it('does not move a guest that is to be thawed here', async () => {
    for (const [command, answer] of [
      ['guest-fsfreeze-status', 'thawed'],
      ['guest-fsfreeze-freeze', 1],
      ['guest-fsfreeze-thaw', 1],
    ] as const)
      parts.libvirt.agent.set(command, answer);
    await parts.guest.freeze(300);
    await expect(parts.source.start(moving(), {})).rejects.toMatchObject({ code: 'NotReady', message: expect.stringContaining('frozen') });
    await parts.guest.unfreeze();
    await parts.source.start(moving(), {});
    await ended().toMatchObject({ completed: true });
  });

  it('tells libvirt’s reason, and lets another migration be tried', async () => {
    parts.libvirt.failNext(URI, 'no route');
    await parts.source.start(moving(), {});
    await ended().toMatchObject({ failed: true, failureReason: 'Live migration failed: no route' });
    await parts.source.start(moving('m2'), {});
    await ended().toMatchObject({ uid: 'm2', completed: true });
  });

  describe('while the guest moves', () => {
    beforeEach(async () => {
      parts.libvirt.migration = Promise.withResolvers();
      parts.libvirt.jobType = 'unbounded';
      await parts.source.start(moving(), {});
      await expect.poll(() => parts.libvirt.calls, POLL).toContain(URI);
    });

    it('answers the same request, and refuses others', async () => {
      await parts.source.start(moving(), {});
      await expect(parts.source.start(moving('m2'), {})).rejects.toMatchObject({
        code: 'Conflict',
        message: expect.stringContaining('m1'),
      });
      await expect(parts.manager.sync(guestVmi())).rejects.toMatchObject({ code: 'NotReady' });
      await expect(parts.manager.syncMemory(guestVmi())).rejects.toMatchObject({ code: 'NotReady' });
      await expect(parts.guest.freeze(300)).rejects.toMatchObject({ code: 'NotReady' });
      await expect(parts.lifecycle.reset()).rejects.toMatchObject({ code: 'Conflict' });
      parts.libvirt.migration?.resolve();
      await ended().toMatchObject({ completed: true });
    });

    it('has libvirt’s figures until it is over', async () => {
      parts.libvirt.stats.set('data_remaining', 7);
      await expect.poll(() => parts.source.figures?.get('data_remaining'), POLL).toBe(7);
      parts.libvirt.migration?.resolve();
      await ended().toMatchObject({ completed: true });
      expect(parts.source.figures).toBeUndefined();
    });

    it('can be cancelled, once or twice', async () => {
      await parts.source.cancel();
      expect(parts.record.migration).toMatchObject({ abortStatus: 'Aborting' });
      await parts.source.cancel();
      await ended().toMatchObject({ failed: true, failureReason: 'Live migration has been aborted', abortStatus: 'Succeeded' });
      await expect(parts.source.cancel()).rejects.toMatchObject({ message: 'failed to cancel migration - vmi is not migrating' });
    });

    it('goes on when libvirt cannot cancel it, and says so', async () => {
      parts.libvirt.failNext('abortJob', 'it is too late');
      await parts.source.cancel();
      await ended().toMatchObject({ abortStatus: 'Failed' });
      parts.libvirt.migration?.resolve();
      await ended().toMatchObject({ completed: true, abortStatus: 'Failed' });
    });

    it('ends before the guest is shut down', async () => {
      await parts.lifecycle.shutdown();
      expect(parts.record.migration).toMatchObject({ failed: true, abortStatus: 'Succeeded' });
      const { calls } = parts.libvirt;
      expect(calls.indexOf('abortJob')).toBeLessThan(calls.indexOf('shutdown'));
    });
  });
});

it('is no source without a guest', async () => {
  await expect(parts.source.start(moving(), {})).rejects.toMatchObject({ code: 'NotFound' });
});

describe('target', () => {
  /** libvirt takes the guest in. */
  const arrive = (state: 'paused' | 'running', reason: string): void => {
    const domain = parts.libvirt.domains.get(DOMAIN);
    if (domain) Object.assign(domain, { state, reason });
    else parts.libvirt.domains.set(DOMAIN, { name: DOMAIN, uuid: 'u', xml: domainXml(), state, reason });
    parts.libvirt.emit({ kind: 'lifecycle', domain: { name: DOMAIN, uuid: 'u' }, event: 'started', detail: 1 });
  };

  it('takes a guest in, and starts none itself', async () => {
    await parts.target.sync(moving());
    await parts.target.sync(moving());
    await expect(parts.manager.sync(guestVmi())).rejects.toMatchObject({ code: 'Conflict' });
    await expect(parts.target.finalize(moving())).rejects.toMatchObject({ code: 'NotReady' });
    arrive('paused', 'migration');
    await parts.manager.started;
    expect(await parts.states()).toEqual(['ADDED Paused/Migration']);
    await expect(parts.target.finalize(moving())).rejects.toMatchObject({ code: 'NotReady' });
    arrive('running', 'migrated');
    await ended().toMatchObject({ uid: 'm1', completed: true });
    await parts.target.finalize(moving());
    expect((await parts.states()).at(-1)).toBe('MODIFIED Running/Unknown');
    expect(parts.heard.at(-1)?.domain?.spec).toMatchObject({ machineType: 'pc-q35-10.0', migration: { uid: 'm1', completed: true } });
    await parts.manager.sync(guestVmi());
    await parts.target.sync(moving());
  });

  it('leaves a guest paused that its user paused, and lets any other run', async () => {
    const conditions = [{ type: 'Paused', status: 'True', reason: 'PausedByUser' }];
    await parts.target.sync(moving('m1', { conditions }));
    arrive('paused', 'user');
    await ended().toMatchObject({ completed: true });
    await parts.target.finalize(moving());
    expect((await parts.states()).at(-1)).toBe('MODIFIED Paused/User');
    parts.record.userPaused = false;
    await parts.target.finalize(moving());
    expect((await parts.states()).at(-1)).toBe('MODIFIED Running/Unknown');
  });

  it('tells that the guest did not come', async () => {
    await parts.target.sync(moving());
    arrive('paused', 'migration');
    await parts.manager.started;
    parts.libvirt.domains.delete(DOMAIN);
    await expect.poll(async () => (await parts.states()).at(-1), POLL).toBe('DELETED NoState/NonExistent');
    expect(parts.record.migration).toBeUndefined();
  });

  it('refuses where a guest of its own runs', async () => {
    await parts.manager.sync(guestVmi());
    await expect(parts.target.sync(moving())).rejects.toMatchObject({ code: 'Conflict', retry: 'never' });
    await expect(parts.target.dismiss(moving())).rejects.toMatchObject({ code: 'Conflict' });
  });

  it.each<[string, string | undefined, boolean]>([
    ['its own', 'this-pod', true],
    ['another', 'other-pod', false],
    ['none', undefined, true],
  ])('ends when the pod that is not needed is %s', async (_title, targetPod, isMeant) => {
    await parts.target.sync(moving());
    arrive('paused', 'migration');
    await parts.manager.started;
    let isDismissed = false;
    void parts.target.dismissed.then(() => {
      isDismissed = true;
    });
    await parts.target.dismiss(moving('m1', { migrationState: { ...(targetPod === undefined ? {} : { targetPod }) } }));
    expect(parts.libvirt.calls.includes('destroy')).toBe(isMeant);
    // The answer goes first.
    expect(isDismissed).toBe(false);
    if (isMeant) await expect.poll(() => isDismissed, POLL).toBe(true);
  });
});

describe('an arrival', () => {
  it.each<['running' | 'paused' | 'shutoff', string, boolean]>([
    ['running', 'migrated', true],
    ['running', 'postcopy', true],
    ['running', 'postcopy-failed', false],
    ['paused', 'migration', false],
    ['paused', 'postcopy', false],
    ['paused', 'user', true],
    ['paused', 'io-error', true],
    ['shutoff', 'failed', false],
  ])('%s/%s', (state, reason, expected) => {
    expect(hasArrived({ state, reason })).toBe(expected);
  });

  it('is told of images whose size was written down', () => {
    const disk = (name: string, file: string, more = ''): string =>
      `<disk type="file"><source file="${file}"/><target dev="${name}"/>${more}<alias name="ua-${name}"/></disk>`;
    const devices = [
      disk('init', '/c/noCloud.iso'),
      disk('root', '/d/disk.qcow2'),
      disk('conf', '/c/conf.iso', '<readonly/>'),
      disk('new', '/c/n.iso'),
    ];
    const volumeStatus = ['init', 'root', 'conf'].map((name) => ({ name, target: name, size: 4096 }));
    const vmi = { ...guestVmi(), status: { volumeStatus } };
    expect(misfits(readDomain(domainXml(devices.join(''))), vmi)).toEqual([{ name: 'init', path: '/c/noCloud.iso', bytes: 4096 }]);
  });

  it('takes a link away and brings it back, where a plugin wants that', () => {
    const names = interfacesToRelink({ interfaceMigration: { net: { Method: 'link-refresh' }, other: { Method: '' } } });
    expect([...names]).toEqual(['net']);
    const iface = (name: string, link = ''): string => `<interface>${link}<alias name="ua-${name}"/></interface>`;
    const domain = readDomain(domainXml(iface('net') + iface('other')));
    expect(relinked(domain, names).map(({ down, up }) => [/<link.*/.exec(down)?.[0], /<link.*/.exec(up)?.[0]])).toEqual([
      ['<link state="down"/>', '<link state="up"/>'],
    ]);
    expect(relinked(readDomain(domainXml(iface('net', '<link state="down"/>'))), names)).toEqual([]);
    expect([...interfacesToRelink(undefined)]).toEqual([]);
  });

  it('knows who paused it', () => {
    const paused = (reason: string): VirtualMachineInstance => moving('m', { conditions: [{ type: 'Paused', status: 'True', reason }] });
    expect([paused('PausedByUser'), paused('PausedIOError'), moving()].map(isPausedByUser)).toEqual([true, false, false]);
  });
});
