// The demo's command line. Pure.
import { parseArgs } from 'node:util';
import { KvError } from '../../src/base/errors.js';

export interface DemoOptions {
  /** An existing cluster; without it the local one is started. */
  readonly kubeconfig: string | undefined;
  /** Ends by itself instead of waiting for Ctrl-C. */
  readonly unattended: boolean;
  /** Leaves everything running at the end. */
  readonly keep: boolean;
  readonly help: boolean;
}

export const USAGE = `usage: npm start -- [--kubeconfig PATH] [--yes] [--keep]
  --kubeconfig PATH  use this cluster instead of starting the local one; its nodes must have the images already (docs/installation.md); what it has of KubeVirt stays
  --yes              ask nothing and wait for nothing: end once the guest's login prompt was shown (also when there is no terminal)
  --keep             leave everything running at the end`;

export function parseOptions(args: readonly string[], hasTerminal: boolean): DemoOptions {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        kubeconfig: { type: 'string' },
        yes: { type: 'boolean', default: false },
        keep: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    });
    return { kubeconfig: values.kubeconfig, unattended: values.yes || !hasTerminal, keep: values.keep, help: values.help };
  } catch (err) {
    throw new KvError('Invalid', `${(err as Error).message}\n${USAGE}`, { cause: err });
  }
}
