// Plugins (plugin.kubevirt.io) as those who call their hooks need them: in which order, whether a hook is for a VMI, and what its failure means. Pure.
import type { Plugin, PluginDomainHook, VirtualMachineInstance } from '../api/index.js';
import { KvError } from '../base/errors.js';
import { evaluateCondition, type Variables } from './cel/evaluate.js';
import { CelObject } from './cel/values.js';

export type FailureStrategy = 'Fail' | 'Ignore';

/** Reason of conditions when a plugin keeps a VMI from starting. */
export const PLUGIN_FAILED = 'PluginFailed';

export const nameOf = ({ metadata }: Plugin): string => metadata.name ?? '';

/** By name; hooks of one plugin in the order in which they are written. */
export const ordered = (plugins: readonly Plugin[]): Plugin[] =>
  [...plugins].sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : Number(nameOf(a) > nameOf(b))));

/** The hook's own, else the plugin's. */
export const strategyOf = ({ spec }: Plugin, hook: PluginDomainHook): FailureStrategy =>
  (hook.failureStrategy || spec.failureStrategy) === 'Ignore' ? 'Ignore' : 'Fail';

export const variablesOf = (vmi: VirtualMachineInstance): Variables => ({
  vmi: new CelObject(vmi as unknown as Record<string, unknown>, ['metadata']),
});

/** Without a condition it is for every VMI. A condition that cannot be evaluated is an error, whatever failures of the hook itself mean. */
export function isFor(condition: string | undefined, variables: Variables, what: string): boolean {
  if (!condition) return true;
  const result = evaluateCondition(condition, variables);
  if (result.ok) return result.value;
  throw new KvError('Invalid', `the condition of ${what} cannot be evaluated: ${result.error}`, { reason: PLUGIN_FAILED });
}

/** A plugin's sidecar listens in the plugin's own directory. */
export const isOwnSocket = (plugin: Plugin, path: string, directory: string): boolean =>
  path.startsWith(`${directory}/${nameOf(plugin)}/`) && !path.split('/').includes('..');
