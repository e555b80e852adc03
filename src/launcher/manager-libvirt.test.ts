// The manager around a libvirt that goes away at the worst moment, or takes too long.
import { beforeEach, describe, expect, it } from 'vitest';
import { DOMAIN, type FakeLauncherParts, fakeLauncherParts, guestVmi, preparedOf } from '../../test/fakes/fake-launcher-parts.js';
import { systemClock } from '../base/clock.js';
import { answerWithin } from '../base/steps.js';

const vmi = guestVmi();
let parts: FakeLauncherParts;
beforeEach(async () => {
  parts = await fakeLauncherParts();
});
const calls = (...names: string[]): string[] => parts.libvirt.calls.filter((call) => names.includes(call));

describe('sync', () => {
  it('knows a guest that runs although libvirt went away right after it was started', async () => {
    parts.libvirt.failNext('xml', 'the connection was lost');
    await parts.manager.sync(vmi);
    await parts.manager.started;
    expect(await parts.states()).toEqual(['ADDED Running/Unknown']);
    expect(parts.heard.at(-1)?.domain?.spec.machineType).toBe('pc-q35-10.0');
  });

  it('takes a guest as started that libvirt finds again after it went away while it started it', async () => {
    parts.libvirt.failNext('create', 'the connection was lost');
    parts.libvirt.failNext('undefine', 'the connection was lost');
    await expect(parts.manager.sync(vmi)).rejects.toThrow('connection was lost');
    parts.libvirt.change(DOMAIN, { state: 'running', reason: 'booted' }, 'started');
    await parts.manager.sync(vmi);
    await parts.manager.started;
    expect(await parts.states()).toEqual(['ADDED Running/Unknown']);
    expect(calls('create')).toEqual(['create']);
  });

  it('does not carry out what was given up while it waited', async () => {
    const gate = Promise.withResolvers<void>();
    let prepared = 0;
    parts = await fakeLauncherParts(async () => {
      prepared++;
      await gate.promise;
      return preparedOf();
    });
    const first = parts.manager.sync(vmi);
    const late = answerWithin(systemClock, 20, 'SyncVirtualMachine', () => parts.manager.sync(vmi));
    await expect(late).rejects.toMatchObject({ code: 'Timeout', message: expect.stringContaining('waiting for an earlier request') });
    gate.resolve();
    await first;
    await parts.manager.exclusively(async () => undefined);
    expect(prepared).toBe(1);
  });
});
