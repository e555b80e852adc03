// Console and VNC: checks the VMI, opens the stream to its node agent first, and only then accepts the client's, so that every failure is
// an HTTP answer that a person can read. The two connections are spliced as they are; back-pressure is that of the sockets.
import type { VirtualMachineInstance } from '../api/index.js';
import type { Clock } from '../base/clock.js';
import { messageOf } from '../base/errors.js';
import type { Logger } from '../base/logger.js';
import type { Metrics } from '../base/metrics.js';
import { type HttpRequest, type HttpResponse, splice, type Upgrade, type UpgradeHandler } from '../http/index.js';
import { VIRTUAL_MACHINE_INSTANCES } from '../runtime/resources.js';
import type { KubeClient } from '../runtime/types.js';
import type { Authorize } from './authorize.js';
import { consoleRefusal, vncRefusal } from './decide-vmi.js';
import type { NodeAgents } from './node-agent.js';
import { internalError, notFound, type StatusError, statusAnswer } from './status.js';

export interface StreamDeps {
  readonly client: KubeClient;
  readonly agents: NodeAgents;
  readonly authorize: Authorize;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly log: Logger;
}

interface StreamKind {
  readonly verb: 'console' | 'vnc';
  readonly refuse: (vmi: VirtualMachineInstance) => StatusError | undefined;
  /** The parameters that are handed on to the agent. */
  readonly query: (query: URLSearchParams) => URLSearchParams;
}

const CONSOLE: StreamKind = { verb: 'console', refuse: consoleRefusal, query: () => new URLSearchParams() };
const VNC: StreamKind = {
  verb: 'vnc',
  refuse: vncRefusal,
  query: (query) => (query.get('preserveSession') === 'true' ? new URLSearchParams({ preserveSession: 'true' }) : new URLSearchParams()),
};

function meters(metrics: Metrics, verb: 'console' | 'vnc') {
  const names = ['namespace', 'vmi'] as const;
  return {
    active: metrics.gauge(`kubevirt_${verb}_active_connections`, `Open ${verb} connections`, names),
    last: metrics.gauge(
      'kubevirt_vmi_last_api_connection_timestamp_seconds',
      'When a console, VNC or other stream of the VMI was last in use',
      names,
    ),
  };
}

function streamHandler(deps: StreamDeps, kind: StreamKind): UpgradeHandler {
  const { active, last } = meters(deps.metrics, kind.verb);

  async function open(request: HttpRequest, upgrade: Upgrade): Promise<HttpResponse | undefined> {
    const { ns: namespace = '', name = '' } = request.params;
    const vmi = await deps.client.find(VIRTUAL_MACHINE_INSTANCES, `${namespace}/${name}`);
    if (!vmi) return statusAnswer(notFound('virtualmachineinstance', name));
    const refusal = kind.refuse(vmi);
    if (refusal) return statusAnswer(refusal);
    const agent = await deps.agents.stream(vmi, kind.verb, kind.query(request.query), request.signal);
    if (!agent.ok) return statusAnswer(agent.error);
    const labels = { namespace, vmi: name };
    deps.log.info({ namespace, name, stream: kind.verb }, 'Opening a stream');
    active.inc(labels);
    void splice(upgrade.acceptRaw(), agent.value.socket, request.signal).then(() => {
      active.dec(labels);
      last.set(labels, Math.floor(deps.clock.now() / 1000));
      deps.log.info({ namespace, name, stream: kind.verb }, 'Closed a stream');
    });
    return undefined;
  }

  return async (request, upgrade) => {
    try {
      return (await deps.authorize(request)) ?? (await open(request, upgrade));
    } catch (err) {
      deps.log.error({ err, path: request.path }, 'Stream request failed');
      return statusAnswer(internalError(messageOf(err)));
    }
  };
}

export const streamHandlers = (deps: StreamDeps): { readonly console: UpgradeHandler; readonly vnc: UpgradeHandler } => ({
  console: streamHandler(deps, CONSOLE),
  vnc: streamHandler(deps, VNC),
});
