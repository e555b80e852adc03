// The quick checks: types, lint, rooms, limits, generated files, unit tests. The unit tests take longest and run beside the rest.
import { join } from 'node:path';
import { commandStep, ROOT, runStep, type Step, type StepContext, type StepResult } from './steps.js';
import { vitestStep } from './vitest.js';

const node = (...args: string[]): string[] => [process.execPath, ...args];

export const CHECKS: readonly Step[] = [
  commandStep('types', { command: node(join(ROOT, 'node_modules/typescript-7/bin/tsc'), '-p', '.', '--noEmit') }),
  commandStep('lint and format (biome)', { command: ['biome', 'check', '.'] }),
  commandStep('rooms (dependency-cruiser)', { command: ['depcruise', '--config', '.dependency-cruiser.cjs', 'src'] }),
  commandStep('file and function limits', { command: node('--import', 'tsx', join(ROOT, 'tools/lint-limits.ts')) }),
  commandStep('generated CRDs', { command: node('--import', 'tsx', join(ROOT, 'tools/gen-crds.ts'), '--check') }),
];

export async function runQuick(context: StepContext): Promise<StepResult[]> {
  const checks = async () => {
    const results: StepResult[] = [];
    for (const step of CHECKS) results.push(await runStep(step, context));
    return results;
  };
  const [tests, others] = await Promise.all([runStep(vitestStep('unit'), context), checks()]);
  return [...others, tests];
}
