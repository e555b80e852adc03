// Names of the types of CEL expressions: those of the language, lists and maps of something, and objects that the environment declares. Pure.

/** `any` is what is only known when the expression runs; `whole` is a number of an API object, which is read as int and as uint. */
export type Type = string;

export const ANY = 'any';
export const WHOLE = 'whole';

export const listOf = (item: Type): Type => (item === ANY ? 'list' : `list<${item}>`);
export const mapOf = (value: Type): Type => (value === ANY ? 'map' : `map<${value}>`);

/** Of what a list is, or a map's values are; undefined for what is neither. */
export function innerOf(type: Type, kind: 'list' | 'map'): Type | undefined {
  if (type === kind) return ANY;
  return type.startsWith(`${kind}<`) ? type.slice(kind.length + 1, -1) : undefined;
}

export const isList = (type: Type): boolean => innerOf(type, 'list') !== undefined;
export const isMap = (type: Type): boolean => innerOf(type, 'map') !== undefined;

/** Whether a value of the type can stand where the other is wanted; a list of anything is a list of whatever is wanted. */
export function fits(type: Type, wanted: Type): boolean {
  if (type === wanted || type === ANY || wanted === ANY) return true;
  if (type === WHOLE || wanted === WHOLE) return [type, wanted].every((each) => [WHOLE, 'int', 'uint'].includes(each));
  for (const kind of ['list', 'map'] as const) {
    const [inner, wantedInner] = [innerOf(type, kind), innerOf(wanted, kind)];
    if (inner !== undefined && wantedInner !== undefined) return fits(inner, wantedInner);
  }
  return false;
}

/** The one of both that says more: a number that can be either is what the other is, a list of anything what the other is a list of. */
function narrower(a: Type, b: Type): Type | undefined {
  const isVague = a === WHOLE || a === 'list' || a === 'map';
  return isVague && b !== ANY && fits(a, b) ? b : undefined;
}

/** What both are; `any` where they differ. */
export function joined(a: Type, b: Type): Type {
  if (a === b) return a;
  return narrower(a, b) ?? narrower(b, a) ?? (isList(a) && isList(b) ? 'list' : ANY);
}
