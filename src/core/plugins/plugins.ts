// Plugins (plugin.kubevirt.io) as those who call their hooks need them: in which order, whether a hook is for a VMI, what its failure means, and what
// to say of it. Pure.
import type { Plugin, PluginDomainHook, PluginNodeHook, VirtualMachineInstance } from '../../api/index.js';
import { PLUGIN_FAILED } from '../../api/reasons.js';
import { KvError, messageOf } from '../../base/errors.js';
import { evaluateCondition, type Variables } from '../cel/evaluate.js';
import { JsonObject } from '../cel/values.js';

export type FailureStrategy = 'Fail' | 'Ignore';

/** How long a hook may take that says nothing of it. */
export const HOOK_MS = 30_000;
/** Expressions are small: whoever needs longer than this would never end. */
export const EXPRESSION_MS = 2_000;

/** Runs work that was written by users, and breaks it off when it takes too long. */
export type Bounded = <T>(work: () => T) => T;

export const nameOf = ({ metadata }: Plugin): string => metadata.name ?? '';

/** By name; hooks of one plugin in the order in which they are written. */
export const ordered = (plugins: readonly Plugin[]): Plugin[] =>
  [...plugins].sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : Number(nameOf(a) > nameOf(b))));

/** The hook's own, else the plugin's. */
export const strategyOf = ({ spec }: Plugin, hook: PluginDomainHook | PluginNodeHook): FailureStrategy =>
  (hook.failureStrategy || spec.failureStrategy) === 'Ignore' ? 'Ignore' : 'Fail';

export const vmiVariable = (vmi: VirtualMachineInstance): Variables => ({
  vmi: new JsonObject(vmi as unknown as Record<string, unknown>, { hasMetadata: true }),
});

export interface Asked {
  readonly variables: Variables;
  /** For messages: which condition this is. */
  readonly what: string;
  readonly bounded: Bounded;
}

/** Without a condition it is for every VMI. A condition that cannot be evaluated is an error, whatever failures of the hook itself mean. */
export function isFor(condition: string | undefined, { variables, what, bounded }: Asked): boolean {
  if (!condition) return true;
  const wrong = (why: string, cause?: unknown): KvError =>
    new KvError('Invalid', `the condition of ${what} cannot be evaluated: ${why}. Mend the condition, or delete the plugin`, {
      reason: PLUGIN_FAILED,
      cause,
    });
  let result: ReturnType<typeof evaluateCondition>;
  try {
    result = bounded(() => evaluateCondition(condition, variables));
  } catch (err) {
    throw wrong(messageOf(err), err);
  }
  if (result.ok) return result.value;
  throw wrong(result.error);
}

/** What failed, why, and what an administrator can do. */
export function failedHook(what: string, err: unknown): KvError {
  const advice = 'Mend the plugin, or set the failureStrategy of the hook to Ignore';
  return new KvError('Internal', `${what} failed: ${messageOf(err)}. ${advice}`, { cause: err, reason: PLUGIN_FAILED });
}

/** A plugin's sidecar listens in the plugin's own directory. */
export const isOwnSocket = (plugin: Plugin, path: string, directory: string): boolean =>
  path.startsWith(`${directory}/${nameOf(plugin)}/`) && !path.split('/').includes('..');
