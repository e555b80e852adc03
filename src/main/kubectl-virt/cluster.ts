// The cluster as `kubectl virt` sees it: requests and streams with the credentials of the kubeconfig.
import type { VirtualMachine, VirtualMachineInstance } from '../../api/index.js';
import { systemClock } from '../../base/clock.js';
import { KvError } from '../../base/errors.js';
import { dialWebSocket } from '../../http/index.js';
import { HttpTransport } from '../../runtime/http-transport.js';
import { currentNamespace, KubeConfigCredentials, loadKubeConfig } from '../../runtime/kube-config.js';
import type { Command } from './arguments.js';
import { refusalOf } from './explain.js';

export type Stream = Awaited<ReturnType<typeof dialWebSocket>>;

export interface Cluster {
  readonly namespace: string;
  /** PUT of a subresource; throws a KvError with details.status and details.body when refused. */
  put(resource: 'virtualmachines' | 'virtualmachineinstances', name: string, verb: string, options: object): Promise<void>;
  /** A subresource's document; refused as put is. */
  get(resource: 'virtualmachines' | 'virtualmachineinstances', name: string, verb: string): Promise<unknown>;
  /** `console`, `vnc`, `portforward/PORT/tcp`. */
  dial(name: string, verb: string): Promise<Stream>;
  /** undefined when there is none. */
  vmi(name: string): Promise<VirtualMachineInstance | undefined>;
  vm(name: string): Promise<VirtualMachine | undefined>;
  close(): void;
}

const refused = (status: number, body: string): KvError =>
  new KvError('Unavailable', `the server answered ${status}`, { details: { status, body } });

export function connectCluster(command: Command): Cluster {
  const config = loadKubeConfig(command.kubeconfig);
  if (command.context !== undefined) {
    if (!config.getContextObject(command.context)) throw new KvError('Invalid', `the kubeconfig has no context ${command.context}`);
    config.setCurrentContext(command.context);
  }
  const namespace = command.namespace ?? currentNamespace(config) ?? 'default';
  const credentials = new KubeConfigCredentials(config, systemClock);
  const transport = new HttpTransport(credentials);
  const subresource = (resource: string, name: string, verb: string): string =>
    `/apis/subresources.kubevirt.io/v1/namespaces/${encodeURIComponent(namespace)}/${resource}/${encodeURIComponent(name)}/${verb}`;
  const find = async <T>(resource: string, name: string): Promise<T | undefined> => {
    const path = `/apis/kubevirt.io/v1/namespaces/${encodeURIComponent(namespace)}/${resource}/${encodeURIComponent(name)}`;
    const answer = await transport.request({ method: 'GET', path });
    if (answer.status >= 300) {
      if (answer.status === 404 && refusalOf(answer.status, answer.body).message.includes('" not found')) return undefined;
      throw refused(answer.status, answer.body);
    }
    return JSON.parse(answer.body) as T;
  };
  return {
    namespace,
    async put(resource, name, verb, options) {
      const path = subresource(resource, name, verb);
      const headers = { 'content-type': 'application/json' };
      const answer = await transport.request({ method: 'PUT', path, headers, body: JSON.stringify(options) });
      if (answer.status >= 300) throw refused(answer.status, answer.body);
    },
    async get(resource, name, verb) {
      const answer = await transport.request({ method: 'GET', path: subresource(resource, name, verb) });
      if (answer.status >= 300) throw refused(answer.status, answer.body);
      return JSON.parse(answer.body) as unknown;
    },
    async dial(name, verb) {
      const { headers, tls, agent } = await credentials.current();
      const url = new URL(subresource('virtualmachineinstances', name, verb), credentials.server);
      return await dialWebSocket({ url: url.href, headers, tls: { ...tls, ...(agent ? { agent } : {}) } });
    },
    vmi: (name) => find<VirtualMachineInstance>('virtualmachineinstances', name),
    vm: (name) => find<VirtualMachine>('virtualmachines', name),
    close: () => transport.close(),
  };
}
