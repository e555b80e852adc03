import { describe, expect, it } from 'vitest';
import { KvError } from './errors.js';
import { createLineLogger, writeLine } from './line-logger.js';
import type { Logger } from './logger.js';

function collecting(verbosity?: number): { log: Logger; lines: string[] } {
  const lines: string[] = [];
  return { log: createLineLogger('virt-launcher', verbosity, (line) => lines.push(line)), lines };
}

describe('lines', () => {
  it('are JSON with level, time, the bound fields and the message', () => {
    const { log, lines } = collecting();
    log.child({ namespace: 'default', node: undefined }).info({ ms: 7, odd: 'a\nä' }, 'Ready');
    expect(lines).toEqual([expect.stringMatching(/^\{.*\}\n$/)]);
    expect(JSON.parse(lines[0] ?? '')).toEqual({
      level: 'info',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]+\.\d{3}Z$/),
      component: 'virt-launcher',
      namespace: 'default',
      ms: 7,
      odd: 'a\nä',
      msg: 'Ready',
    });
  });

  it('say what an error is and where it came from', () => {
    const { log, lines } = collecting();
    log.error({ err: new KvError('Libvirt', 'cannot start', { cause: new Error('no memory') }) }, 'Failed');
    const { err } = JSON.parse(lines[0] ?? '') as { err: Record<string, string> };
    expect(err).toMatchObject({ type: 'KvError', code: 'Libvirt', message: 'cannot start: no memory' });
    expect(err.stack).toMatch(/cannot start\n {4}at [\s\S]*caused by: Error: no memory/);
  });

  it('are written whatever the fields hold', () => {
    const { log, lines } = collecting();
    const circle: Record<string, unknown> = {};
    circle.itself = circle;
    log.warn({ big: 12n, name: 'vm', circle }, 'Odd');
    log.warn({ err: 'just text' }, 'Odd');
    expect(lines.map((line) => JSON.parse(line) as object)).toEqual([
      expect.objectContaining({ name: 'vm', msg: 'Odd', unreadable: expect.stringContaining('circular') }),
      expect.objectContaining({ err: 'just text' }),
    ]);
  });

  it.each([
    [2, ['info', 'fatal']],
    [3, ['debug', 'info', 'fatal']],
  ])('at verbosity %d are those of %j', (verbosity, levels) => {
    const { log, lines } = collecting(verbosity);
    log.debug({}, 'a');
    log.info({}, 'b');
    log.child({}).fatal({}, 'c');
    expect(lines.map((line) => (JSON.parse(line) as { level: string }).level)).toEqual(levels);
  });
});

describe('writing', () => {
  it('goes on until the line is out, and waits for a slow reader', () => {
    const got: number[] = [];
    writeLine('abcdef\n', (bytes) => {
      got.push(bytes.length);
      if (got.length === 2) throw Object.assign(new Error('later'), { code: 'EAGAIN' });
      return 3;
    });
    expect(got).toEqual([7, 4, 4, 1]);
  });

  it('gives up when nobody reads any more', () => {
    let tries = 0;
    writeLine('abc', () => {
      tries += 1;
      throw Object.assign(new Error('gone'), { code: 'EPIPE' });
    });
    expect(tries).toBe(1);
  });
});
