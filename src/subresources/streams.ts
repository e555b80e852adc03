// The streams of a VMI. Console, display, USB devices and sockets: checks the VMI, opens the stream to its node agent first, and only then accepts the client's, so
// that every failure is an HTTP answer that a person can read; the two connections are then spliced as they are. Ports: port-forward.ts.
import type { VirtualMachineInstance } from '../api/index.js';
import { messageOf } from '../base/errors.js';
import type { Logger } from '../base/logger.js';
import type { Metrics } from '../base/metrics.js';
import { fail, ok, type Result } from '../base/result.js';
import { type HttpRequest, splice, type UpgradeHandler } from '../http/index.js';
import { VIRTUAL_MACHINE_INSTANCES } from '../runtime/resources.js';
import type { Authorize } from './authorize.js';
import { consoleRefusal, usbRefusal, vncRefusal, vsockRefusal } from './decide-vmi.js';
import { keyOf, nameOf } from './handling.js';
import type { NodeAgents } from './node-agent.js';
import { findVmi, findVmiOfVm, type Open, openPort, type PortDeps, type Track } from './port-forward.js';
import { badRequest, internalError, notFound, type StatusError, statusAnswer } from './status.js';

export interface StreamDeps extends PortDeps {
  readonly agents: NodeAgents;
  readonly authorize: Authorize;
  readonly metrics: Metrics;
  readonly log: Logger;
}

interface StreamKind {
  readonly verb: 'console' | 'vnc' | 'usbredir' | 'vsock';
  readonly refuse: (vmi: VirtualMachineInstance) => StatusError | undefined;
  /** The parameters that are handed on to the agent. */
  readonly query: (query: URLSearchParams) => Result<URLSearchParams, StatusError>;
}

const noQuery = (): Result<URLSearchParams, StatusError> => ok(new URLSearchParams());

const CONSOLE: StreamKind = { verb: 'console', refuse: consoleRefusal, query: noQuery };
const USB: StreamKind = { verb: 'usbredir', refuse: usbRefusal, query: noQuery };
const VSOCK: StreamKind = { verb: 'vsock', refuse: vsockRefusal, query: vsockQuery };
const VNC: StreamKind = {
  verb: 'vnc',
  refuse: vncRefusal,
  query: (query) => ok(new URLSearchParams(query.get('preserveSession') === 'true' ? { preserveSession: 'true' } : {})),
};

const LARGEST_VSOCK_PORT = 2 ** 32 - 1;

/** Which port of the guest, and whether the agent speaks TLS to it. Pure. */
export function vsockQuery(query: URLSearchParams): Result<URLSearchParams, StatusError> {
  const port = query.get('port') ?? '';
  const tls = query.get('tls') ?? 'true';
  if (!/^\d{1,10}$/.test(port) || Number(port) > LARGEST_VSOCK_PORT) {
    return fail(badRequest(`port must be a number up to ${LARGEST_VSOCK_PORT}, not ${port || 'nothing'}`));
  }
  if (tls !== 'true' && tls !== 'false') return fail(badRequest(`tls must be true or false, not ${tls}`));
  return ok(new URLSearchParams({ port, tls }));
}

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
    const query = kind.query(request.query);
    if (!query.ok) return statusAnswer(query.error);
    const agent = await deps.agents.stream(vmi, kind.verb, query.value, request.signal);
    if (!agent.ok) return statusAnswer(agent.error);
    track(request, kind.verb, splice(upgrade.acceptRaw(), agent.value.socket, { clock: deps.clock, signal: request.signal }));
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
  readonly usbredir: UpgradeHandler;
  readonly vsock: UpgradeHandler;
  readonly portforward: Readonly<Record<'virtualmachines' | 'virtualmachineinstances', UpgradeHandler>>;
}

export function streamHandlers(deps: StreamDeps): StreamHandlers {
  const track = tracker(deps, 'kubevirt_portforward_active_tunnels', 'Open port forwardings');
  return {
    console: guarded(deps, openToAgent(deps, CONSOLE)),
    vnc: guarded(deps, openToAgent(deps, VNC)),
    usbredir: guarded(deps, openToAgent(deps, USB)),
    vsock: guarded(deps, openToAgent(deps, VSOCK)),
    portforward: {
      virtualmachines: guarded(deps, openPort(deps, findVmiOfVm, track)),
      virtualmachineinstances: guarded(deps, openPort(deps, findVmi, track)),
    },
  };
}
