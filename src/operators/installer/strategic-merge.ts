// Strategic merge patches, as kubectl and the KubeVirt CR's customizeComponents mean them, for the kinds that an installation consists
// of: lists of named things are merged by their key, all others replaced. Pure.

type Json = Record<string, unknown>;

const isMap = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);
const isMapList = (value: unknown): value is Json[] => Array.isArray(value) && value.every(isMap);

/** Of a list's field name: by which keys its items are the same thing; the first that the items carry counts. */
const MERGE_KEYS: Readonly<Record<string, readonly string[]>> = {
  containers: ['name'],
  initContainers: ['name'],
  ephemeralContainers: ['name'],
  volumes: ['name'],
  env: ['name'],
  imagePullSecrets: ['name'],
  resourceClaims: ['name'],
  schedulingGates: ['name'],
  webhooks: ['name'],
  matchConditions: ['name'],
  subjects: ['name'],
  secrets: ['name'],
  volumeMounts: ['mountPath'],
  volumeDevices: ['devicePath'],
  ports: ['containerPort', 'port'],
  hostAliases: ['ip'],
  topologySpreadConstraints: ['topologyKey'],
  ownerReferences: ['uid'],
  conditions: ['type'],
};
/** Lists of texts that are sets. */
const MERGED_SETS = new Set(['finalizers']);

const DIRECTIVE = '$patch';
const RETAIN = '$retainKeys';
const DELETE_FROM = '$deleteFromPrimitiveList/';

/** The object as the patch wants it; neither argument is changed. */
export function strategicMerge(object: unknown, patch: unknown): unknown {
  if (!isMap(patch)) return patch;
  if (patch[DIRECTIVE] === 'replace') return withoutDirectives(patch);
  if (patch[DIRECTIVE] === 'delete') return {};
  const base = retained(isMap(object) ? object : {}, patch[RETAIN]);
  const result: Json = { ...base };
  for (const [key, value] of Object.entries(patch)) applyField(result, key, value);
  return result;
}

function applyField(result: Json, key: string, value: unknown): void {
  if (key.startsWith(DELETE_FROM)) {
    const field = key.slice(DELETE_FROM.length);
    const gone = Array.isArray(value) ? value : [];
    result[field] = listOf(result[field]).filter((item) => !gone.includes(item));
  } else if (key.startsWith('$')) return;
  else if (value === null) delete result[key];
  else if (Array.isArray(value)) result[key] = mergedList(key, listOf(result[key]), value);
  else result[key] = strategicMerge(result[key], value);
}

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

function mergedList(field: string, old: unknown[], next: unknown[]): unknown[] {
  if (MERGED_SETS.has(field)) return [...new Set([...old, ...next])];
  const keys = MERGE_KEYS[field];
  if (!keys || !isMapList(old) || !isMapList(next)) return next.map(withoutDirectives);
  if (next.some((item) => item[DIRECTIVE] === 'replace' && Object.keys(item).length === 1)) {
    return next.filter((item) => Object.keys(item).length > 1 || item[DIRECTIVE] !== 'replace').map(withoutDirectives);
  }
  const key = keys.find((one) => [...next, ...old].some((item) => item[one] !== undefined));
  return key ? mergedByKey(key, old, next) : next;
}

function mergedByKey(key: string, old: readonly Json[], next: readonly Json[]): unknown[] {
  const patchOf = (item: Json): Json | undefined => next.find((one) => one[key] === item[key]);
  const kept = old.flatMap((item) => {
    const patch = patchOf(item);
    if (!patch) return [item];
    return patch[DIRECTIVE] === 'delete' ? [] : [strategicMerge(item, patch)];
  });
  const added = next.filter((item) => item[DIRECTIVE] !== 'delete' && !old.some((one) => one[key] === item[key]));
  return [...kept, ...added.map(withoutDirectives)];
}

function retained(object: Json, keys: unknown): Json {
  if (!Array.isArray(keys)) return object;
  return Object.fromEntries(Object.entries(object).filter(([key]) => keys.includes(key)));
}

function withoutDirectives(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutDirectives);
  if (!isMap(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, field]) => !key.startsWith('$') && field !== null)
      .map(([key, field]) => [key, withoutDirectives(field)]),
  );
}
