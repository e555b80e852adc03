// The way to the node agent of a VMI: which pod it is, and requests and streams to its console server. Mutual TLS; the agent is known by
// the name in its certificate. Reads one pod list a request, keeps nothing.
import type { Pod, VirtualMachineInstance } from '../api/index.js';
import { KvError } from '../base/errors.js';
import { fail, ok, type Result } from '../base/result.js';
import { type ClientRequest, type ClientTls, type DialledStream, dialRaw, requestOnce } from '../http/index.js';
import { PODS } from '../runtime/resources.js';
import type { KubeClient } from '../runtime/types.js';
import { badRequest, internalError, type StatusError } from './status.js';

export interface NodeAgentDeps {
  readonly client: KubeClient;
  readonly tls: ClientTls;
  readonly installNamespace: string;
  readonly port: number;
}

export interface NodeAgents {
  /** PUT without expecting an answer body. */
  put(vmi: VirtualMachineInstance, verb: string, body: Buffer): Promise<StatusError | undefined>;
  /** GET of a JSON document. */
  get(vmi: VirtualMachineInstance, verb: string): Promise<Answer>;
  stream(
    vmi: VirtualMachineInstance,
    verb: string,
    query: URLSearchParams,
    signal: AbortSignal,
  ): Promise<Result<DialledStream, StatusError>>;
}

type Answer = Result<Buffer, StatusError>;

export const AGENT_CERTIFICATE_NAME = 'kubevirt.io:system:node:virt-handler';

const host = (ip: string): string => (ip.includes(':') ? `[${ip}]` : ip);

/** Chooses among the agent pods of one node. Pure. */
export function agentPod(vmi: VirtualMachineInstance, pods: readonly Pod[]): Result<Pod, StatusError> {
  const phase = vmi.status?.phase ?? '';
  if (phase !== 'Running' && phase !== 'Scheduled') {
    const where = 'Unable to connect to VirtualMachineInstance because phase is';
    return fail(badRequest(`${where} ${phase} instead of Running or Scheduled`));
  }
  const [pod, ...others] = pods;
  if (!pod) return fail(badRequest(`No virt-handler on node ${vmi.status?.nodeName ?? ''} found`));
  if (others.length > 0) return fail(badRequest(`Expected to find one Pod, found ${pods.length} Pods`));
  return pod.status?.podIP ? ok(pod) : fail(badRequest(`virt-handler pod ${pod.metadata.name} has no address yet`));
}

const unexpected = (status: number, body: Buffer): StatusError =>
  internalError(`unexpected return code ${status}, message: ${body.toString('utf8').trim()}`);

export function createNodeAgents({ client, tls, installNamespace, port }: NodeAgentDeps): NodeAgents {
  const url = async (scheme: string, vmi: VirtualMachineInstance, verb: string): Promise<Result<string, StatusError>> => {
    const { name = '', namespace = '' } = vmi.metadata;
    const node = vmi.status?.nodeName ?? '';
    const options = { namespace: installNamespace, labelSelector: 'kubevirt.io=virt-handler', fieldSelector: `spec.nodeName=${node}` };
    const found = agentPod(vmi, node ? (await client.list(PODS, options)).items : []);
    if (!found.ok) return found;
    const path = `/v1/namespaces/${encodeURIComponent(namespace)}/virtualmachineinstances/${encodeURIComponent(name)}/${verb}`;
    return ok(`${scheme}://${host(found.value.status?.podIP ?? '')}:${port}${path}`);
  };
  const failed = (err: unknown): StatusError => internalError(err instanceof KvError ? err.message : String(err));
  const ask = async (vmi: VirtualMachineInstance, verb: string, how: Pick<ClientRequest, 'method' | 'body'>): Promise<Answer> => {
    const target = await url('https', vmi, verb);
    if (!target.ok) return target;
    try {
      const { status, body } = await requestOnce(tls, { ...how, url: target.value });
      return status >= 200 && status < 300 ? ok(body) : fail(unexpected(status, body));
    } catch (err) {
      return fail(failed(err));
    }
  };
  return {
    async put(vmi, verb, body) {
      const answer = await ask(vmi, verb, { method: 'PUT', body });
      return answer.ok ? undefined : answer.error;
    },
    get: (vmi, verb) => ask(vmi, verb, { method: 'GET' }),
    async stream(vmi, verb, query, signal) {
      const target = await url('https', vmi, verb);
      if (!target.ok) return target;
      try {
        const suffix = query.size > 0 ? `?${query}` : '';
        const answer = await dialRaw(tls, { url: `${target.value}${suffix}`, signal });
        return 'socket' in answer ? ok(answer) : fail(unexpected(answer.status, answer.body));
      } catch (err) {
        return fail(failed(err));
      }
    },
  };
}
