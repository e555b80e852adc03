// What the installer wants to know of the nodes: how many take pods, and which architecture guests get by default. Pure.
import type { Node } from '../../api/index.js';

export interface ClusterShape {
  readonly schedulableNodes: number;
  /** undefined without nodes. */
  readonly defaultArchitecture: string | undefined;
}

const CONTROL_PLANE = ['node-role.kubernetes.io/control-plane', 'node-role.kubernetes.io/master'];

export function clusterShape(nodes: readonly Node[]): ClusterShape {
  const control = nodes.filter(({ metadata }) => CONTROL_PLANE.some((label) => metadata.labels?.[label] !== undefined));
  return {
    schedulableNodes: nodes.filter(({ spec }) => spec?.unschedulable !== true).length,
    defaultArchitecture: mostCommon((control.length > 0 ? control : nodes).map(architectureOf)),
  };
}

/** True when the change of a node can change the installation. */
export function changesShape(node: Node, old: Node | undefined): boolean {
  return !old || node.spec?.unschedulable !== old.spec?.unschedulable || architectureOf(node) !== architectureOf(old);
}

const architectureOf = (node: Node): string | undefined => node.status?.nodeInfo?.architecture;

function mostCommon(values: readonly (string | undefined)[]): string | undefined {
  const counts = new Map<string, number>();
  for (const value of values) if (value) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))[0]?.[0];
}
