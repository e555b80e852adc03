// The network bindings by kind: which one an interface has, and which plan belongs to it. SR-IOV and plugins that bring their own
// attachment need no links from us.
import type { Interface } from '../../../api/index.js';
import { type LinkPlan, noLinks } from '../link-plan.js';
import { type Attachment, isAbsent, requirePodLink } from './attachment.js';
import { planBridge, planManagedTap } from './bridge/plan.js';
import { planMasquerade } from './masquerade/plan.js';

export type BindingKind = 'bridge' | 'masquerade' | 'passt' | 'managedTap' | 'plugin' | 'sriov' | 'none';

/** Registered network binding plugins, as in the KubeVirt CR: name → how they attach. */
export type RegisteredBindings = Readonly<Record<string, { readonly domainAttachmentType?: string }>>;

export function bindingOf(iface: Interface, registered: RegisteredBindings = {}): BindingKind {
  if (iface.bridge) return 'bridge';
  if (iface.masquerade) return 'masquerade';
  if (iface.passtBinding) return 'passt';
  if (iface.sriov) return 'sriov';
  if (iface.binding) return registered[iface.binding.name]?.domainAttachmentType === 'managedTap' ? 'managedTap' : 'plugin';
  return 'none';
}

const QEMU_GROUP = 107;

/** passt forwards the sockets of the pod's link itself: it needs ping sockets and low ports, but no links of ours. */
function planPasst(at: Attachment): LinkPlan {
  if (!isAbsent(at.iface)) requirePodLink(at);
  return { links: [], stack: { pingGroupRange: [QEMU_GROUP, QEMU_GROUP], unprivilegedPortStart: 0 } };
}

const PLANS: Readonly<Record<BindingKind, (at: Attachment) => LinkPlan>> = {
  bridge: planBridge,
  masquerade: planMasquerade,
  passt: planPasst,
  managedTap: planManagedTap,
  plugin: () => noLinks,
  sriov: () => noLinks,
  none: () => noLinks,
};

export const planOf = (kind: BindingKind, at: Attachment): LinkPlan => PLANS[kind](at);

/** Bindings whose launcher must know what the pod's link was like before it changed. */
export const changesPodLink = (kind: BindingKind): boolean => kind === 'bridge' || kind === 'masquerade' || kind === 'managedTap';
