// What is wrong with a field of the domain, as the limits tell it.
export interface Fault {
  /** Below spec.domain. */
  readonly field: string;
  readonly why: string;
}

export function firstOf(checks: readonly (() => Fault | undefined)[]): Fault | undefined {
  for (const check of checks) {
    const fault = check();
    if (fault) return fault;
  }
  return undefined;
}
