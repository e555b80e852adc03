// Reads what a VM's references to instance type and preference name: the objects and the revisions that are kept of them. Each by a single
// request; kinds whose CRDs are not installed count as having no objects.
import type { ControllerRevision } from '../api/index.js';
import { CONTROLLER_REVISIONS, INSTANCETYPES, type InstancetypeObject } from './resources.js';
import type { KubeClient } from './types.js';

export interface InstancetypeReference {
  readonly kind: keyof typeof INSTANCETYPES;
  readonly name: string;
  /** Absent for cluster-wide kinds. */
  readonly namespace?: string;
}

export interface InstancetypeSource {
  revision(namespace: string, name: string): Promise<ControllerRevision | undefined>;
  object(reference: InstancetypeReference): Promise<InstancetypeObject | undefined>;
}

export const instancetypeSource = (client: KubeClient): InstancetypeSource => ({
  revision: (namespace, name) => client.find(CONTROLLER_REVISIONS, `${namespace}/${name}`),
  object: ({ kind, namespace, name }) => client.find(INSTANCETYPES[kind], namespace ? `${namespace}/${name}` : name),
});
