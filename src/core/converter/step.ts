// The contract of a converter step: one device or domain element, made from the VMI and the facts it names, without knowing the other steps.
import type { Domain } from './domain.js';
import type { Scope } from './scope.js';

/** What a step adds: its part of the domain. What there is once may come from one step only; devices of a kind follow each other. */
export type Fragment = Domain;

export interface Step<Needs extends keyof Scope = keyof Scope> {
  readonly name: string;
  /** Pure; throws KvError when the VMI asks for what this guest cannot have. */
  render(scope: Pick<Scope, Needs>): Fragment;
}

export const NOTHING: Fragment = {};
