// The launcher's end of the command service. A handler that throws is answered with success=false; a method without handler is
// unimplemented on the wire. Never decides anything itself.
import type { ServerUnaryCall, sendUnaryData, UntypedServiceImplementation } from '@grpc/grpc-js';
import { type ListenOptions, listenOn, type RpcServer } from './channel.js';
import { CMD_CODECS, type CmdApi, type Codec, rpcName } from './cmd-codec.js';
import { SERVICES } from './loader.js';
import { CMD_INFO } from './versions.js';
import { toWire } from './wire-error.js';

/** Methods left out answer "unimplemented". */
export type CmdHandlers = Partial<CmdApi>;

type AnyCodec = Codec<unknown[], unknown, unknown, unknown>;
type Handler = (...args: unknown[]) => Promise<unknown>;
type Call = ServerUnaryCall<unknown, unknown>;
type Reply = sendUnaryData<unknown>;

async function serveCall(codec: AnyCodec, handler: Handler, call: Call, reply: Reply): Promise<void> {
  try {
    reply(null, codec.answer(await handler(...codec.args(call.request))));
  } catch (err) {
    const { message, trailer } = toWire(err);
    const response = { success: false, message };
    reply(null, codec.statusAt === 'top' ? response : { response }, trailer);
  }
}

function implement(handlers: CmdHandlers): UntypedServiceImplementation {
  const implementation: UntypedServiceImplementation = {};
  for (const [key, handler] of Object.entries(handlers) as [keyof CmdApi, Handler][]) {
    const codec = CMD_CODECS[key] as unknown as AnyCodec;
    implementation[rpcName(key)] = (call: Call, reply: Reply) => void serveCall(codec, handler, call, reply);
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
