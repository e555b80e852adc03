// Objects without the fields that are absent: under exactOptionalPropertyTypes an absent field is none, not one of undefined. Knows no particular
// object.

export function compact<T extends object>(fields: { [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;
}
