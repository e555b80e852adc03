// How far our CRDs agree with the recorded ones: each as a whole, and what each makes of objects derived from the recorded schema.
import type { CustomResourceDefinition } from '../../../src/api/index.js';
import { outcome } from './outcome.js';
import { crdDifferences, schemaIn } from './recorded.js';
import { variants } from './variants.js';

export interface Agreement {
  readonly name: string;
  readonly cases: number;
  /** One line a case that does not agree. */
  readonly differences: readonly string[];
}

/** The recording wrote a time over the schema of these fields, so that it says nothing about them. */
const UNKNOWN = /\.phaseTransitionTimestamps\[\]\.phaseTransitionTimestamp:/;

function disagreeing(
  recorded: CustomResourceDefinition,
  ours: CustomResourceDefinition,
  version: string,
): { cases: number; titles: string[] } {
  const [want, have] = [schemaIn(recorded, version), schemaIn(ours, version)];
  const all = [...variants(want)].filter(({ title }) => !UNKNOWN.test(title));
  const titles = all.filter(({ object }) => JSON.stringify(outcome(object, want)) !== JSON.stringify(outcome(object, have)));
  return { cases: all.length, titles: titles.map(({ title }) => `${version} ${title}`) };
}

export function agreementOf(recorded: CustomResourceDefinition, ours: CustomResourceDefinition | undefined): Agreement {
  const whole = crdDifferences(recorded, ours);
  const byVersion = ours ? recorded.spec.versions.map(({ name }) => disagreeing(recorded, ours, name)) : [];
  return {
    name: recorded.metadata.name ?? '',
    cases: 1 + byVersion.reduce((sum, { cases }) => sum + cases, 0),
    differences: [...whole, ...byVersion.flatMap(({ titles }) => titles)],
  };
}
