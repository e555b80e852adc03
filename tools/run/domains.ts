// What libvirt says of our domains: valid by its schema, accepted by its daemon. Each is one result; the figures are printed.
import { join } from 'node:path';
import { ONE_FAILED, ONE_PASSED } from './counts.js';
import { ROOT, runCommand, type Step } from './steps.js';

const SCRIPT = join(ROOT, 'test/domains/main.ts');

export const domainStep = (name: string, judge: 'schema' | 'define'): Step => ({
  name,
  run: async ({ signal, say }) => {
    const { code, output } = await runCommand({ command: [process.execPath, '--import', 'tsx', SCRIPT, judge] }, signal);
    say(output.trimEnd());
    return code === 0 ? ONE_PASSED : ONE_FAILED;
  },
});
