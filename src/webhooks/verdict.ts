// What an admission decides, and how it is told to the API server: allowed, refused with causes, or refused with one error. Pure.
import type { Cause, Causes } from './validate/rule.js';

export type Verdict =
  | { readonly allowed: true; readonly warnings: readonly string[] }
  | { readonly allowed: false; readonly causes: readonly Cause[] }
  | { readonly allowed: false; readonly error: string; readonly code: number };

export interface AdmissionStatus {
  readonly message: string;
  readonly code: number;
  readonly reason?: string;
  readonly details?: { readonly causes: readonly { readonly reason: string; readonly message: string; readonly field: string }[] };
}

const MOST_CAUSES = 10;

export const allow = (warnings: readonly string[] = []): Verdict => ({ allowed: true, warnings });
export const refuse = (error: string, code = 400): Verdict => ({ allowed: false, error, code });

/** Refused when there is any cause. */
export function verdictOf(causes: Causes, warnings: readonly string[] = []): Verdict {
  const list = [...causes];
  return list.length > 0 ? { allowed: false, causes: list } : allow(warnings);
}

/** Structural problems name no field: their text does. */
export const structuralVerdict = (problems: readonly string[]): Verdict =>
  problems.length > 0 ? { allowed: false, causes: problems.map((message) => ({ type: '', message, field: '' })) } : allow();

const same = (a: Cause, b: Cause): boolean => a.type === b.type && a.field === b.field && a.message === b.message;

/** The status for people and programs: each cause once, the first ten in full. */
export function denial(causes: readonly Cause[]): AdmissionStatus {
  const unique = causes.filter((c, i) => causes.findIndex((other) => same(c, other)) === i);
  const shown = unique.slice(0, MOST_CAUSES);
  const hidden = unique.length - shown.length;
  const message = shown.map((c) => c.message).join(', ');
  return {
    message: hidden > 0 ? `${message}, and ${hidden} more validation errors` : message,
    reason: 'Invalid',
    code: 422,
    details: { causes: shown.map(({ type, message: text, field }) => ({ reason: type, message: text, field })) },
  };
}
