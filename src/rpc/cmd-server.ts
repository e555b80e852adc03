// The launcher's end of the command service. A handler that throws is answered with success=false, one that hangs with the step it hangs at,
// before the caller loses patience; a method without handler is unimplemented on the wire. Never decides anything itself.
import type { ServerUnaryCall, sendUnaryData, UntypedServiceImplementation } from '@grpc/grpc-js';
import { systemClock } from '../base/clock.js';
import { answerWithin } from '../base/steps.js';
import { type ListenOptions, listenOn, type RpcServer } from './channel.js';
import { CMD_CODECS, type CmdApi, type Codec, rpcName } from './cmd-codec.js';
import { SERVICES } from './loader.js';
import { CMD_INFO } from './versions.js';
import { toWire } from './wire-error.js';

/** Methods left out answer "unimplemented". */
export type CmdHandlers = Partial<CmdApi>;

type AnyCodec = Codec<unknown[], unknown, unknown, unknown>;
type Handler = (...args: unknown[]) => Promise<unknown>;
interface Method {
  readonly codec: AnyCodec;
  readonly handler: Handler;
}
type Call = ServerUnaryCall<unknown, unknown>;
type Reply = sendUnaryData<unknown>;

/** So much of the caller's time is left for the answer to reach it. */
const MARGIN = 0.1;
const SHORTEST_MS = 50;

/** How long the handler may take: what the caller waits, at most what the method is meant to take. */
export function patienceMs(callerDeadline: Date | number, ownMs: number, now: number): number {
  const left = Math.min(Number(callerDeadline) - now, ownMs);
  return Math.max(SHORTEST_MS, left * (1 - MARGIN));
}

function timeFor(codec: AnyCodec, call: Call, args: unknown[]): number {
  const own = typeof codec.deadlineMs === 'function' ? codec.deadlineMs(...args) : codec.deadlineMs;
  return patienceMs(call.getDeadline(), own, systemClock.now());
}

async function serveCall(name: string, { codec, handler }: Method, call: Call, reply: Reply): Promise<void> {
  try {
    const args = codec.args(call.request);
    const result = await answerWithin(systemClock, timeFor(codec, call, args), name, () => handler(...args));
    reply(null, codec.answer(result));
  } catch (err) {
    const { message, trailer } = toWire(err);
    const response = { success: false, message };
    reply(null, codec.statusAt === 'top' ? response : { response }, trailer);
  }
}

function implement(handlers: CmdHandlers): UntypedServiceImplementation {
  const implementation: UntypedServiceImplementation = {};
  for (const [key, handler] of Object.entries(handlers) as [keyof CmdApi, Handler][]) {
    const method = { codec: CMD_CODECS[key] as unknown as AnyCodec, handler };
    implementation[rpcName(key)] = (call: Call, reply: Reply) => void serveCall(rpcName(key), method, call, reply);
  }
  return implementation;
}

/** Listens at once; rename the socket file to publish it. */
export function serveCmd(socketPath: string, handlers: CmdHandlers, options: ListenOptions = {}): Promise<RpcServer> {
  const info = { Info: (_: Call, reply: Reply): void => reply(null, CMD_INFO) };
  return listenOn(
    socketPath,
    [
      { definition: SERVICES.cmd, implementation: implement(handlers) },
      { definition: SERVICES.cmdInfo, implementation: info },
    ],
    options,
  );
}
