// What of the demo a cluster had before: the demo neither changes nor removes that. look() asks kubectl; the rest is pure.
import { join } from 'node:path';
import { ROOT } from '../run/steps.js';

export const CR = join(ROOT, 'config/samples/kubevirt-cr.yaml');
export const VM = join(ROOT, 'config/samples/vm.yaml');
/** As the samples have them. */
export const MACHINE = { namespace: 'default', name: 'demo' };
const KUBEVIRTS = 'kubevirts.kubevirt.io';

export interface Item {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

export interface Found {
  /** Objects of `kubectl apply -k .`. */
  readonly objects: readonly Item[];
  /** KubeVirt objects of the whole cluster: there is to be one. */
  readonly kubevirts: readonly Item[];
  /** VirtualMachines of the demo's name. */
  readonly machines: readonly Item[];
}

export type Kubectl = (args: readonly string[]) => Promise<string>;

/** Objects in the answer of `kubectl get … -o json`: a list, one object, or nothing. */
export function itemsOf(answer: string): Item[] {
  if (answer.trim() === '') return [];
  const value = JSON.parse(answer) as Item & { readonly items?: readonly Item[] };
  return value.items ? [...value.items] : [value];
}

export async function look(kubectl: Kubectl): Promise<Found> {
  const get = async (...what: readonly string[]) => itemsOf(await kubectl(['get', ...what, '--ignore-not-found', '-o', 'json']));
  const objects = await get('-k', ROOT);
  const hasKind = (plural: string) => objects.some(({ kind, metadata }) => kind === 'CustomResourceDefinition' && metadata.name === plural);
  return {
    objects,
    kubevirts: hasKind(KUBEVIRTS) ? await get(KUBEVIRTS, '-A') : [],
    machines: hasKind('virtualmachines.kubevirt.io') ? await get('virtualmachines.kubevirt.io', MACHINE.name, '-n', MACHINE.namespace) : [],
  };
}

/** A KubeVirt that is there is used as it is, whoever installed it; so is an operator that waits for its first KubeVirt object. */
export interface Plan {
  readonly installsOperator: boolean;
  readonly createsKubevirt: boolean;
  readonly createsMachine: boolean;
  /** Which KubeVirt is waited for. */
  readonly kubevirt: { readonly namespace: string; readonly name: string };
}

export function planOf({ objects, kubevirts, machines }: Found): Plan {
  const [present] = kubevirts;
  const hasOperator = objects.some(({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'virt-operator');
  return {
    installsOperator: present === undefined && !hasOperator,
    createsKubevirt: present === undefined,
    createsMachine: machines.length === 0,
    kubevirt: { namespace: present?.metadata.namespace ?? 'kubevirt', name: present?.metadata.name ?? 'kubevirt' },
  };
}

const keyOf = ({ apiVersion, kind, metadata }: Item): string => [apiVersion, kind, metadata.namespace ?? '', metadata.name].join('/');

/** What `kubectl apply -k .` added: `now` without what was there before, each as an argument list for kubectl. */
export function addedSince(before: readonly Item[], now: readonly Item[]): string[][] {
  const known = new Set(before.map(keyOf));
  return now
    .filter((item) => !known.has(keyOf(item)))
    .map(({ apiVersion, kind, metadata }) => {
      const [group, version] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
      const type = group === '' ? kind.toLowerCase() : `${kind.toLowerCase()}.${version}.${group}`;
      return [`${type}/${metadata.name}`, ...(metadata.namespace ? ['-n', metadata.namespace] : [])];
    });
}
