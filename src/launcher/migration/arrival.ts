// What the target of a migration concludes from libvirt's words and the VMI's. Pure.
import type { VirtualMachineInstance } from '../../api/index.js';
import { type DomainModel, deviceName, disksToCopy, renderDevice, withLink } from '../../core/converter/index.js';
import type { StateReport } from '../../libvirt/index.js';
import type { VmiOptions } from '../../rpc/index.js';

/** How a guest stands that has not come yet, or of which a part is missing. */
const ON_ITS_WAY: ReadonlySet<string> = new Set(['migration', 'starting-up', 'postcopy', 'postcopy-failed', 'unknown']);
const LINK_REFRESH = 'link-refresh';

/** It runs here, or stands for a reason of its own. */
export function hasArrived({ state, reason }: StateReport): boolean {
  if (state === 'running') return reason !== 'postcopy-failed';
  return state === 'paused' && !ON_ITS_WAY.has(reason);
}

/** The user paused it where it comes from. */
export const isPausedByUser = ({ status }: VirtualMachineInstance): boolean =>
  status?.conditions?.some(({ type, status: value, reason }) => type === 'Paused' && value === 'True' && reason === 'PausedByUser') ===
  true;

export interface Misfit {
  readonly name: string;
  readonly path: string;
  readonly bytes: number;
}

/** Images that the launcher makes and that are copied all the same, with the size that was written down for them where the guest runs. */
export function misfits(domain: DomainModel, vmi: VirtualMachineInstance): Misfit[] {
  const sizes = new Map((vmi.status?.volumeStatus ?? []).flatMap(({ name, size }) => (size === undefined ? [] : [[name, size] as const])));
  return disksToCopy(domain, vmi).flatMap(({ name = '', path }) => {
    const bytes = sizes.get(name);
    return bytes === undefined || !path.endsWith('.iso') ? [] : [{ name, path, bytes }];
  });
}

export function interfacesToRelink(sent: VmiOptions | undefined): ReadonlySet<string> {
  const entries = Object.entries(sent?.interfaceMigration ?? {});
  return new Set(entries.flatMap(([name, migration]) => (migration?.Method === LINK_REFRESH ? [name] : [])));
}

/** The elements that take an interface's link away and bring it back. One that is down on purpose stays so. */
export function relinked({ devices }: DomainModel, names: ReadonlySet<string>): { readonly down: string; readonly up: string }[] {
  return (devices?.interface ?? [])
    .filter((each) => names.has(deviceName(each) ?? '') && each.link?.state !== 'down')
    .map((each) => ({ down: renderDevice('interface', withLink(each, 'down')), up: renderDevice('interface', withLink(each, 'up')) }));
}
