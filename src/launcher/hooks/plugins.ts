// Domain hooks of Plugins, which virt-handler sends along with a VMI: sidecars of the pod that are asked about the domain, after the hook sidecars.
// A failure keeps the guest from starting unless the plugin says to ignore it. Mutations written in CEL are not carried out in this version: they
// count as failed hooks.
import { lstat } from 'node:fs/promises';
import { posix } from 'node:path';
import type { Plugin, PluginDomainHook, VirtualMachineInstance } from '../../api/index.js';
import { sleep } from '../../base/clock.js';
import type { Ctx } from '../../base/context.js';
import { KvError, messageOf } from '../../base/errors.js';
import { atStep } from '../../base/steps.js';
import type { XmlNode } from '../../core/converter/index.js';
import { isFor, isOwnSocket, nameOf, ordered, PLUGIN_FAILED, strategyOf, variablesOf } from '../../core/plugins.js';
import { mutateDomain } from '../../rpc/light/hooks.js';
import { parseDuration } from '../options.js';
import { domainForHooks, domainOfHook, type HookedDomain } from './domain-xml.js';
import { text } from './text.js';

export type InvocationContext = 'Boot' | 'MigrationTarget';

/** Changes the domain as the plugins want; undefined when none of them does. */
export type PluginHooks = (domain: XmlNode, hooked: HookedDomain | undefined) => Promise<HookedDomain | undefined>;

export interface PluginRound {
  readonly vmi: VirtualMachineInstance;
  readonly plugins: readonly Plugin[];
  readonly context: InvocationContext;
}

export interface PluginSettings {
  /** Where sidecars of plugins listen, each plugin's in a directory of its name. */
  readonly directory: string;
  readonly pollMs: number;
  readonly readyMs: number;
  readonly callMs: number;
}

const SETTINGS: PluginSettings = { directory: '/var/run/kubevirt-plugin', pollMs: 200, readyMs: 30_000, callMs: 30_000 };

/** The plugins in what virt-handler sent. */
export function pluginsOf(json: Uint8Array | undefined): readonly Plugin[] {
  if (json === undefined || json.length === 0) return [];
  try {
    const plugins: unknown = JSON.parse(new TextDecoder().decode(json));
    if (Array.isArray(plugins)) return plugins as Plugin[];
  } catch (cause) {
    throw new KvError('Invalid', text.noPlugins, { cause });
  }
  throw new KvError('Invalid', text.noPlugins);
}

export function pluginHooks(ctx: Ctx, { vmi, plugins, context }: PluginRound, settings = SETTINGS): PluginHooks {
  const variables = variablesOf(vmi);
  return async (domain, before) => {
    let hooked = before;
    for (const plugin of ordered(plugins)) {
      if (!isFor(plugin.spec.condition, variables, `plugin ${nameOf(plugin)}`)) continue;
      for (const [index, hook] of (plugin.spec.domainHooks ?? []).entries()) {
        const what = `plugin ${nameOf(plugin)}, domain hook ${index}`;
        if (!isFor(hook.condition, variables, what)) continue;
        const request = { xml: hooked?.xml ?? domainForHooks(domain), vmi, context };
        hooked =
          (await tolerating(ctx, plugin, hook, what, () =>
            call(ctx, plugin, hook, request, settings).then((xml) => domainOfHook(xml, domain)),
          )) ?? hooked;
      }
    }
    return hooked;
  };
}

/** Runs the hook; undefined when it failed and that is to be ignored. */
async function tolerating<T>(
  ctx: Ctx,
  plugin: Plugin,
  hook: PluginDomainHook,
  what: string,
  work: () => Promise<T>,
): Promise<T | undefined> {
  atStep(what);
  try {
    return await work();
  } catch (err) {
    const reason = messageOf(err);
    if (strategyOf(plugin, hook) === 'Fail')
      throw new KvError('Internal', `${what} failed: ${reason}`, { cause: err, reason: PLUGIN_FAILED });
    ctx.log.warn({ plugin: nameOf(plugin), reason }, 'The hook of a plugin failed, which is to be ignored');
    return undefined;
  }
}

interface Request {
  readonly xml: string;
  readonly vmi: VirtualMachineInstance;
  readonly context: InvocationContext;
}

async function call(
  ctx: Ctx,
  plugin: Plugin,
  { sidecar, timeout }: PluginDomainHook,
  request: Request,
  settings: PluginSettings,
): Promise<string> {
  if (!sidecar) throw new KvError('NotImplemented', text.noCel);
  const { socketPath } = sidecar;
  if (!isOwnSocket(plugin, socketPath, settings.directory)) throw new KvError('Invalid', text.foreignSocket(socketPath, nameOf(plugin)));
  await waitForSocket(ctx, socketPath, settings);
  const { domain } = await mutateDomain(socketPath, parseDuration(timeout ?? '') ?? settings.callMs, {
    domain_type: 'libvirt',
    domain: Buffer.from(request.xml),
    vmi: Buffer.from(JSON.stringify(request.vmi)),
    sidecar_context: { invocation_context: request.context },
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
