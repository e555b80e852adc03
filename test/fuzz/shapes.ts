// Values by shape: choices, objects with fields that may be missing, lists. Used to make guests that are mostly valid; from-schema.ts makes
// objects that are mostly not.
import type { Random } from './random.js';

/** undefined = leave the field out. */
export type Shape = (random: Random) => unknown;

export const one =
  (...values: readonly unknown[]): Shape =>
  (random) =>
    structuredClone(random.pick(values));

/** Left out more often than not. */
export const maybe =
  (shape: Shape, share = 0.3): Shape =>
  (random) =>
    random.chance(share) ? shape(random) : undefined;

export const object =
  (fields: Readonly<Record<string, Shape>>): Shape =>
  (random) =>
    Object.fromEntries(
      Object.entries(fields).flatMap(([key, shape]) => {
        const value = shape(random);
        return value === undefined ? [] : [[key, value]];
      }),
    );

export const either =
  (...shapes: readonly Shape[]): Shape =>
  (random) =>
    random.pick(shapes)(random);

/** Objects with a name each: what lists of the API mostly are. */
export const named =
  (prefix: string, most: number, shape: Shape): Shape =>
  (random) =>
    Array.from({ length: random.int(most) + 1 }, (_, i) => ({ name: `${prefix}${i}`, ...(shape(random) as object) }));
