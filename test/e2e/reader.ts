// Looking at objects without a process for each look: a kubectl costs a tenth of a second of a processor, and waiting looks several times a second
// while guests want it. Answers undefined for what it does not know; then kubectl is asked, as a user would.

import type { KubeObject } from '../../src/api/meta.js';
import { systemClock } from '../../src/base/clock.js';
import { RestClient } from '../../src/runtime/client.js';
import { kubeTransport, loadKubeConfig } from '../../src/runtime/kube-config.js';
import {
  EVENTS,
  PERSISTENT_VOLUME_CLAIMS,
  PODS,
  VIRTUAL_MACHINE_INSTANCE_MIGRATIONS,
  VIRTUAL_MACHINE_INSTANCES,
  VIRTUAL_MACHINES,
} from '../../src/runtime/resources.js';
import type { KubeClient, ListOptions, Resource } from '../../src/runtime/types.js';

const KINDS: Readonly<Record<string, Resource<KubeObject>>> = {
  vm: VIRTUAL_MACHINES,
  vmi: VIRTUAL_MACHINE_INSTANCES,
  vmim: VIRTUAL_MACHINE_INSTANCE_MIGRATIONS,
  pod: PODS,
  pods: PODS,
  pvc: PERSISTENT_VOLUME_CLAIMS,
  events: EVENTS,
};

const OPTIONS: Readonly<Record<string, keyof ListOptions>> = {
  '-n': 'namespace',
  '-l': 'labelSelector',
  '--field-selector': 'fieldSelector',
};

/** kubectl's words for what to list; undefined when there are others among them. */
export function listOptions(args: readonly string[]): ListOptions | undefined {
  const options: Partial<Record<keyof ListOptions, string>> = {};
  for (let i = 0; i < args.length; i += 2) {
    const [option, value] = [OPTIONS[args[i] ?? ''], args[i + 1]];
    if (option === undefined || value === undefined) return undefined;
    options[option] = value;
  }
  return options;
}

export interface Reader {
  /** A function that looks, if it knows the kind. */
  finding(kind: string): ((name: string, namespace: string) => Promise<KubeObject | undefined>) | undefined;
  listing(kind: string, args: readonly string[]): (() => Promise<KubeObject[]>) | undefined;
}

export function openReader(kubeconfig: string): Reader {
  const client: KubeClient = new RestClient({ transport: kubeTransport(loadKubeConfig(kubeconfig), systemClock), clock: systemClock });
  return {
    finding(kind) {
      const resource = KINDS[kind];
      return resource && ((name, namespace) => client.find(resource, `${namespace}/${name}`));
    },
    listing(kind, args) {
      const [resource, options] = [KINDS[kind], listOptions(args)];
      return resource && options && (async () => (await client.list(resource, options)).items);
    },
  };
}
