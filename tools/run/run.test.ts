// What makes a run pass or fail: counting reports, adding up, steps that throw, steps whose needs failed.
import { expect, it, describe as suite } from 'vitest';
import { missing } from './all.js';
import { add, countReport, lastLine, ONE_FAILED, ONE_PASSED } from './counts.js';
import { figureOf } from './oracle.js';
import { commandStep, describe, runCommand, runStep } from './steps.js';
import { verdict } from './vitest.js';

const never = new AbortController().signal;
const context = (said: string[] = []) => ({ signal: never, say: (line: string) => void said.push(line) });
const report = (counts: [number, number, number, number], files: { status: string; tests: string[] }[] = []) =>
  JSON.stringify({
    numPassedTests: counts[0],
    numFailedTests: counts[1],
    numPendingTests: counts[2],
    numTodoTests: counts[3],
    testResults: files.map(({ status, tests }) => ({ status, assertionResults: tests.map((each) => ({ status: each })) })),
  });

suite('counts', () => {
  it('come from the report', () => {
    expect(countReport(report([5, 1, 2, 1], [{ status: 'failed', tests: ['failed'] }]))).toEqual({ passed: 5, failed: 1, skipped: 3 });
  });

  it('a file that broke before its first test is a failure', () => {
    expect(countReport(report([5, 0, 0, 0], [{ status: 'failed', tests: [] }]))).toEqual({ passed: 5, failed: 1, skipped: 0 });
  });

  it('add up to the last line', () => {
    expect(lastLine(add({ passed: 2, failed: 0, skipped: 1 }, ONE_PASSED, ONE_FAILED))).toBe('3 passed, 1 failed, 1 skipped');
  });
});

suite('verdict of a project', () => {
  it.each([
    ['all passed', 0, report([2, 0, 0, 0]), 0],
    ['one failed', 1, report([2, 1, 0, 0]), 1],
    ['all passed, yet an unhandled error', 1, report([2, 0, 0, 0]), 1],
    ['no test at all', 0, report([0, 0, 0, 0]), 1],
    ['no report', 0, undefined, 1],
  ])('%s', (_title, code, text, failed) => {
    expect(verdict(code, text).failed).toBe(failed);
  });
});

suite('steps', () => {
  it('one that throws fails with its message', async () => {
    const said: string[] = [];
    const result = await runStep({ name: 's', run: () => Promise.reject(new Error('no disk')) }, context(said));
    expect(result.counts).toEqual(ONE_FAILED);
    expect(said[0]).toBe('s: no disk');
  });

  it.each([
    ['true', ONE_PASSED, 0],
    ['echo why; false', ONE_FAILED, 1],
  ])('a command passes by its exit code: %s', async (script, counts, lines) => {
    const said: string[] = [];
    expect(await commandStep('s', { command: ['sh', '-c', script] }).run(context(said))).toEqual(counts);
    expect(said).toHaveLength(lines);
  });

  it('an aborted command is ended together with its children', async () => {
    const controller = new AbortController();
    const running = runCommand({ command: ['sh', '-c', 'sleep 60 & sleep 60'] }, controller.signal);
    controller.abort();
    expect((await running).code).not.toBe(0);
  });

  it('show name, time and counts', () => {
    expect(describe({ name: 'unit tests', ms: 1500, counts: { passed: 2, failed: 0, skipped: 1 } })).toBe(
      'ok        1.5s unit tests (2 passed, 0 failed, 1 skipped)',
    );
  });

  it.each([
    ['all passed', [{ name: 'a', ms: 1, counts: ONE_PASSED }], []],
    ['one failed', [{ name: 'a', ms: 1, counts: ONE_FAILED }], ['a']],
    ['one never ran', [], ['a']],
  ])('needs: %s', (_title, results, expected) => {
    expect(missing(['a'], results)).toEqual(expected);
  });
});

it('the figure of a comparison is named by what was asked for', () => {
  expect(figureOf('x\ndescribe: 1/2 agree (50.00 %)\n', 'describe/run-strategy')).toBe('describe/run-strategy: 1/2 agree (50.00 %)');
});
