// What is done about a migration that does not end, look by look.
import { describe, expect, it } from 'vitest';
import { readMigrationOptions } from '../../core/migration/options.js';
import { DowntimeTuning } from './downtime-tuning.js';
import { type Action, completionMs, Ladder, type Look, type Migrating, type Watch } from './ladder.js';
import { StallDetector } from './stall-detector.js';

const GIB = 1024n ** 3n;
const migrating = (wire: object = {}, hasHostDevices = false): Migrating => ({
  options: readMigrationOptions({ CompletionTimeoutPerGiB: 10, ProgressTimeout: 5, ...wire }),
  bytes: 500_000_000n,
  hasHostDevices,
});

/** [seconds, bytes left] or a whole look. */
type Seen = readonly [number, number] | Partial<Look>;

function play(watch: Watch, seen: readonly Seen[]): Action[] {
  let mode: Look['mode'] = 'PreCopy';
  return seen.map((one) => {
    const look = Array.isArray(one) ? { elapsedMs: one[0] * 1000, remainingBytes: one[1] } : one;
    const action = watch.look({ elapsedMs: 0, mode, ...look } as Look);
    if (action.kind === 'post-copy') mode = 'PostCopy';
    if (action.kind === 'pause' || (action.kind === 'downtime' && action.isEnd)) mode = 'Paused';
    return action;
  });
}

const nothing = { kind: 'nothing' };
const stuck = (s: number) => ({ kind: 'abort', reason: `Live migration stuck for ${s} seconds and has been aborted` });
const late = (s: number) => ({ kind: 'abort', reason: `Live migration is not completed after ${s} seconds and has been aborted` });

describe('the time that a migration may take', () => {
  it.each<[string, bigint, number, number]>([
    ['counts begun gigabytes', 1_500_000_000n, 10, 20_000],
    ['knows that a GiB is more than one', GIB, 10, 20_000],
    ['is endless with 0', GIB, 0, 0],
  ])('%s', (_title, bytes, perGiB, expected) => {
    expect(completionMs({ bytes, options: readMigrationOptions({ CompletionTimeoutPerGiB: perGiB }) })).toBe(expected);
  });
});

describe('ladder', () => {
  it.each<[string, Migrating, readonly Seen[], readonly object[]]>([
    [
      'waits while less is left each time',
      migrating(),
      [
        [1, 90],
        [4, 80],
        [8, 70],
      ],
      [nothing, nothing, nothing],
    ],
    [
      'gives up when nothing moves',
      migrating(),
      [
        [1, 90],
        [5, 90],
        [7, 90],
      ],
      [nothing, nothing, stuck(6)],
    ],
    [
      'takes less than the last time for progress',
      migrating({ CompletionTimeoutPerGiB: 0 }),
      [
        [1, 50],
        [4, 90],
        [8, 80],
        [12, 79],
      ],
      [nothing, nothing, nothing, nothing],
    ],
    ['waits for figures', migrating({ ProgressTimeout: 0 }), [{ elapsedMs: 9_000 }], [nothing]],
    [
      'gives up when time is over',
      migrating({ ProgressTimeout: 0 }),
      [
        [9, 9],
        [11, 9],
      ],
      [nothing, late(10)],
    ],
    [
      'pauses the guest where that is allowed, and waits as long again',
      migrating({ AllowWorkloadDisruption: true, ProgressTimeout: 0 }),
      [
        [11, 9],
        [19, 9],
        [21, 9],
      ],
      [{ kind: 'pause' }, nothing, late(20)],
    ],
    [
      'gives up on a paused guest whose data does not move',
      migrating({ AllowWorkloadDisruption: true }),
      [
        [11, 9],
        [13, 9],
        [17, 9],
      ],
      [{ kind: 'pause' }, nothing, stuck(6)],
    ],
    [
      'prefers post-copy, and then leaves it alone',
      migrating({ AllowWorkloadDisruption: true, AllowPostCopy: true }),
      [
        [11, 9],
        [99, 9],
      ],
      [{ kind: 'post-copy' }, nothing],
    ],
    ['needs more than post-copy to be allowed', migrating({ AllowPostCopy: true, ProgressTimeout: 0 }), [[11, 9]], [late(10)]],
    [
      'lets QEMU stop a guest with devices of the host',
      migrating({ AllowWorkloadDisruption: true, AllowPostCopy: true, ProgressTimeout: 0 }, true),
      [
        [11, 9],
        [21, 9],
      ],
      [{ kind: 'downtime', ms: 20_000, isEnd: true }, late(20)],
    ],
    ['never ends for time without a limit', migrating({ CompletionTimeoutPerGiB: 0, ProgressTimeout: 0 }), [[9999, 9]], [nothing]],
  ])('%s', (_title, given, seen, expected) => {
    expect(play(new Ladder(given), seen)).toEqual(expected);
  });
});

