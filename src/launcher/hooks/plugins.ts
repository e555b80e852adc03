// Domain hooks of Plugins, which virt-handler sends along with a VMI: changes of the domain by CEL expressions and by sidecars of the pod, made after
// the hook sidecars. What is needed to carry them out is loaded only where there are some: most launchers never see a plugin.
import type { Plugin } from '../../api/index.js';
import type { Ctx } from '../../base/context.js';
import { KvError } from '../../base/errors.js';
import type { DomainModel } from '../../core/converter/index.js';
import type { HookedDomain } from './domain-xml.js';
import type { PluginRound, PluginSettings } from './plugin-round.js';
import { text } from './text.js';

/** Changes the domain as the plugins want; undefined when none of them does. */
export type PluginHooks = (domain: DomainModel, hooked: HookedDomain | undefined) => Promise<HookedDomain | undefined>;

const SETTINGS: PluginSettings = { directory: '/var/run/kubevirt-plugin', pollMs: 200, readyMs: 30_000 };

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

export function pluginHooks(ctx: Ctx, round: PluginRound, settings = SETTINGS): PluginHooks {
  return async (domain, hooked) => {
    if (!round.plugins.some(({ spec }) => (spec.domainHooks ?? []).length > 0)) return hooked;
    const { runDomainHooks } = await import('./plugin-round.js');
    return runDomainHooks(ctx, { ...round, settings }, domain, hooked);
  };
}
