import { describe, expect, it } from 'vitest';
import type { DomainReport, DomainState } from '../api/domain-report.js';
import { systemClock } from '../base/clock.js';
import { makeCtx } from '../base/context.js';
import { KvError } from '../base/errors.js';
import { silentLogger } from '../base/logger.js';
import type { LauncherEvent, NotifyClient } from '../rpc/index.js';
import { Notifier } from './notify-client.js';

const report = (status: DomainState): DomainReport => ({
  metadata: { name: 'vm1', namespace: 'ns', uid: 'u1' },
  spec: { disks: [], interfaces: [] },
  status: { status },
});
const ioError: LauncherEvent = { type: 'Warning', reason: 'IOerror', message: 'm', involved: { namespace: 'ns', name: 'vm1', uid: 'u1' } };

/** A node agent that is away for the first `failures` calls and takes a moment for each. */
function agent(failures = 0): { heard: string[]; client: NotifyClient } {
  const heard: string[] = [];
  let left = failures;
  const take = async (what: string): Promise<void> => {
    await new Promise((resolve) => setImmediate(resolve));
    if (left-- > 0) throw new KvError('LauncherUnreachable', 'nobody');
    heard.push(what);
  };
  return {
    heard,
    client: {
      negotiate: async () => 1,
      domainEvent: ({ type, domain }) => take(`${type} ${domain?.status.status}`),
      k8sEvent: (event) => take(event.reason),
      close: () => undefined,
    },
  };
}

const ctx = makeCtx(new AbortController().signal, silentLogger, systemClock);

describe('Notifier', () => {
  it('announces, changes and deletes in order', async () => {
    const { heard, client } = agent();
    const notifier = new Notifier(ctx, client);
    notifier.domain(report('Running'));
    await notifier.flush(1000);
    notifier.domain(report('Paused'));
    notifier.event(ioError);
    notifier.deleted(report('Shutoff'));
    expect(await notifier.flush(1000)).toBe(true);
    expect(heard).toEqual(['ADDED Running', 'MODIFIED Paused', 'IOerror', 'DELETED Shutoff']);
  });

  it('says nothing twice', async () => {
    const { heard, client } = agent();
    const notifier = new Notifier(ctx, client);
    notifier.domain(report('Running'));
    notifier.domain(report('Running'));
    await notifier.flush(1000);
    expect(heard).toEqual(['ADDED Running']);
  });

  it('tries again until the agent is there', async () => {
    const { heard, client } = agent(3);
    const notifier = new Notifier(ctx, client);
    notifier.domain(report('Running'));
    expect(await notifier.flush(5000)).toBe(true);
    expect(heard).toEqual(['ADDED Running']);
  });

  it('skips states nobody heard of, and keeps the last', async () => {
    const { heard, client } = agent();
    const notifier = new Notifier(ctx, client);
    for (const state of ['Running', 'Paused', 'Running', 'ShuttingDown', 'Shutoff'] as const) notifier.domain(report(state));
    await notifier.flush(1000);
    expect(heard).toEqual(['ADDED Running', 'MODIFIED Shutoff']);
  });

  it('keeps the announcement when its first state is replaced', async () => {
    const { heard, client } = agent();
    const notifier = new Notifier(ctx, client);
    notifier.event(ioError);
    notifier.domain(report('Running'));
    notifier.domain(report('Paused'));
    await notifier.flush(1000);
    expect(heard).toEqual(['IOerror', 'ADDED Paused']);
  });

  it('does not hold the last state back behind one that is refused again and again', async () => {
    const heard: string[] = [];
    const notifier = new Notifier(ctx, {
      ...agent().client,
      domainEvent: async ({ type, domain }) => {
        if (domain?.status.status === 'Running') throw new KvError('Invalid', 'no such state', { retry: 'backoff' });
        heard.push(`${type} ${domain?.status.status}`);
      },
    });
    notifier.domain(report('Running'));
    await notifier.flush(20);
    notifier.domain(report('Shutoff'));
    notifier.deleted(report('NoState'));
    expect(await notifier.flush(5000)).toBe(true);
    expect(heard).toEqual(['ADDED Shutoff', 'DELETED NoState']);
  });

  it('tells an event that the agent does not want no second time', async () => {
    const { heard, client } = agent();
    const k8sEvent = async (): Promise<void> => {
      throw new KvError('Internal', 'cannot read properties of undefined');
    };
    const notifier = new Notifier(ctx, { ...client, k8sEvent });
    notifier.event(ioError);
    notifier.domain(report('Running'));
    expect(await notifier.flush(1000)).toBe(true);
    expect(heard).toEqual(['ADDED Running']);
  });

  it('loses no state when so many events come that the oldest is dropped while it is told', async () => {
    const { heard, client } = agent();
    const notifier = new Notifier(ctx, client);
    notifier.event(ioError);
    notifier.domain(report('Shutoff'));
    for (let i = 0; i < 60; i++) notifier.event(ioError);
    expect(await notifier.flush(5000)).toBe(true);
    expect(heard.filter((what) => what !== 'IOerror')).toEqual(['ADDED Shutoff']);
  });

  it('gives up waiting, not trying', async () => {
    const { client } = agent(1000);
    const notifier = new Notifier(ctx, client);
    notifier.domain(report('Running'));
    expect(await notifier.flush(20)).toBe(false);
  });
});
