// Feature gates and what else developers set of the installation, changed for the length of a test.
import type { KubeVirt } from '../../src/api/index.js';
import { find, kubectl } from './harness.js';

export interface Gates {
  readonly on?: readonly string[];
  readonly off?: readonly string[];
}

/** Merges into the CR; null takes a field out. */
export async function patchDeveloper(developerConfiguration: object): Promise<void> {
  const patch = { spec: { configuration: { developerConfiguration } } };
  await kubectl('patch', 'kubevirt', 'kubevirt', '-n', 'kubevirt', '--type', 'merge', '-p', JSON.stringify(patch));
}

/** Adds to the gates that are set; the answer puts them back as they were. */
export async function setGates({ on = [], off = [] }: Gates): Promise<() => Promise<void>> {
  const developer = (await find<KubeVirt>('kubevirt', 'kubevirt', 'kubevirt'))?.spec?.configuration?.developerConfiguration;
  const [before, beforeOff] = [developer?.featureGates, developer?.disabledFeatureGates];
  await patchDeveloper({ featureGates: [...(before ?? []), ...on], disabledFeatureGates: [...(beforeOff ?? []), ...off] });
  return () => patchDeveloper({ featureGates: before ?? null, disabledFeatureGates: beforeOff ?? null });
}

/** Runs with the gates as given, whatever comes of it. */
export async function withGates(gates: Gates, run: () => Promise<void>): Promise<void> {
  const restore = await setGates(gates);
  try {
    await run();
  } finally {
    await restore();
  }
}
