// What the admission groups of the oracle have in common: the cluster configuration of a case and the objects around it.
import type { KubeObject, KubeVirtConfiguration } from '../../../src/api/index.js';
import { type ClusterConfig, clusterConfigOf } from '../../../src/core/config/cluster-config.js';
import { isOwnAccount } from '../../../src/webhooks/service-accounts.js';
import { createStructuralCheck } from '../../../src/webhooks/structural.js';
import { structuralVerdict, type Verdict } from '../../../src/webhooks/verdict.js';
import type { OracleCase } from '../oracle-case.js';

export const INSTALL_NAMESPACE = 'kubevirt';

export interface GateLists {
  readonly gates?: readonly string[];
  readonly disabled?: readonly string[];
}

export function configOf(testCase: OracleCase, lists: GateLists = {}): ClusterConfig {
  const given = (testCase.config ?? {}) as KubeVirtConfiguration;
  const developer = given.developerConfiguration ?? {};
  const config: KubeVirtConfiguration = {
    ...given,
    developerConfiguration: {
      ...developer,
      featureGates: [...(developer.featureGates ?? []), ...(lists.gates ?? [])],
      disabledFeatureGates: [...(developer.disabledFeatureGates ?? []), ...(lists.disabled ?? [])],
    },
  };
  return clusterConfigOf(config, {
    defaultArchitecture: String(testCase.arch ?? 'amd64'),
    annotations: (testCase.kvAnnotations ?? {}) as Record<string, string>,
  });
}

export const given = (testCase: OracleCase): GateLists => ({
  gates: (testCase.gates ?? []) as string[],
  disabled: (testCase.disabledGates ?? []) as string[],
});

export const envOf = <T extends KubeObject>(testCase: OracleCase, kind: string): T[] =>
  ((testCase.env ?? []) as KubeObject[]).filter((o) => o.kind === kind) as T[];

export const userOf = (testCase: OracleCase): string => String(testCase.user ?? 'kubernetes-admin');

export const own = (testCase: OracleCase): boolean => isOwnAccount(userOf(testCase), INSTALL_NAMESPACE);

export type Admit = (testCase: OracleCase, config: ClusterConfig) => Verdict;

export const structural = createStructuralCheck();

/** The object's structure first, as the webhooks check it. */
export function structured(kind: string, admit: Admit): Admit {
  return (testCase, config) => {
    const verdict = structuralVerdict(structural.problems(kind, testCase.object));
    return verdict.allowed ? admit({ ...testCase, object: structural.completed(kind, testCase.object) }, config) : verdict;
  };
}
