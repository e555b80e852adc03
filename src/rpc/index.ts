// The public face of the room: both ends of the command and notify services over unix sockets.
export type { ListenOptions, RpcServer } from './channel.js';
export { type CallOptions, type CmdClient, createCmdClient } from './cmd-client.js';
export type { CmdApi, ExecCommand, ExecOutcome, Screenshot, VmiOptions } from './cmd-codec.js';
export { type CmdHandlers, serveCmd } from './cmd-server.js';
export {
  createNotifyClient,
  type DomainEvent,
  type LauncherEvent,
  type NotifyClient,
  type NotifyHandlers,
  type NotifyServer,
  serveNotify,
} from './notify.js';
