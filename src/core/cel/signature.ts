// How a function of CEL expressions is described, and what those that are written down in ./functions.ts and ./extensions.ts share. Pure.
import type { Type } from './types.js';
import { ABSENT, type CelValue, Uint } from './values.js';

/** undefined: it cannot be evaluated for these values. */
export type Run = (...args: CelValue[]) => CelValue | undefined;

export interface CelFunction {
  /** Types of what it is asked of (for a method) and of its arguments. */
  readonly takes: readonly Type[];
  readonly gives: Type | ((types: readonly Type[]) => Type);
  readonly run: Run;
}

/** Overloads by name. */
export type FunctionTable = Readonly<Record<string, readonly CelFunction[]>>;

export const def = (takes: readonly Type[], gives: CelFunction['gives'], run: Run): CelFunction => ({ takes, gives, run });

export const text = (value: CelValue | undefined): string | undefined =>
  value === ABSENT ? '' : typeof value === 'string' ? value : undefined;
/** A function of texts: an absent one is empty. */
export const ofTexts =
  (work: (...texts: string[]) => CelValue | undefined): Run =>
  (...args) => {
    const texts = args.map(text);
    return texts.every((each) => each !== undefined) ? work(...(texts as string[])) : undefined;
  };
export const letters = (value: string): string[] => [...value];
export const wholeNumber = (value: CelValue | undefined): bigint | undefined =>
  typeof value === 'bigint' ? value : value instanceof Uint ? value.value : undefined;
export const index = (value: CelValue | undefined): number => Number(wholeNumber(value) ?? -1n);
