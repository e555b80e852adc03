// Runs the steps over one scope, merges what they return into a domain and lets the placement passes finish it.
import type { VirtualMachineInstance } from '../../api/index.js';
import { KvError } from '../../base/errors.js';
import type { DomainFacts } from './facts.js';
import { type AnyStep, STEPS } from './order.js';
import { addHotplugPorts } from './passes/hotplug-ports.js';
import { refuseBeforeLibvirt } from './passes/limits.js';
import { placeOnRootComplex } from './passes/root-complex.js';
import { buildScope, type Scope } from './scope.js';
import type { Fragment } from './step.js';
import { el, type XmlNode } from './xml.js';

/** Devices that a domain has at most one of. */
const SINGLE_DEVICES = new Set(['emulator', 'memballoon', 'rng', 'vsock', 'tpm', 'watchdog']);

export function buildDomain(vmi: VirtualMachineInstance, facts: DomainFacts): XmlNode {
  const scope = buildScope(vmi, facts);
  return [placeOnRootComplex, addHotplugPorts, refuseBeforeLibvirt].reduce((domain, pass) => pass(domain, scope), assemble(scope));
}

export function assemble(scope: Scope, steps: readonly AnyStep[] = STEPS): XmlNode {
  const attrs: Record<string, string> = {};
  const elements: XmlNode[] = [];
  const devices: XmlNode[] = [];
  const owners = new Map<string, string>();
  const claim = (step: AnyStep, what: string): void => {
    const owner = owners.get(what);
    if (owner !== undefined) throw new KvError('Internal', `converter steps ${owner} and ${step.name} both set ${what}`);
    owners.set(what, step.name);
  };
  for (const step of steps) {
    const fragment: Fragment = step.render(scope);
    for (const [key, value] of Object.entries(fragment.attrs ?? {})) {
      claim(step, `attribute ${key}`);
      attrs[key] = value;
    }
    for (const node of fragment.elements ?? []) claim(step, `<${node.tag}>`);
    for (const node of fragment.devices ?? []) if (SINGLE_DEVICES.has(node.tag)) claim(step, `device <${node.tag}>`);
    elements.push(...(fragment.elements ?? []));
    devices.push(...(fragment.devices ?? []));
  }
  return el('domain', attrs, [...elements, el('devices', {}, devices)]);
}
