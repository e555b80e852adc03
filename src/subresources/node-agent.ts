// The way to the node agent of a VMI: which pod it is, and requests and streams to its console server. Mutual TLS; the agent is known by
// the name in its certificate. Reads one pod list a request, keeps nothing.
import { STATUS_CODES } from 'node:http';
import type { VirtualMachineInstance } from '../api/index.js';
import { type Clock, sleep, ticks } from '../base/clock.js';
import { KvError } from '../base/errors.js';
import { fail, ok, type Result } from '../base/result.js';
import { type ClientRequest, type ClientResponse, type ClientTls, type DialledStream, dialRaw, requestOnce } from '../http/index.js';
import { PODS } from '../runtime/resources.js';
import type { KubeClient } from '../runtime/types.js';
import { type AgentFailure, agentPod, isPassingAnswer, isPassingFault, LOOK_AGAIN_MS, PATIENCE_MS } from './agent-change.js';
import { internalError, notImplemented, type StatusError } from './status.js';

export interface NodeAgentDeps {
  readonly client: KubeClient;
  readonly tls: ClientTls;
  readonly installNamespace: string;
  readonly port: number;
  readonly clock: Clock;
}

export interface NodeAgents {
  /** PUT without expecting an answer body. */
  put(vmi: VirtualMachineInstance, verb: string, body: Buffer): Promise<StatusError | undefined>;
  /** GET of a document. */
  get(vmi: VirtualMachineInstance, verb: string): Promise<Result<Document, StatusError>>;
  stream(
    vmi: VirtualMachineInstance,
    verb: string,
    query: URLSearchParams,
    signal: AbortSignal,
  ): Promise<Result<DialledStream, StatusError>>;
}

type Ask = Pick<ClientRequest, 'method' | 'body'>;

export interface Document {
  readonly type: string;
  readonly body: Buffer;
}

/** Verbs that wait for the guest, and how long the node agent does so at most. */
const SLOW_MS: Readonly<Record<string, number>> = { freeze: 58_000, unfreeze: 58_000, softreboot: 30_000, reset: 30_000 };
/** Longer than the agent's own patience: its answer says where it waited. */
const DEFAULT_MS = 25_000;

export const AGENT_CERTIFICATE_NAME = 'kubevirt.io:system:node:virt-handler';

export const host = (ip: string): string => (ip.includes(':') ? `[${ip}]` : ip);

/**
 * What the agent did not do. One of another version may not know a verb: that is no failure of the guest. Its reason for not serving
 * something is passed on too.
 */
export function agentFailure(verb: string, status: number, body: Buffer): StatusError {
  const told = body.toString('utf8').trim();
  if (status === 501) return notImplemented(told || `the node agent does not serve ${verb}`);
  if (status === 404 && UNKNOWN_PATH.test(told)) return notImplemented(`the node agent does not serve ${verb}: update virt-handler`);
  return internalError(`unexpected return code ${status} (${status} ${STATUS_CODES[status] ?? 'Unknown'}), message: ${told}`);
}

const UNKNOWN_PATH = /^(nothing|no stream) is served at |^404: Page Not Found|^404 page not found/;

type Attempt<T> = () => Promise<Result<T, AgentFailure>>;

/** Once, or until the next virt-handler answers. */
async function patiently<T>(clock: Clock, attempt: Attempt<T>, signal?: AbortSignal): Promise<Result<T, StatusError>> {
  const deadline = ticks(clock) + PATIENCE_MS;
  for (;;) {
    const answer = await attempt();
    if (answer.ok) return answer;
    const { error, passes } = answer.error;
    if (!passes || signal?.aborted || ticks(clock) + LOOK_AGAIN_MS > deadline) return fail(error);
    await sleep(clock, LOOK_AGAIN_MS, signal);
  }
}

const refused = (verb: string, { status, body }: ClientResponse): AgentFailure => ({
  error: agentFailure(verb, status, body),
  passes: isPassingAnswer(status, body.toString('utf8')),
});
const unreached = (err: unknown, isStream: boolean): AgentFailure => ({
  error: internalError(err instanceof KvError ? err.message : String(err)),
  passes: isPassingFault(err, isStream),
});

export function createNodeAgents({ client, tls, installNamespace, port, clock }: NodeAgentDeps): NodeAgents {
  const url = async (vmi: VirtualMachineInstance, verb: string, more?: Record<string, string>): Promise<Result<string, AgentFailure>> => {
    const { name = '', namespace = '' } = vmi.metadata;
    const node = vmi.status?.nodeName ?? '';
    const options = { namespace: installNamespace, labelSelector: 'kubevirt.io=virt-handler', fieldSelector: `spec.nodeName=${node}` };
    const found = agentPod(vmi, node ? (await client.list(PODS, options)).items : []);
    if (!found.ok) return found;
    const path = `/v1/namespaces/${encodeURIComponent(namespace)}/virtualmachineinstances/${encodeURIComponent(name)}/${verb}`;
    // The name may belong to another VMI by the time the agent reads it.
    const query = new URLSearchParams({ ...more, ...(vmi.metadata.uid ? { uid: vmi.metadata.uid } : {}) });
    return ok(`https://${host(found.value.status?.podIP ?? '')}:${port}${path}${query.size > 0 ? `?${query}` : ''}`);
  };
  const askOnce = async (vmi: VirtualMachineInstance, verb: string, how: Ask): Promise<Result<Document, AgentFailure>> => {
    const target = await url(vmi, verb);
    if (!target.ok) return target;
    try {
      const answer = await requestOnce(tls, { ...how, url: target.value, timeoutMs: SLOW_MS[verb] ?? DEFAULT_MS });
      if (answer.status < 200 || answer.status >= 300) return fail(refused(verb, answer));
      return ok({ type: answer.headers['content-type'] ?? 'application/json', body: answer.body });
    } catch (err) {
      return fail(unreached(err, false));
    }
  };
  const ask = (vmi: VirtualMachineInstance, verb: string, how: Ask): Promise<Result<Document, StatusError>> =>
    patiently(clock, () => askOnce(vmi, verb, how));
  return {
    async put(vmi, verb, body) {
      const answer = await ask(vmi, verb, { method: 'PUT', body });
      return answer.ok ? undefined : answer.error;
    },
    get: (vmi, verb) => ask(vmi, verb, { method: 'GET' }),
    stream: (vmi, verb, query, signal) =>
      patiently<DialledStream>(
        clock,
        async () => {
          const target = await url(vmi, verb, Object.fromEntries(query));
          if (!target.ok) return target;
          try {
            const answer = await dialRaw(tls, { url: target.value, signal });
            return 'socket' in answer ? ok(answer) : fail(refused(verb, answer));
          } catch (err) {
            return fail(unreached(err, true));
          }
        },
        signal,
      ),
  };
}
