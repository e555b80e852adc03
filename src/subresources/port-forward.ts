// Ports of a guest: virt-api connects to the address of its VMI and passes bytes between that and the client's WebSocket. Needs no node
// agent. A port that nobody listens on is refused before the client's stream is accepted.
import type { Duplex } from 'node:stream';
import type { VirtualMachineInstance } from '../api/index.js';
import type { Clock } from '../base/clock.js';
import { messageOf } from '../base/errors.js';
import { fail, ok, type Result } from '../base/result.js';
import { dialPort, type HttpRequest, type HttpResponse, type PortTarget, pump, type Upgrade } from '../http/index.js';
import { VIRTUAL_MACHINE_INSTANCES, VIRTUAL_MACHINES } from '../runtime/resources.js';
import type { KubeClient } from '../runtime/types.js';
import { forwardAddress, ownVmiRefusal } from './decide-vmi.js';
import { keyOf, nameOf } from './handling.js';
import { badRequest, internalError, notFound, type StatusError, statusAnswer } from './status.js';

/** Returns the refusal, or undefined once the stream runs. */
export type Open = (request: HttpRequest, upgrade: Upgrade) => Promise<HttpResponse | undefined>;
/** Told of every stream and its end. */
export type Track = (request: HttpRequest, stream: string, end: Promise<void>) => void;

type Found = Result<VirtualMachineInstance, StatusError>;
export type Find = (client: KubeClient, request: HttpRequest) => Promise<Found>;

/** Clients take a tunnel for dead that is silent for long. */
const PING_MS = 1_000;
const LARGEST_PORT = 65_535;

export const findVmi: Find = async (client, request) => {
  const vmi = await client.find(VIRTUAL_MACHINE_INSTANCES, keyOf(request));
  return vmi ? ok(vmi) : fail(notFound('virtualmachineinstance', nameOf(request)));
};

export const findVmiOfVm: Find = async (client, request) => {
  const vm = await client.find(VIRTUAL_MACHINES, keyOf(request));
  if (!vm) return fail(notFound('virtualmachine', nameOf(request)));
  const vmi = await client.find(VIRTUAL_MACHINE_INSTANCES, keyOf(request));
  const refusal = ownVmiRefusal(vm, vmi);
  return refusal || !vmi ? fail(refusal ?? notFound('virtualmachineinstance', nameOf(request))) : ok(vmi);
};

/** What to dial, from the path and the VMI. Pure. */
export function portTarget(vmi: VirtualMachineInstance, params: HttpRequest['params']): Result<PortTarget, StatusError> {
  const { port = '', protocol = 'tcp' } = params;
  const number = /^\d{1,5}$/.test(port) ? Number(port) : 0;
  if (number < 1 || number > LARGEST_PORT) return fail(badRequest(`port must be a number from 1 to ${LARGEST_PORT}, not ${port}`));
  if (protocol !== 'tcp' && protocol !== 'udp') return fail(badRequest(`protocol must be tcp or udp, not ${protocol}`));
  const host = forwardAddress(vmi);
  return host.ok ? ok({ protocol, host: host.value, port: number }) : host;
}

export interface PortDeps {
  readonly client: KubeClient;
  readonly clock: Clock;
  /** Default: over the network. */
  readonly dial?: (target: PortTarget) => Promise<Duplex>;
}

export function openPort({ client, clock, dial = dialPort }: PortDeps, find: Find, track: Track): Open {
  return async (request, upgrade) => {
    const vmi = await find(client, request);
    if (!vmi.ok) return statusAnswer(vmi.error);
    const target = portTarget(vmi.value, request.params);
    if (!target.ok) return statusAnswer(target.error);
    let peer: Duplex;
    try {
      peer = await dial(target.value);
    } catch (err) {
      return statusAnswer(internalError(`dialing VM: ${messageOf(err)}`));
    }
    const ws = await upgrade.accept().catch((err: unknown) => {
      peer.destroy();
      throw err;
    });
    track(request, 'portforward', pump(ws, peer, { clock, signal: request.signal, pingMs: PING_MS }));
    return undefined;
  };
}
