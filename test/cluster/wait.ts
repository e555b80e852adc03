// Waits for a condition and says what it waits for: the reason whenever it changes, and at the time limit the last reason
// together with the end of the logs that explain it.
import { setTimeout as sleep } from 'node:timers/promises';
import { KvError, messageOf } from '../../src/base/errors.js';
import type { Log } from './progress.js';

export interface Wait {
  readonly what: string;
  readonly timeoutMs: number;
  /** Nothing when done, else the reason why not yet. A throw is a reason, too. */
  readonly check: () => Promise<string | undefined> | string | undefined;
  readonly log: Log;
  /** Asked for at the time limit: the logs that may explain it. */
  readonly evidence?: () => string;
  /** Asked at every poll: a reason to give up at once, such as the end of the process that is waited for, with its log. */
  readonly hopeless?: () => string | undefined;
  readonly pollMs?: number;
}

const QUIET_MS = 3000;

export async function waitFor(wait: Wait): Promise<void> {
  const end = Date.now() + wait.timeoutMs;
  let said = '';
  let quietUntil = Date.now() + QUIET_MS;
  for (;;) {
    const reason = await reasonOf(wait);
    if (reason === undefined) return;
    const lost = wait.hopeless?.();
    if (lost !== undefined || Date.now() > end) throw gaveUp(wait, lost ?? reason, lost === undefined);
    if (reason !== said && Date.now() > quietUntil) {
      wait.log(`waiting for ${wait.what}: ${reason}`);
      said = reason;
      quietUntil = Date.now() + QUIET_MS;
    }
    await sleep(wait.pollMs ?? 100);
  }
}

async function reasonOf(wait: Wait): Promise<string | undefined> {
  try {
    return await wait.check();
  } catch (err) {
    return messageOf(err);
  }
}

function gaveUp(wait: Wait, reason: string, late: boolean): KvError {
  const after = late ? ` after ${Math.round(wait.timeoutMs / 1000)} s` : '';
  const evidence = late && wait.evidence ? `\n${wait.evidence()}` : '';
  return new KvError('Timeout', `gave up waiting for ${wait.what}${after}: ${reason}${evidence}`);
}
