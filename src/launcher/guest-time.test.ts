// The guest's clock after a pause: set by its agent with the time of that moment, again where the agent needs one, not while the guest is paused.
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { systemClock } from '../base/clock.js';
import { makeCtx } from '../base/context.js';
import { silentLogger } from '../base/logger.js';
import type { AgentCommand } from './agent-poller.js';
import { Lifecycle } from './lifecycle.js';
import { newRecord } from './report.js';

const START = Date.parse('2026-01-01T00:00:00Z');
const record = newRecord({ name: 'vm1', namespace: 'ns', uid: 'u1' });
const stop = new AbortController();
let isKnown: boolean;
let failures: number;
/** Milliseconds after the start → the time that was set. */
let set: [at: number, time: number][];

beforeEach(() => {
  vi.useFakeTimers({ now: START });
  Object.assign(record, { userPaused: false });
  [isKnown, failures, set] = [true, 0, []];
});
afterEach(() => vi.useRealTimers());

async function command(given: AgentCommand | (() => AgentCommand)): Promise<unknown> {
  if (failures-- > 0) throw new Error('the agent is out of step');
  const { arguments: args } = typeof given === 'function' ? given() : given;
  set.push([Date.now() - START, (args as { time: number }).time / 1_000_000 - START]);
  return {};
}

const lifecycle = new Lifecycle({
  ctx: makeCtx(stop.signal, silentLogger, systemClock),
  agent: { supports: () => isKnown, command },
  record,
} as unknown as ConstructorParameters<typeof Lifecycle>[0]);

const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

it('is set at once', async () => {
  lifecycle.correctGuestTime();
  await pass(60_000);
  expect(set).toEqual([[0, 0]]);
});

it('is set again, with the time it is then, by an agent that failed', async () => {
  failures = 2;
  lifecycle.correctGuestTime();
  await pass(60_000);
  expect(set).toEqual([[7_000, 7_000]]);
});

it('is set once the launcher knows what the agent can do', async () => {
  isKnown = false;
  lifecycle.correctGuestTime();
  await pass(3_000);
  isKnown = true;
  await pass(60_000);
  expect(set).toEqual([[7_000, 7_000]]);
});

it('is left to the next start where the guest is paused again', async () => {
  failures = 1;
  lifecycle.correctGuestTime();
  await pass(1_000);
  record.userPaused = true;
  await pass(60_000);
  expect(set).toEqual([]);
});

it('is given up after some tries', async () => {
  failures = 100;
  lifecycle.correctGuestTime();
  await pass(600_000);
  expect([set, failures]).toEqual([[], 95]);
});
