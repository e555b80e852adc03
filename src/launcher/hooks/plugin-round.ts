// One round through the domain hooks of all plugins that are for a VMI: by the names of the plugins, hooks in the order in which they are written, each
// given what the one before made. A failure keeps the guest from starting unless the plugin says to ignore it. Loaded by ./plugins.ts.
import { lstat } from 'node:fs/promises';
import { posix } from 'node:path';
import type { Plugin, PluginDomainHook, VirtualMachineInstance } from '../../api/index.js';
import { sleep } from '../../base/clock.js';
import type { Ctx } from '../../base/context.js';
import { KvError } from '../../base/errors.js';
import { atStep } from '../../base/steps.js';
import { withinTime } from '../../base/time-limit.js';
import { type DomainModel, domainFromXml, domainToXml } from '../../core/converter/index.js';
import { parseDuration } from '../../core/duration.js';
import { domainVariables, mutated } from '../../core/plugins/mutation.js';
import { EXPRESSION_MS, failedHook, HOOK_MS, isFor, isOwnSocket, nameOf, ordered, strategyOf } from '../../core/plugins/plugins.js';
import { mutateDomain } from '../../rpc/light/hooks.js';
import { changedOnce, domainForHooks, domainOfHook, type HookedDomain } from './domain-xml.js';
import { text } from './text.js';

export type InvocationContext = 'Boot' | 'MigrationTarget';

export interface PluginRound {
  readonly vmi: VirtualMachineInstance;
  readonly plugins: readonly Plugin[];
  readonly context: InvocationContext;
  /** Tells the user what went wrong without keeping the guest from starting. */
  readonly warn?: (message: string) => void;
}

export interface PluginSettings {
  /** Where sidecars of plugins listen, each plugin's in a directory of its name. */
  readonly directory: string;
  readonly pollMs: number;
  readonly readyMs: number;
}

interface Round extends PluginRound {
  readonly settings: PluginSettings;
}

const bounded = <T>(work: () => T): T => withinTime(EXPRESSION_MS, work);

/** The domain after all hooks; `before` when none changed it. */
export async function runDomainHooks(
  ctx: Ctx,
  round: Round,
  domain: DomainModel,
  before: HookedDomain | undefined,
): Promise<HookedDomain | undefined> {
  let hooked = before;
  for (const plugin of ordered(round.plugins)) {
    const isForVmi = (condition: string | undefined, what: string): boolean =>
      isFor(condition, { variables: domainVariables(round.vmi, domainToXml(hooked?.domain ?? domain)), what, bounded });
    if (!isForVmi(plugin.spec.condition, `plugin ${nameOf(plugin)}`)) continue;
    for (const [index, hook] of (plugin.spec.domainHooks ?? []).entries()) {
      const what = `plugin ${nameOf(plugin)}, domain hook ${index}`;
      if (!isForVmi(hook.condition, what)) continue;
      const current = hooked ?? { domain, xml: domainForHooks(domain) };
      hooked =
        (await tolerating(ctx, { round, plugin, hook, what }, async () =>
          changedOnce(await carriedOut(ctx, { round, plugin, hook, current }, domain), current, what),
        )) ?? hooked;
    }
  }
  return hooked;
}

interface Call {
  readonly round: Round;
  readonly plugin: Plugin;
  readonly hook: PluginDomainHook;
}

/** Runs the hook; undefined when it failed and that is to be ignored. */
async function tolerating<T>(
  ctx: Ctx,
  { round, plugin, hook, what }: Call & { what: string },
  work: () => Promise<T>,
): Promise<T | undefined> {
  atStep(what);
  try {
    return await work();
  } catch (err) {
    const failure = failedHook(what, err);
    if (strategyOf(plugin, hook) === 'Fail') throw failure;
    ctx.log.warn({ plugin: nameOf(plugin), reason: failure.message }, 'The hook of a plugin failed, which is to be ignored');
    round.warn?.(text.ignored(failure.message));
    return undefined;
  }
}

/** What came back must still be this VM's domain: the one that no hook has seen yet. */
async function carriedOut(ctx: Ctx, call: Call & { current: HookedDomain }, domain: DomainModel): Promise<HookedDomain> {
  const { hook, round, current } = call;
  if (hook.sidecar) return domainOfHook(await asked(ctx, call), domain);
  const { cel } = hook;
  if (!cel) throw new KvError('Invalid', text.noHook);
  // Expressions name more of a domain than the converter's model has.
  const before = domainToXml(current.domain);
  const after = bounded(() => mutated(cel.expression, before, domainVariables(round.vmi, before)));
  return after === before ? current : domainOfHook(domainForHooks(domainFromXml(after)), domain);
}

async function asked(ctx: Ctx, { round, plugin, hook, current }: Call & { current: HookedDomain }): Promise<string> {
  const { settings, vmi, context } = round;
  const { socketPath = '' } = hook.sidecar ?? {};
  if (!isOwnSocket(plugin, socketPath, settings.directory)) throw new KvError('Invalid', text.foreignSocket(socketPath, nameOf(plugin)));
  await waitForSocket(ctx, socketPath, settings);
  const { domain } = await mutateDomain(socketPath, parseDuration(hook.timeout) || HOOK_MS, {
    domain_type: 'libvirt',
    domain: Buffer.from(current.xml),
    vmi: Buffer.from(JSON.stringify(vmi)),
    sidecar_context: { invocation_context: context },
  });
  return domain.toString();
}

async function waitForSocket(ctx: Ctx, path: string, { pollMs, readyMs }: PluginSettings): Promise<void> {
  const deadline = ctx.now() + readyMs;
  for (;;) {
    const found = await lstat(path).catch((err: NodeJS.ErrnoException) => {
      // Its container is still starting.
      if (err.code === 'ENOENT') return undefined;
      throw new KvError('Internal', `cannot look at ${path}`, { cause: err });
    });
    if (found?.isSocket()) return;
    if (found) throw new KvError('Invalid', text.noPluginSocket(path));
    if (ctx.now() >= deadline || ctx.signal.aborted)
      throw new KvError('NotReady', text.pluginNotReady(posix.dirname(path), readyMs / 1000));
    await sleep(ctx.clock, pollMs, ctx.signal);
  }
}
