// Paths of fields as they appear in error causes: `spec.domain.devices.disks[0].name`. A path is plain text; this only joins it.

export type FieldPath = string;

/** Names are joined by dots, numbers become `[n]`. */
export function field(base: FieldPath, ...parts: readonly (string | number)[]): FieldPath {
  let path = base;
  for (const part of parts) {
    if (typeof part === 'number') path += `[${part}]`;
    else path = path === '' ? part : `${path}.${part}`;
  }
  return path;
}

/** An entry of a map, whose key may itself hold dots. */
export const keyed = (base: FieldPath, key: string): FieldPath => `${base}[${key}]`;
