// Damages a JSON value at random places: other types, null, numbers out of all range, odd texts, wrong quantities, towers, strange keys, members
// that go missing or come twice.
import type { Random } from './random.js';

type Holder = Record<string, unknown> | unknown[];

const ODD: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  1.5,
  2 ** 31,
  2 ** 53,
  -(2 ** 63),
  1e308,
  1e-300,
  '',
  ' ',
  '0',
  '-1',
  '1Gi',
  '1.5.5Gi',
  '10Zi',
  '١٢',
  '\u0000',
  '\ud800',
  'ﷺ'.repeat(50),
  '😀'.repeat(100),
  '../../etc/passwd',
  '%s%n{{.}}$(id)',
  'a'.repeat(5000),
  '[', // half a character class
  '(a+)+$',
  'NaN',
  'constructor',
  '__proto__',
  'toString',
  '9'.repeat(400),
  `${'9'.repeat(300)}e${'9'.repeat(5)}`,
  '1e1000000000',
  [],
  {},
  [null],
  [[]],
  [{}],
  { a: null },
];

const KEYS = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', '', 'nope', 'name', 'ünïcode', 'a.b/c'];

const isHolder = (value: unknown): value is Holder => typeof value === 'object' && value !== null;

/** Every list and object in the value, the value itself included. */
function holdersIn(value: unknown, found: Holder[] = []): Holder[] {
  if (!isHolder(value)) return found;
  found.push(value);
  for (const member of Object.values(value)) holdersIn(member, found);
  return found;
}

function tower(random: Random): unknown {
  let value: unknown = random.pick(ODD);
  for (let level = random.int(200) + 20; level > 0; level--) value = random.chance(0.5) ? [value] : { a: value };
  return value;
}

const replacement = (random: Random): unknown => (random.chance(0.1) ? tower(random) : structuredClone(random.pick(ODD)));

function setOwn(holder: Holder, key: string, value: unknown): void {
  Object.defineProperty(holder, key, { value, enumerable: true, configurable: true, writable: true });
}

function damageList(list: unknown[], random: Random): void {
  const at = random.int(list.length + 1);
  const what = random.int(4);
  if (what === 0) list.splice(at, 1);
  else if (what === 1) list.splice(at, 0, replacement(random));
  else if (what === 2 && list.length > 0)
    list.push(...Array.from({ length: random.pick([1, 2, 60]) }, () => structuredClone(list[at % list.length])));
  else if (list.length > 0) list[at % list.length] = replacement(random);
}

function damageObject(object: Record<string, unknown>, random: Random): void {
  const keys = Object.keys(object);
  const key = keys.length > 0 ? random.pick(keys) : 'a';
  const what = random.int(4);
  if (what === 0) delete object[key];
  else if (what === 1) setOwn(object, random.pick(KEYS), replacement(random));
  else if (what === 2) setOwn(object, random.pick([...keys, 'a']), structuredClone(object[key] ?? null));
  else setOwn(object, key, replacement(random));
}

/** A damaged copy. */
export function damaged(value: unknown, random: Random, times: number): unknown {
  const box = { value: structuredClone(value) };
  for (let i = 0; i < times; i++) {
    const holder = random.pick(holdersIn(box).slice(1));
    if (!holder || random.chance(0.005)) box.value = replacement(random);
    else if (Array.isArray(holder)) damageList(holder, random);
    else damageObject(holder, random);
  }
  return box.value;
}
