// Hands the domain that is about to be defined to whoever may change it. Called before a guest starts and on the target of its migration.
import type { VirtualMachineInstance } from '../../api/index.js';
import { hasCode, KvError, messageOf } from '../../base/errors.js';
import { type DeviceChange, describeDomain, describeLive, planDeviceChanges, reportDevices } from '../../core/converter/index.js';
import type { PreparedDomain } from '../prepare/domain.js';
import type { HookedDomain } from './domain-xml.js';
import type { Hooks } from './hooks.js';
import type { PluginHooks } from './plugins.js';
import { text } from './text.js';

export interface HookedGuest {
  readonly prepared: PreparedDomain;
  /** What later synchronisations must not do, see ./undoing.ts. */
  readonly undoings: readonly DeviceChange[];
  readonly changedBy: readonly string[];
}

export interface DomainChangers {
  readonly hooks?: Hooks | undefined;
  readonly plugins?: PluginHooks | undefined;
}

async function changed(
  { hooks, plugins }: DomainChangers,
  { domain }: PreparedDomain,
  vmi: VirtualMachineInstance,
): Promise<HookedDomain | undefined> {
  const hooked = await hooks?.onDefineDomain(domain, vmi);
  return plugins ? plugins(domain, hooked) : hooked;
}

export async function applyHooks(changers: DomainChangers, prepared: PreparedDomain, vmi: VirtualMachineInstance): Promise<HookedGuest> {
  const hooked = await changed(changers, prepared, vmi);
  if (hooked === undefined) return { prepared, undoings: [], changedBy: [] };
  const { domain, xml, changedBy = [] } = hooked;
  return {
    prepared: {
      ...prepared,
      domain,
      xml,
      type: describeDomain(domain).type,
      // A hook may have written it in another unit.
      memoryBytes: describeLive(domain).memoryBytes ?? prepared.memoryBytes,
      devices: reportDevices(domain),
    },
    undoings: planDeviceChanges(vmi, prepared.domain, domain),
    changedBy,
  };
}

/** What libvirt or QEMU has against a domain may be the doing of those who changed it: the message names them. */
export async function namingHooks<T>(changedBy: readonly string[], work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (err) {
    if (changedBy.length === 0 || !hasCode(err, 'Libvirt')) throw err;
    throw new KvError('Libvirt', text.afterHooks(messageOf(err), changedBy), { cause: err, details: err.details });
  }
}
