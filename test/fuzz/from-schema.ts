// Objects as a schema describes them: a random choice of its fields, with values of the right type that are mostly plausible. What a schema
// cannot say (names that must match, sums that must fit) comes out right by chance only, which is the point.
import type { Schema } from '../../src/api/schema/resolve.js';
import type { Random } from './random.js';

const TEXTS = [
  '',
  'a',
  'root',
  'default',
  'virtio',
  'sata',
  'amd64',
  'arm64',
  's390x',
  'Always',
  'constructor',
  'None',
  '1Gi',
  'registry.example/disk:v1',
  '/a/b',
];
const QUANTITIES = ['0', '1', '100m', '1Gi', '2Mi', '1.5Gi', '64M', '1e3', '-1', '9223372036854775807', '1Ei'];
const COUNTS = [0, 1, 2, 3, 4, 8, 512, 1000];
const NAMES = ['root', 'default', 'extra'];
/** The deeper, the fewer fields. */
const SHARES = [0.9, 0.5, 0.3, 0.25, 0.25, 0.2, 0.15, 0.1];

function textOf(key: string, schema: Schema, random: Random): string {
  const words = schema.enum as string[] | undefined;
  if (words && random.chance(0.8)) return random.pick(words);
  return key === 'name' && random.chance(0.8) ? random.pick(NAMES) : random.pick(TEXTS);
}

function objectOf(schema: Schema, random: Random, depth: number): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  const share = SHARES[Math.min(depth, SHARES.length - 1)] ?? 0;
  for (const [key, property] of Object.entries(schema.properties ?? {})) {
    if (schema.required?.includes(key) || random.chance(share)) out[key] = valueFrom(key, property, random, depth + 1);
  }
  if (schema.additionalProperties) out[random.pick(NAMES)] = valueFrom('', schema.additionalProperties, random, depth + 1);
  return out;
}

export function valueFrom(key: string, schema: Schema, random: Random, depth = 0): unknown {
  if (schema['x-kubernetes-int-or-string'] === true) return random.pick(QUANTITIES);
  switch (schema.type) {
    case 'object':
      return objectOf(schema, random, depth);
    case 'array':
      return Array.from({ length: random.int(3) + 1 }, () => valueFrom(key, schema.items ?? {}, random, depth + 1));
    case 'boolean':
      return random.chance(0.7);
    case 'integer':
    case 'number':
      return random.pick(COUNTS);
    default:
      return textOf(key, schema, random);
  }
}