describe('downtime tuning', () => {
  it('climbs from the first iterations on, a step each time it has cooled down, up to the most', () => {
    const steps = { initialMs: 100, steps: 2, startAfterIteration: 3, cooldownMs: 10_000 };
    const quiet: Watch = { look: () => ({ kind: 'nothing' }) };
    const at = (s: number, iteration: number): Partial<Look> => ({ elapsedMs: s * 1000, iteration });
    const played = play(new DowntimeTuning(quiet, steps, 900), [
      at(0, 1),
      at(5, 2),
      at(6, 3),
      at(15, 4),
      at(16, 4),
      at(17, 5),
      at(26, 6),
      at(99, 9),
    ]);
    expect(played.map((action) => (action.kind === 'downtime' ? action.ms : action.kind))).toEqual([
      ...[100, 'nothing', 'nothing', 'nothing', 500, 'nothing', 900, 'nothing'],
    ]);
  });

  it('leaves the word to the watch that it wraps', () => {
    const abort: Action = { kind: 'abort', reason: 'no' };
    const steps = { initialMs: 100, steps: 2, startAfterIteration: 3, cooldownMs: 10_000 };
    expect(play(new DowntimeTuning({ look: () => abort }, steps, 900), [[1, 1]])).toEqual([abort]);
  });
});

const stalling = (wire: object = {}, hasHostDevices = false): StallDetector => {
  const given = migrating({ CompletionTimeoutPerGiB: 100, MaxDowntimeMs: 900, StallDetectorOptions: {}, ...wire }, hasHostDevices);
  if (given.options.stall === undefined) throw new Error('no limits');
  return new StallDetector(given, given.options.stall);
};
const begin: Seen = { elapsedMs: 0 };
const speed = (bytesPerSecond: number, s = 1): Seen => ({ elapsedMs: s * 1000, remainingBytes: 1, bytesPerSecond });
const round = (s: number, remainingBytes: number): Seen => ({ elapsedMs: s * 1000, remainingBytes, isIteration: true });
const kinds = (actions: readonly Action[]): string[] =>
  actions.map((action) => (action.kind === 'downtime' ? `downtime ${action.ms}` : action.kind));
/** Little progress for longer than the window of 40 s. */
const STALL = [begin, speed(1000), round(2, 1000), round(20, 990), round(43, 985)];

describe('stall detector', () => {
  it.each<[string, StallDetector, readonly Seen[], readonly string[]]>([
    ['begins with QEMU’s own downtime', stalling(), [begin], ['downtime 300']],
    ['begins with less if less is allowed', stalling({ MaxDowntimeMs: 50 }), [begin], ['downtime 50']],
    [
      'waits while there is progress',
      stalling(),
      [begin, speed(1000), round(2, 1000), round(43, 900), round(90, 800)],
      ['downtime 300', 'nothing', 'nothing', 'nothing', 'nothing'],
    ],
    [
      'stops the guest for as long as allowed if that is nearly enough',
      stalling(),
      STALL,
      ['downtime 300', ...Array(3).fill('nothing'), 'downtime 900'],
    ],
    [
      'gives up if it would have to stand for much longer',
      stalling({ MaxDowntimeMs: 100 }),
      STALL,
      ['downtime 100', ...Array(3).fill('nothing'), 'abort'],
    ],
    [
      'waits for a moment when little is left',
      stalling(),
      [...STALL.slice(0, 4), round(43, 1500), round(50, 990)],
      ['downtime 300', ...Array(4).fill('nothing'), 'downtime 900'],
    ],
    [
      'does not wait for it when told so',
      stalling({ StallDetectorOptions: { searchLocalMinima: false } }),
      [...STALL.slice(0, 4), round(43, 1300)],
      ['downtime 300', ...Array(3).fill('nothing'), 'downtime 900'],
    ],
    [
      'is content with more after a while',
      stalling(),
      [...STALL.slice(0, 4), round(43, 1300), round(60, 1290), round(84, 1295)],
      ['downtime 300', ...Array(5).fill('nothing'), 'downtime 900'],
    ],
    [
      'switches over by post-copy',
      stalling({ AllowPostCopy: true, AllowWorkloadDisruption: true }),
      [...STALL, { elapsedMs: 500_000, remainingBytes: 5 }],
      ['downtime 300', ...Array(3).fill('nothing'), 'post-copy', 'nothing'],
    ],
    [
      'stops a guest that may be disrupted, and gives the stop a minute',
      stalling({ AllowWorkloadDisruption: true }),
      [...STALL, { elapsedMs: 102_000, mode: 'PreCopy' }, { elapsedMs: 104_000, mode: 'PreCopy' }],
      ['downtime 300', ...Array(3).fill('nothing'), 'downtime 2000000', 'nothing', 'abort'],
    ],
    [
      'does not stop a guest when the network broke down',
      stalling({ AllowWorkloadDisruption: true }),
      [begin, speed(1), ...STALL.slice(2)],
      ['downtime 300', ...Array(4).fill('nothing')],
    ],
    ['gives up when time is over', stalling(), [begin, { elapsedMs: 101_000 }], ['downtime 300', 'abort']],
    [
      'makes the switch at the end of the time, if that can end',
      stalling({ AllowWorkloadDisruption: true }),
      [begin, speed(1000), round(2, 1000), { elapsedMs: 101_000 }],
      ['downtime 300', 'nothing', 'nothing', 'downtime 2000000'],
    ],
  ])('%s', (_title, watch, seen, expected) => {
    expect(kinds(play(watch, seen))).toEqual(expected);
  });
});
