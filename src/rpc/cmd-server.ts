// The launcher's end of the command service. A handler that throws is answered with success=false, one that hangs with the step it hangs at,
// before the caller loses patience; a method without handler is unimplemented on the wire. Never decides anything itself.
import { systemClock } from '../base/clock.js';
import { answerWithin } from '../base/steps.js';
import type { RpcServer } from './channel.js';
import { CMD_CODECS, type CmdApi, type Codec, rpcName } from './cmd-codec.js';
import { CMD_INFO_SERVICE, CMD_SERVICE, decodeMessage, encodeMessage, methodOf, PACKAGES, type Values } from './light/message.js';
import { type LightAnswer, type LightCall, type LightHandler, serveLight } from './light/server.js';
import { checkSocketPath, removeSocket } from './socket-file.js';
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
/** So much of the caller's time is left for the answer to reach it. */
const MARGIN = 0.1;
const SHORTEST_MS = 50;

/** How long the handler may take: what the caller waits, at most what the method is meant to take. */
export function patienceMs(callerMs: number | undefined, ownMs: number): number {
  const left = Math.min(callerMs ?? Number.POSITIVE_INFINITY, ownMs);
  return Math.max(SHORTEST_MS, left * (1 - MARGIN));
}

function timeFor(codec: AnyCodec, call: LightCall, args: unknown[]): number {
  const own = typeof codec.deadlineMs === 'function' ? codec.deadlineMs(...args) : codec.deadlineMs;
  return patienceMs(call.patienceMs, own);
}

async function serveCall(name: string, { codec, handler }: Method, message: Buffer, call: LightCall): Promise<LightAnswer> {
  const { requestType, responseType } = methodOf(name);
  try {
    const args = codec.args(decodeMessage(requestType, message));
    const result = await answerWithin(systemClock, timeFor(codec, call, args), name, () => handler(...args));
    return { message: encodeMessage(responseType, codec.answer(result) as Values), trailer: {} };
  } catch (err) {
    const { message: why, trailer } = toWire(err);
    const response = { success: false, message: why };
    return { message: encodeMessage(responseType, codec.statusAt === 'top' ? response : { response }), trailer };
  }
}

function implement(handlers: CmdHandlers): Record<string, LightHandler> {
  const all = Object.entries(handlers) as [keyof CmdApi, Handler][];
  return Object.fromEntries(
    all.map(([key, handler]) => {
      const method = { codec: CMD_CODECS[key] as unknown as AnyCodec, handler };
      return [`/${CMD_SERVICE}/${rpcName(key)}`, (message, call) => serveCall(rpcName(key), method, message, call)];
    }),
  );
}

/** Listens at once; rename the socket file to publish it. A socket file left by a dead process is replaced. */
export async function serveCmd(socketPath: string, handlers: CmdHandlers): Promise<RpcServer> {
  checkSocketPath(socketPath);
  await removeSocket(socketPath);
  const info = async (): Promise<Buffer> => encodeMessage('CmdInfoResponse', CMD_INFO, PACKAGES.cmdInfo);
  const { close } = await serveLight(socketPath, { ...implement(handlers), [`/${CMD_INFO_SERVICE}/Info`]: info });
  return { socketPath, close };
}
