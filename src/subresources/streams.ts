// The streams of a VMI. Console and VNC: checks the VMI, opens the stream to its node agent first, and only then accepts the client's, so
// that every failure is an HTTP answer that a person can read; the two connections are then spliced as they are. Ports: port-forward.ts.
import type { VirtualMachineInstance } from '../api/index.js';
import type { Clock } from '../base/clock.js';
import { messageOf } from '../base/errors.js';
import type { Logger } from '../base/logger.js';
import type { Metrics } from '../base/metrics.js';
import { type HttpRequest, splice, type UpgradeHandler } from '../http/index.js';
import { VIRTUAL_MACHINE_INSTANCES } from '../runtime/resources.js';
import type { KubeClient } from '../runtime/types.js';
import type { Authorize } from './authorize.js';
import { consoleRefusal, vncRefusal } from './decide-vmi.js';
import { keyOf, nameOf } from './handling.js';
import type { NodeAgents } from './node-agent.js';
import { findVmi, findVmiOfVm, type Open, openPort, type Track } from './port-forward.js';
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

/** Counts a stream while it is open. */
function tracker({ metrics, clock, log }: StreamDeps, name: string, help: string): Track {
  const names = ['namespace', 'vmi'] as const;
  const active = metrics.gauge(name, help, names);
  const last = metrics.gauge(
    'kubevirt_vmi_last_api_connection_timestamp_seconds',
    'When a console, VNC or other stream of the VMI was last in use',
    names,
  );
  return (request: HttpRequest, stream: string, end: Promise<void>) => {
    const labels = { namespace: request.params.ns ?? '', vmi: nameOf(request) };
    const facts = { namespace: labels.namespace, name: labels.vmi, stream };
    log.info(facts, 'Opening a stream');
    active.inc(labels);
    void end.then(() => {
      active.dec(labels);
      last.set(labels, Math.floor(clock.now() / 1000));
      log.info(facts, 'Closed a stream');
    });
  };
}

function openToAgent(deps: StreamDeps, kind: StreamKind): Open {
  const track = tracker(deps, `kubevirt_${kind.verb}_active_connections`, `Open ${kind.verb} connections`);
  return async (request, upgrade) => {
    const vmi = await deps.client.find(VIRTUAL_MACHINE_INSTANCES, keyOf(request));
    if (!vmi) return statusAnswer(notFound('virtualmachineinstance', nameOf(request)));
    const refusal = kind.refuse(vmi);
    if (refusal) return statusAnswer(refusal);
    const agent = await deps.agents.stream(vmi, kind.verb, kind.query(request.query), request.signal);
    if (!agent.ok) return statusAnswer(agent.error);
    track(request, kind.verb, splice(upgrade.acceptRaw(), agent.value.socket, request.signal));
    return undefined;
  };
}

/** Only who may, and an answer to every failure. */
function guarded(deps: StreamDeps, open: Open): UpgradeHandler {
  return async (request, upgrade) => {
    try {
      return (await deps.authorize(request)) ?? (await open(request, upgrade));
    } catch (err) {
      deps.log.error({ err, path: request.path }, 'Stream request failed');
      return statusAnswer(internalError(messageOf(err)));
    }
  };
}

export interface StreamHandlers {
  readonly console: UpgradeHandler;
  readonly vnc: UpgradeHandler;
  readonly portforward: Readonly<Record<'virtualmachines' | 'virtualmachineinstances', UpgradeHandler>>;
}

export function streamHandlers(deps: StreamDeps): StreamHandlers {
  const track = tracker(deps, 'kubevirt_portforward_active_tunnels', 'Open port forwardings');
  return {
    console: guarded(deps, openToAgent(deps, CONSOLE)),
    vnc: guarded(deps, openToAgent(deps, VNC)),
    portforward: {
      virtualmachines: guarded(deps, openPort(deps, findVmiOfVm, track)),
      virtualmachineinstances: guarded(deps, openPort(deps, findVmi, track)),
    },
  };
}
