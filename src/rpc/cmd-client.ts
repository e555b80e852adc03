// The node agent's view of one launcher. Every method of CmdApi is a call with a deadline; a launcher that is gone gives LauncherUnreachable,
// a refused command gives the launcher's own error. Never retries: the caller's queue does.
import { type Answer, type Channel, openChannel } from './channel.js';
import { CMD_CODECS, type CmdApi, type Codec, rpcName } from './cmd-codec.js';
import type { CmdInfoResponse } from './generated/cmd-info.js';
import type { Response } from './generated/cmd-v1.js';
import { SERVICES } from './loader.js';
import { agreeOnVersion, CMD_VERSION } from './versions.js';
import { fromWire } from './wire-error.js';

export interface CmdClient extends CmdApi {
  readonly socketPath: string;
  /** The protocol version both sides speak; Terminal when there is none. Worth asking once a connection. */
  negotiate(): Promise<number>;
  close(): void;
}

export interface CallOptions {
  /** Instead of each method's own deadline. */
  readonly deadlineMs?: number;
}

type AnyCodec = Codec<unknown[], unknown, unknown, unknown>;

function statusOf(codec: AnyCodec, answer: unknown): Response | null {
  return codec.statusAt === 'top' ? (answer as Response) : (answer as { response: Response | null }).response;
}

function unwrap(codec: AnyCodec, answer: Answer): unknown {
  const status = statusOf(codec, answer.value);
  if (status?.success !== true) throw fromWire(status?.message || 'the launcher refused without a reason', answer.trailer);
  return codec.result(answer.value);
}

function caller(channel: Channel, key: keyof CmdApi, options: CallOptions): (...args: unknown[]) => Promise<unknown> {
  const codec = CMD_CODECS[key] as unknown as AnyCodec;
  return async (...args) => {
    const own = typeof codec.deadlineMs === 'function' ? codec.deadlineMs(...args) : codec.deadlineMs;
    return unwrap(codec, await channel.call(SERVICES.cmd, rpcName(key), codec.request(...args) as object, options.deadlineMs ?? own));
  };
}

/** Connects lazily: the socket need not exist yet. */
export function createCmdClient(socketPath: string, options: CallOptions = {}): CmdClient {
  const channel = openChannel(socketPath);
  const keys = Object.keys(CMD_CODECS) as (keyof CmdApi)[];
  const api = Object.fromEntries(keys.map((key) => [key, caller(channel, key, options)])) as unknown as CmdApi;
  return {
    ...api,
    socketPath,
    async negotiate() {
      const { value } = await channel.call(SERVICES.cmdInfo, 'Info', {}, options.deadlineMs ?? 5_000);
      return agreeOnVersion([CMD_VERSION], (value as CmdInfoResponse).supportedCmdVersions, 'the launcher');
    },
    close: () => channel.close(),
  };
}
