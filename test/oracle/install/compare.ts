// Where two objects differ, as paths. Rights are compared by what they allow, and lists of named things by name: their order and
// grouping say nothing. What the API server or the operator stamps on later is left out.
import type { KubeObject } from '../../../src/api/index.js';

type Json = Record<string, unknown>;
const isMap = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);
const isEmpty = (value: unknown): boolean =>
  value === undefined || value === null || (typeof value === 'object' && Object.keys(value).length === 0);

/** Items of a list are told apart by the first of these that all have; else by their position. */
const KEYS = ['name', 'mountPath', 'containerPort', 'alert', 'record', 'message'];

function byKey(list: readonly Json[]): Json {
  const key = KEYS.find((one) => list.every((item) => item[one] !== undefined));
  const result: Json = {};
  for (const [at, item] of list.entries()) {
    const name = key ? String(item[key]) : String(at);
    const free = [name, ...list.map((_, n) => `${name}#${n + 2}`)].find((one) => !(one in result));
    result[free ?? name] = item;
  }
  return result;
}

/** Lists of objects as maps; other values as they are. */
const keyed = (value: unknown): unknown => (Array.isArray(value) && value.length > 0 && value.every(isMap) ? byKey(value) : value);

export interface Rule {
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}

/** `verb group/resource[names]` of everything that is allowed. */
export function rights(rules: readonly Rule[]): string[] {
  const all = rules.flatMap(({ apiGroups = [], resources = [], verbs, resourceNames, nonResourceURLs = [] }) => {
    const names = resourceNames ? `[${resourceNames.join(',')}]` : '';
    const targets = [...apiGroups.flatMap((group) => resources.map((resource) => `${group}/${resource}${names}`)), ...nonResourceURLs];
    return targets.flatMap((target) => verbs.map((verb) => `${verb} ${target}`));
  });
  return [...new Set(all)].sort();
}

/** Written when certificates are made, after what was recorded. */
const LATER = new Set(['caBundle']);

function withoutLater(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutLater);
  if (!isMap(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => !LATER.has(key))
      .map(([key, field]) => [key, withoutLater(field)]),
  );
}

function plain(object: KubeObject): Json {
  const { status: _, apiVersion: __, ...rest } = withoutLater(object) as Json;
  const rules = (rest as { rules?: Rule[] }).rules;
  if (!rules || !String(rest.kind).endsWith('Role')) return rest;
  return { ...rest, rules: Object.fromEntries(rights(rules).map((right) => [right, true])) };
}

const sameText = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** As a map where it is one, or nothing at all. */
function mapOf(value: unknown): Json | undefined {
  const map = keyed(value);
  if (isMap(map)) return map;
  return isEmpty(map) ? {} : undefined;
}

function* paths(want: unknown, have: unknown, path: string): Iterable<string> {
  if (sameText(want, have) || (isEmpty(want) && isEmpty(have))) return;
  const [left, right] = [mapOf(want), mapOf(have)];
  if (!left || !right) yield path;
  else for (const key of new Set([...Object.keys(left), ...Object.keys(right)])) yield* paths(left[key], right[key], `${path}/${key}`);
}

/** `+/path` where only ours has something, `-/path` where only the recorded object does, `/path` where they differ. */
export function differences(recorded: KubeObject, own: KubeObject): string[] {
  const [want, have] = [plain(recorded), plain(own)];
  return [...paths(want, have, '')].map((path) => `${sign(valueAt(want, path), valueAt(have, path))}${path}`);
}

const sign = (want: unknown, have: unknown): string => {
  if (isEmpty(want)) return '+';
  return isEmpty(have) ? '-' : '';
};

/** Names may contain slashes, so the longest key that fits is taken. */
function valueAt(object: unknown, path: string): unknown {
  if (path === '') return object;
  const map = keyed(object);
  if (!isMap(map)) return undefined;
  const key = Object.keys(map)
    .filter((one) => path === `/${one}` || path.startsWith(`/${one}/`))
    .sort((a, b) => b.length - a.length)[0];
  return key === undefined ? undefined : valueAt(map[key], path.slice(key.length + 1));
}
