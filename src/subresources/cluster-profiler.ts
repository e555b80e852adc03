// Profiles of all components at once: starts and stops them, and collects what they found, a page of pods a request. The paths ask for no
// identity, so they do nothing unless the KubeVirt CR enables them.
import type { Pod } from '../api/index.js';
import { isDeleting } from '../api/meta.js';
import { hasCode, KvError, messageOf } from '../base/errors.js';
import type { Logger } from '../base/logger.js';
import type { ClusterConfig } from '../core/config/cluster-config.js';
import {
  type ClientTls,
  empty,
  type Handler,
  type HttpRequest,
  type HttpResponse,
  json,
  profilerDisabled,
  requestOnce,
  text,
} from '../http/index.js';
import { PODS } from '../runtime/resources.js';
import type { KubeClient } from '../runtime/types.js';
import { host } from './node-agent.js';
import { parseOptions } from './options.js';

export interface ClusterProfilerDeps {
  readonly client: KubeClient;
  readonly config: () => ClusterConfig;
  readonly installNamespace: string;
  /** By which the components' own certificates are checked. */
  readonly ca: ClientTls['ca'];
  readonly log: Logger;
  /** Where every component serves its profiler; default 8443. */
  readonly port?: number;
}

interface DumpOptions {
  readonly labelSelector?: string;
  readonly continue?: string;
  readonly pageSize?: number;
}

export interface Page {
  readonly pods: readonly Pod[];
  readonly next?: string;
}

const COMPONENT = /^virt-(api|operator|handler|controller)-/;
const DUMP_FIELDS = { labelSelector: 'string', continue: 'string', pageSize: 'integer' } as const;
const PAGE_SIZE = 10;
/** The answer holds the profiles of all pods of a page. */
const LARGEST_PAGE = 20;
const TIMEOUT_MS = 5_000;
const PORT = 8443;

const nameOf = (pod: Pod): string => pod.metadata.name ?? '';

/** Pods that can tell something now, in a fixed order. Pure. */
export function readyComponents(pods: readonly Pod[]): readonly Pod[] {
  const isReady = ({ status }: Pod): boolean =>
    status?.phase === 'Running' && (status.conditions?.some((c) => c.type === 'Ready' && c.status === 'True') ?? false);
  return pods
    .filter((pod) => COMPONENT.test(nameOf(pod)) && !isDeleting(pod) && isReady(pod))
    .sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
}

/** The word to continue with is the name of the last pod told of: pods that come and go shift nothing. Pure. */
export function pageOf(pods: readonly Pod[], { continue: after = '', pageSize = 0 }: DumpOptions): Page {
  const rest = pods.filter((pod) => nameOf(pod) > after);
  const size = pageSize > 0 ? Math.min(pageSize, LARGEST_PAGE) : PAGE_SIZE;
  const page = rest.slice(0, size);
  const last = page.at(-1);
  return { pods: page, ...(last && rest.length > size ? { next: nameOf(last) } : {}) };
}

async function askPod(deps: ClusterProfilerDeps, pod: Pod, command: string): Promise<Buffer> {
  const url = `https://${host(pod.status?.podIP ?? '')}:${deps.port ?? PORT}/${command}-profiler`;
  const { status, body } = await requestOnce({ ca: deps.ca }, { method: 'GET', url, timeoutMs: TIMEOUT_MS });
  if (status === 200) return body;
  throw new KvError('Unavailable', `pod ${nameOf(pod)} answered ${status}: ${body.toString('utf8').trim()}`);
}

/** All pods are asked, even if one fails; the first failure is told. */
async function askAll(deps: ClusterProfilerDeps, pods: readonly Pod[], command: string): Promise<readonly Buffer[]> {
  const answers = await Promise.allSettled(pods.map((pod) => askPod(deps, pod, command)));
  return answers.map((answer) => {
    if (answer.status === 'rejected') throw answer.reason;
    return answer.value;
  });
}

async function componentPods({ client, installNamespace }: ClusterProfilerDeps, labelSelector: string): Promise<readonly Pod[]> {
  const { items } = await client.list(PODS, { namespace: installNamespace, ...(labelSelector ? { labelSelector } : {}) });
  return readyComponents(items);
}

async function switchAll(deps: ClusterProfilerDeps, command: 'start' | 'stop'): Promise<HttpResponse> {
  const pods = await componentPods(deps, 'kubevirt.io');
  if (pods.length === 0) return text(500, 'Internal error, no component pods found');
  await askAll(deps, pods, command);
  return empty(200);
}

async function dumpAll(deps: ClusterProfilerDeps, request: HttpRequest): Promise<HttpResponse> {
  const options = parseOptions<DumpOptions>(request.body, DUMP_FIELDS);
  if (!options.ok) return text(400, `failed to parse cluster profiler request: ${options.error.message}`);
  let found: readonly Pod[];
  try {
    found = await componentPods(deps, options.value.labelSelector ?? '');
  } catch (err) {
    if (!hasCode(err, 'Invalid')) throw err;
    return text(400, `Internal error while looking up component pods for profiling: ${messageOf(err)}`);
  }
  const { pods, next } = pageOf(found, options.value);
  if (pods.length === 0) return empty(204);
  const answers = await askAll(deps, pods, 'dump');
  const results = pods.map((pod, i) => [nameOf(pod), JSON.parse(String(answers[i])) as unknown]);
  return json(200, { componentResults: Object.fromEntries(results), ...(next === undefined ? {} : { continue: next }) });
}

export interface ClusterProfilerHandlers {
  readonly start: Handler;
  readonly stop: Handler;
  readonly dump: Handler;
}

export function clusterProfilerHandlers(deps: ClusterProfilerDeps): ClusterProfilerHandlers {
  const guarded =
    (what: string, run: Handler): Handler =>
    async (request) => {
      if (deps.config().spec.developerConfiguration?.clusterProfiler !== true) return text(403, profilerDisabled(what));
      try {
        return await run(request);
      } catch (err) {
        deps.log.warn({ err: messageOf(err), path: request.path }, 'Cannot profile the components');
        return text(500, `Internal error encountered: ${messageOf(err)}`);
      }
    };
  return {
    start: guarded('start profiler', () => switchAll(deps, 'start')),
    stop: guarded('stop profiler', () => switchAll(deps, 'stop')),
    dump: guarded('dump profiler results', (request) => dumpAll(deps, request)),
  };
}
