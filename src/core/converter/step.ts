// The contract of a converter step: one device or domain element, made from the VMI and the facts it names, without knowing the other steps.
import type { Scope } from './scope.js';
import type { XmlNode } from './xml.js';

/** What a step adds to the domain. */
export interface Fragment {
  /** Attributes of <domain>. */
  readonly attrs?: Readonly<Record<string, string>>;
  /** Children of <domain>; each tag may come from one step only. */
  readonly elements?: readonly XmlNode[];
  /** Children of <devices>, kept in the order of the steps. */
  readonly devices?: readonly XmlNode[];
}

export interface Step<Needs extends keyof Scope = keyof Scope> {
  readonly name: string;
  /** Pure; throws KvError when the VMI asks for what this guest cannot have. */
  render(scope: Pick<Scope, Needs>): Fragment;
}

export const NOTHING: Fragment = {};
