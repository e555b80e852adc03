// The command service for processes that make one call and end (probes, backup hooks): the same methods and errors as ../cmd-client.ts
// without loading gRPC. To be imported by this file's name; the room's index would bring the whole library along.
import type { CallOptions } from '../cmd-client.js';
import { CMD_CODECS, type CmdApi, type Codec, rpcName } from '../cmd-codec.js';
import type { Response } from '../generated/cmd-v1.js';
import { fromWire } from '../wire-error.js';
import { callOnce } from './call.js';
import { CMD_SERVICE, decodeMessage, encodeMessage, methodOf, type Values } from './message.js';

type AnyCodec = Codec<unknown[], unknown, unknown, unknown>;

async function call(socketPath: string, key: keyof CmdApi, args: unknown[], options: CallOptions): Promise<unknown> {
  const codec = CMD_CODECS[key] as unknown as AnyCodec;
  const method = rpcName(key);
  const { requestType, responseType } = methodOf(method);
  const own = typeof codec.deadlineMs === 'function' ? codec.deadlineMs(...args) : codec.deadlineMs;
  const target = { socketPath, service: CMD_SERVICE, method, deadlineMs: options.deadlineMs ?? own };
  const { message, trailer } = await callOnce(target, encodeMessage(requestType, codec.request(...args) as Values));
  const answer = decodeMessage(responseType, message);
  const status = (codec.statusAt === 'top' ? answer : answer.response) as Response | null;
  if (status?.success === true) return codec.result(answer);
  throw fromWire(status?.message || 'the launcher refused without a reason', trailer);
}

/** Each call has a connection of its own, which is closed when it ends: there is nothing to close. */
export function lightCmdClient(socketPath: string, options: CallOptions = {}): CmdApi {
  const keys = Object.keys(CMD_CODECS) as (keyof CmdApi)[];
  return Object.fromEntries(keys.map((key) => [key, (...args: unknown[]) => call(socketPath, key, args, options)])) as unknown as CmdApi;
}
