// Node hooks of Plugins: services of the node that are told before and after what happens to a VM, by name of the plugin and in the order in which they
// are written. What fails stops the step it belongs to, unless the plugin says to ignore it. Called by perform.ts; each hook is told once of an event,
// as long as this process lives.
import { access } from 'node:fs/promises';
import { isFinalPhase, PLUGIN_FAILED, type Plugin, type PluginNodeHook, type VirtualMachineInstance } from '../../api/index.js';
import type { Ctx } from '../../base/context.js';
import { KvError } from '../../base/errors.js';
import { withinTime } from '../../base/time-limit.js';
import { parseDuration } from '../../core/duration.js';
import { EXPRESSION_MS, failedHook, HOOK_MS, isFor, nameOf, ordered, strategyOf, vmiVariable } from '../../core/plugins/plugins.js';
import { executeNodeHook } from '../../rpc/light/hooks.js';
import type { EventRecorder } from '../../runtime/types.js';
import { text } from '../text.js';

/** Of these the node agent knows so far; the points of a migration are called where migrations are. */
export type NodeHookPoint =
  | 'PreVMStart'
  | 'PostVMStart'
  | 'PreVMStop'
  | 'PostVMStop'
  | 'PreMigrationSource'
  | 'PreMigrationTarget'
  | 'PostMigrationTarget';

export interface NodeHooks {
  /** `told` remembers, for this VM on this node, who was told of what. */
  call(ctx: Ctx, point: NodeHookPoint, vmi: VirtualMachineInstance, told: Set<string>): Promise<void>;
}

export interface NodeHookDeps {
  readonly node: string;
  readonly isEnabled: () => boolean;
  readonly plugins: () => Promise<readonly Plugin[]>;
  readonly events: EventRecorder;
  /** The node's files, for sockets that do not lie in a directory that this process shares with the node. */
  readonly hostRoot: string;
}

/** A hook that is to be called, and how it is spoken of. */
interface Due {
  readonly plugin: Plugin;
  readonly hook: PluginNodeHook;
  readonly what: string;
}

const bounded = <T>(work: () => T): T => withinTime(EXPRESSION_MS, work);

/** Of all conditions before any hook is called: one that cannot be evaluated keeps all from being called. */
function dueHooks(plugins: readonly Plugin[], point: NodeHookPoint, vmi: VirtualMachineInstance): Due[] {
  const variables = vmiVariable(vmi);
  return ordered(plugins).flatMap((plugin) => {
    const hooks = [...(plugin.spec.nodeHooks ?? []).entries()].filter(([, hook]) => hook.permittedHooks.includes(point));
    if (hooks.length === 0) return [];
    const name = `plugin ${nameOf(plugin)}`;
    if (!isFor(plugin.spec.condition, { variables, what: name, bounded })) return [];
    return hooks.flatMap(([index, hook]): Due[] => {
      const what = `${name}, node hook ${index}`;
      return isFor(hook.condition, { variables, what, bounded }) ? [{ plugin, hook, what }] : [];
    });
  });
}

export function createNodeHooks(deps: NodeHookDeps): NodeHooks {
  return {
    async call(ctx, point, vmi, told) {
      if (!deps.isEnabled()) return;
      try {
        for (const due of dueHooks(await deps.plugins(), point, vmi)) {
          const key = `${point}: ${due.what} of generation ${due.plugin.metadata.generation ?? 0}`;
          if (told.has(key)) continue;
          await callOne(ctx, deps, { ...due, point, vmi });
          told.add(key);
        }
      } catch (err) {
        // The status of a VMI that is over is not written any more.
        if (isFinalPhase(vmi.status?.phase)) deps.events.event(vmi, 'Warning', PLUGIN_FAILED, (err as Error).message);
        throw err;
      }
    },
  };
}

interface Call extends Due {
  readonly point: NodeHookPoint;
  readonly vmi: VirtualMachineInstance;
}

async function callOne(ctx: Ctx, deps: NodeHookDeps, { plugin, hook, what, point, vmi }: Call): Promise<void> {
  const { node, events, hostRoot } = deps;
  ctx.log.info({ plugin: nameOf(plugin), point, socket: hook.socket }, 'Calling the node hook of a plugin');
  try {
    const request = { hookPoint: point, vmi: Buffer.from(JSON.stringify(vmi)), node_context: { node_name: node } };
    await executeNodeHook(await socketOf(hook.socket, hostRoot), parseDuration(hook.timeout) || HOOK_MS, request);
  } catch (err) {
    const failure = failedHook(`${what} at ${point} on node ${node}`, err);
    if (strategyOf(plugin, hook) === 'Fail') throw failure;
    ctx.log.warn({ plugin: nameOf(plugin), point, reason: failure.message }, 'The node hook of a plugin failed, which is to be ignored');
    events.event(vmi, 'Warning', PLUGIN_FAILED, text.hookIgnored(failure.message));
  }
}

async function socketOf(path: string, hostRoot: string): Promise<string> {
  if (!path.startsWith('/')) throw new KvError('Invalid', text.relativeSocket(path));
  for (const candidate of [path, `${hostRoot}${path}`]) {
    const isThere = await access(candidate).then(
      () => true,
      // Absent here, or not ours to look at: the next place, or an error that names it.
      () => false,
    );
    if (isThere) return candidate;
  }
  throw new KvError('NotReady', text.noHookSocket(path));
}
