// Selectors, good and bad, against one set of labels.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { selectorMatches, selectorTest } from './label-selector.js';

const labels = { app: 'web', tier: 'front' };
const expression = (operator: string, key: string, values?: unknown): object => ({ matchExpressions: [{ key, operator, values }] });

describe('selectorTest', () => {
  it.each([
    ['nothing', undefined, true],
    ['empty', {}, true],
    ['label', { matchLabels: { app: 'web' } }, true],
    ['other value', { matchLabels: { app: 'db' } }, false],
    ['missing label', { matchLabels: { zone: 'a' } }, false],
    ['inherited name', { matchLabels: { constructor: 'a' } }, false],
    ['In', expression('In', 'app', ['db', 'web']), true],
    ['In, missing label', expression('In', 'zone', ['']), false],
    ['NotIn', expression('NotIn', 'app', ['web']), false],
    ['NotIn, missing label', expression('NotIn', 'zone', ['a']), true],
    ['Exists', expression('Exists', 'tier'), true],
    ['DoesNotExist', expression('DoesNotExist', 'tier'), false],
    ['both kinds', { matchLabels: { app: 'web' }, ...expression('Exists', 'zone') }, false],
  ])('%s', (_title, selector, fits) => {
    const test = selectorTest(selector);
    expect(test.ok && test.value(labels)).toBe(fits);
  });

  it.each([
    ['unknown operator', expression('Like', 'app'), 'Like is no operator'],
    ['In without values', expression('In', 'app', []), 'In needs values'],
    ['Exists with values', expression('Exists', 'app', ['a']), 'Exists takes no values'],
    ['no key', expression('Exists', ''), 'needs a key'],
    ['values of another type', expression('In', 'app', [1]), 'needs a key'],
    ['null requirement', { matchExpressions: [null] }, 'needs a key'],
    ['matchLabels of another type', { matchLabels: 'a=b' }, 'is a map'],
    ['matchExpressions of another type', { matchExpressions: {} }, 'is a map'],
  ])('%s', (_title, selector, told) => {
    const test = selectorTest(selector);
    expect(test.ok ? '' : test.error).toContain(told);
  });

  it('never throws', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (selector) => {
        const test = selectorTest(selector);
        if (test.ok) test.value(labels);
      }),
    );
  });
});

describe('selectorMatches', () => {
  const labels = { app: 'web', constructor: 'no' };
  const requires = (key: string, operator: string, ...values: string[]) => ({ matchExpressions: [{ key, operator, values }] });
  it.each<[string, Parameters<typeof selectorMatches>[0], boolean]>([
    ['an absent selector fits nothing', undefined, false],
    ['an empty one everything', {}, true],
    ['labels', { matchLabels: { app: 'web' } }, true],
    ['another label', { matchLabels: { app: 'db' } }, false],
    ['In', requires('app', 'In', 'web', 'db'), true],
    ['In without the label', requires('tier', 'In', 'web'), false],
    ['NotIn without the label', requires('tier', 'NotIn', 'web'), true],
    ['Exists', requires('app', 'Exists'), true],
    ['DoesNotExist', requires('app', 'DoesNotExist'), false],
    ['a name of every object is no label', requires('toString', 'Exists'), false],
    ['both kinds must fit', { matchLabels: { app: 'web' }, ...requires('app', 'NotIn', 'web') }, false],
  ])('%s', (_title, selector, expected) => {
    expect(selectorMatches(selector, labels)).toBe(expected);
  });
});
