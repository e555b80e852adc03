// Label and field selectors as the API server reads them in lists and watches. Pure.
import type { KubeObject } from '../../src/api/index.js';

export type Matcher = (object: KubeObject) => boolean;

export function matcher(labelSelector = '', fieldSelector = ''): Matcher {
  const labels = splitOutsideParens(labelSelector).map(labelTerm);
  const fields = fieldSelector.split(',').filter(Boolean).map(fieldTerm);
  return (object) => [...labels, ...fields].every((term) => term(object));
}

function splitOutsideParens(selector: string): string[] {
  return selector.match(/(?:[^,(]|\([^)]*\))+/g) ?? [];
}

function labelTerm(term: string): Matcher {
  const set = /^\s*(\S+)\s+(in|notin)\s+\(([^)]*)\)\s*$/.exec(term);
  if (set) {
    const [, key = '', op, list = ''] = set;
    const values = list.split(',').map((value) => value.trim());
    return ({ metadata }) => values.includes(metadata.labels?.[key] ?? '\0') === (op === 'in');
  }
  const equal = /^\s*([^!=\s]+)\s*(!=|==|=)\s*(\S*)\s*$/.exec(term);
  if (equal) {
    const [, key = '', op, value = ''] = equal;
    return ({ metadata }) => (metadata.labels?.[key] === value) === (op !== '!=');
  }
  const key = term.trim();
  return key.startsWith('!')
    ? ({ metadata }) => metadata.labels?.[key.slice(1)] === undefined
    : ({ metadata }) => metadata.labels?.[key] !== undefined;
}

function fieldTerm(term: string): Matcher {
  const [, path = '', op, value = ''] = /^([^!=]+)(!=|==|=)(.*)$/.exec(term) ?? [];
  const steps = path.split('.');
  return (object) => {
    let at: unknown = object;
    for (const step of steps) at = (at as Record<string, unknown> | undefined)?.[step];
    return (String(at ?? '') === value) === (op !== '!=');
  };
}
