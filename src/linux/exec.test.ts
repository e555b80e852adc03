import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { scratchDir } from '../../test/fakes/scratch.js';
import { systemClock } from '../base/clock.js';
import { makeCtx } from '../base/context.js';
import { silentLogger } from '../base/logger.js';
import { lastLine, run } from './exec.js';

/** A process that has ended and that nobody waits for counts as ended. */
function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    // It is gone.
    return false;
  }
}

const ctx = (signal: AbortSignal = new AbortController().signal) => makeCtx(signal, silentLogger, systemClock);

describe('run', () => {
  it('returns what the command printed', async () => {
    expect(await run(ctx(), 'sh', ['-c', 'echo out; echo err >&2'])).toEqual({ stdout: 'out\n', stderr: 'err\n' });
  });

  it('feeds the input to stdin', async () => {
    expect((await run(ctx(), 'cat', [], { input: 'one\ntwo' })).stdout).toBe('one\ntwo');
  });

  it('names the command, the exit code and the last line of stderr when it fails', async () => {
    const failed = run(ctx(), 'sh', ['-c', 'echo first >&2; echo because >&2; exit 3']);
    await expect(failed).rejects.toMatchObject({ code: 'Internal', details: { exitCode: 3 } });
    await expect(failed).rejects.toThrow(/sh -c .* failed \(exit code 3\): because$/);
  });

  it('says when the tool is missing', async () => {
    await expect(run(ctx(), '/no/such/tool', ['x'])).rejects.toThrow("cannot run '/no/such/tool x': is /no/such/tool installed?");
  });

  it('kills a command that takes too long', async () => {
    await expect(run(ctx(), 'sleep', ['5'], { timeoutMs: 50 })).rejects.toMatchObject({ code: 'Timeout' });
  });

  it('does not wait for what a killed command has started, and kills it too where that is asked', async () => {
    const began = performance.now();
    const pid = join(scratchDir(), 'pid');
    const script = `sleep 4 & echo $! > ${pid}; wait`;
    await expect(run(ctx(), 'sh', ['-c', script], { timeoutMs: 200, killsAll: true })).rejects.toMatchObject({ code: 'Timeout' });
    expect(performance.now() - began).toBeLessThan(2_000);
    const sleeper = Number(readFileSync(pid, 'utf8'));
    await expect.poll(() => isRunning(sleeper)).toBe(false);
    await expect(run(ctx(), 'sh', ['-c', 'sleep 4'], { timeoutMs: 200 })).rejects.toMatchObject({ code: 'Timeout' });
    expect(performance.now() - began).toBeLessThan(3_000);
  });

  it('kills the command when the context ends', async () => {
    const abort = new AbortController();
    const running = run(ctx(abort.signal), 'sleep', ['5']);
    abort.abort();
    await expect(running).rejects.toMatchObject({ code: 'Timeout' });
    await expect(run(ctx(abort.signal), 'true', [])).rejects.toMatchObject({ code: 'Timeout' });
  });
});

describe('lastLine', () => {
  it.each([
    ['', 'no output'],
    ['a\nb\n\n', 'b'],
    ['  only  ', 'only'],
  ])('%j → %j', (text, expected) => {
    expect(lastLine(text)).toBe(expected);
  });
});
