// Runs the steps over one scope, merges what they return into a domain and lets the placement passes finish it.
import type { VirtualMachineInstance } from '../../api/index.js';
import { KvError } from '../../base/errors.js';
import type { Domain } from './domain.js';
import type { DomainDevices } from './domain-devices.js';
import type { DomainFacts } from './facts.js';
import { type AnyStep, STEPS } from './order.js';
import { addHotplugPorts } from './passes/hotplug-ports.js';
import { refuseBeforeLibvirt } from './passes/limits.js';
import { placeBesideCells } from './passes/numa-ports.js';
import { placeOnRootComplex } from './passes/root-complex.js';
import { buildScope, type Scope } from './scope.js';

export function buildDomain(vmi: VirtualMachineInstance, facts: DomainFacts): Domain {
  const scope = buildScope(vmi, facts);
  const passes = [addHotplugPorts, placeBesideCells, placeOnRootComplex, refuseBeforeLibvirt];
  return passes.reduce((domain, pass) => pass(domain, scope), assemble(scope));
}

export function assemble(scope: Scope, steps: readonly AnyStep[] = STEPS): Domain {
  let elements: Domain = {};
  let devices: DomainDevices = {};
  for (const step of steps) {
    const { devices: added = {}, ...others } = step.render(scope);
    elements = joined(elements, others, step);
    devices = joined(devices, added, step);
  }
  return { ...elements, devices };
}

/** Lists grow; anything else there is once. */
function joined<T extends object>(parts: T, added: T, step: AnyStep): T {
  const before = new Map<string, unknown>(Object.entries(parts));
  const next = Object.entries(added).filter(([, value]) => value !== undefined);
  const merged = next.map(([key, value]) => [key, before.has(key) ? longer(before.get(key), value, key, step) : value]);
  return { ...parts, ...Object.fromEntries(merged) };
}

function longer(before: unknown, value: unknown, key: string, { name }: AnyStep): unknown {
  if (Array.isArray(before) && Array.isArray(value)) return [...before, ...value];
  throw new KvError('Internal', `converter step ${name} sets ${key} of the domain, which another step has set`);
}
