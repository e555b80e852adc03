// Whether labels meet a selector in the form of the API (matchLabels and matchExpressions), or what is wrong with the selector. Pure.
import { fail, ok, type Result } from '../base/result.js';

export interface SelectorRequirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

export interface Selector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly SelectorRequirement[];
}

type Labels = Readonly<Record<string, string>>;
type Test = (labels: Labels) => boolean;

const isStringList = (value: unknown): value is readonly string[] => Array.isArray(value) && value.every((v) => typeof v === 'string');

interface Operator {
  readonly takesValues: boolean;
  readonly fits: (value: string | undefined, values: readonly string[]) => boolean;
}

const isOneOf: Operator['fits'] = (value, values) => value !== undefined && values.includes(value);

const isNoneOf: Operator['fits'] = (value, values) => !isOneOf(value, values);

const OPERATORS: Readonly<Record<string, Operator>> = {
  In: { takesValues: true, fits: isOneOf },
  NotIn: { takesValues: true, fits: isNoneOf },
  Exists: { takesValues: false, fits: (value) => value !== undefined },
  DoesNotExist: { takesValues: false, fits: (value) => value === undefined },
};

const operatorOf = (name: string): Operator | undefined => (Object.hasOwn(OPERATORS, name) ? OPERATORS[name] : undefined);
/** Admission lets no other operator through. */
const fitsOf = (name: string): Operator['fits'] => operatorOf(name)?.fits ?? isNoneOf;

const own = (labels: Labels, key: string): string | undefined => (Object.hasOwn(labels, key) ? labels[key] : undefined);

function testOf(requirement: unknown): Test | string {
  const { key, operator: name, values = [] } = (requirement ?? {}) as Partial<SelectorRequirement>;
  if (typeof key !== 'string' || key === '' || !isStringList(values)) return 'a requirement needs a key, an operator and a list of values';
  const operator = operatorOf(String(name));
  if (!operator) return `${String(name)} is no operator of a selector: use ${Object.keys(OPERATORS).join(', ')}`;
  if (operator.takesValues !== values.length > 0) return `${name} ${operator.takesValues ? 'needs' : 'takes no'} values`;
  return (labels) => operator.fits(own(labels, key), values);
}

/** Of any value, as it comes from a request. No selector, and an empty one, fit everything. */
export function selectorTest(selector: unknown): Result<Test, string> {
  const { matchLabels = {}, matchExpressions = [] } = (selector ?? {}) as Selector;
  if (typeof matchLabels !== 'object' || matchLabels === null || !Array.isArray(matchExpressions)) {
    return fail('matchLabels is a map and matchExpressions a list');
  }
  const tests: Test[] = Object.entries(matchLabels).map(
    ([key, value]) =>
      (labels) =>
        own(labels, key) === value,
  );
  for (const requirement of matchExpressions) {
    const test = testOf(requirement);
    if (typeof test === 'string') return fail(test);
    tests.push(test);
  }
  return ok((labels) => tests.every((test) => test(labels)));
}

/** Of a selector that was checked, whose type is known; an empty one matches everything, an absent one nothing. */
export function selectorMatches(selector: Selector | undefined, labels: Labels = {}): boolean {
  if (!selector) return false;
  const byLabel = Object.entries(selector.matchLabels ?? {}).every(([key, value]) => own(labels, key) === value);
  return byLabel && (selector.matchExpressions ?? []).every(({ key, operator, values = [] }) => fitsOf(operator)(own(labels, key), values));
}
