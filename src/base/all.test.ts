// A failure is told when nothing is under way any more.
import { expect, it } from 'vitest';
import { allOrFirstError } from './all.js';

it('gives all results in order', async () => {
  expect(await allOrFirstError([Promise.resolve(1), 'two', Promise.resolve(undefined)])).toEqual([1, 'two', undefined]);
});

it('waits for the others before it tells the first failure', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  let told: unknown;
  const all = allOrFirstError([Promise.reject(new Error('first')), promise, Promise.reject(new Error('second'))]).catch((err: unknown) => {
    told = err;
  });
  await new Promise(setImmediate);
  expect(told).toBeUndefined();
  resolve();
  await all;
  expect(told).toEqual(new Error('first'));
});
