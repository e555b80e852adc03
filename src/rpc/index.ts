// The public face of the room: both ends of the command and notify services over unix sockets.
export type { ListenOptions, RpcServer } from './channel.js';
export { type CallOptions, type CmdClient, createCmdClient } from './cmd-client.js';
export type { CmdApi, ExecCommand, ExecOutcome, Screenshot, VmiOptions } from './cmd-codec.js';
export { type CmdHandlers, serveCmd } from './cmd-server.js';
export { type NotifyHandlers, type NotifyServer, serveNotify } from './notify.js';
export { createNotifyClient, type NotifyClient } from './notify-client.js';
export type { DomainEvent, LauncherEvent } from './notify-codec.js';
