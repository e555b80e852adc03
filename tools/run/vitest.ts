// Runs one vitest project and counts its tests. A project without a single test fails: somebody broke its file pattern.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { add, type Counts, countReport, ONE_FAILED } from './counts.js';
import { runCommand, type Step } from './steps.js';

export interface VitestOptions {
  /** Shows the tests as they run: for projects that take minutes. */
  readonly live?: boolean;
}

export function vitestStep(project: string, { live = false }: VitestOptions = {}): Step {
  return {
    name: `${project} tests`,
    run: async ({ signal, say }) => {
      const dir = mkdtempSync(join(tmpdir(), 'kubevirt-ts-test-'));
      try {
        const report = join(dir, 'report.json');
        const reporters = [`--reporter=${live ? 'verbose' : 'default'}`, '--reporter=json', `--outputFile.json=${report}`];
        const { code, output } = await runCommand({ command: ['vitest', 'run', '--project', project, ...reporters], live }, signal);
        if (code !== 0 && !live) say(output.trimEnd());
        return verdict(code, existsSync(report) ? readFileSync(report, 'utf8') : undefined);
      } finally {
        rmSync(dir, { recursive: true, force: true });
      }
    },
  };
}

/** vitest can fail although every test passed (an unhandled error, no test at all): that is a failure, too. */
export function verdict(code: number | null, report: string | undefined): Counts {
  if (report === undefined) return ONE_FAILED;
  const counts = countReport(report);
  const silent = (code !== 0 || counts.passed + counts.skipped === 0) && counts.failed === 0;
  return silent ? add(counts, ONE_FAILED) : counts;
}
