// The public face of the room: HTTPS server and client, WebSocket upgrades, byte pumps.
export {
  type ClientRequest,
  type ClientResponse,
  type ClientTls,
  type DialledStream,
  dialRaw,
  dialWebSocket,
  requestOnce,
  type WebSocketDial,
} from './client.js';
export { dialPort, type PortTarget } from './dial-port.js';
export { empty, type Handler, type HttpRequest, type HttpResponse, json, type Peer, text } from './messages.js';
export { createProfiler, type Profiler, profilerDisabled, profilerRoutes } from './profiler.js';
export { matchPath, parsePattern } from './route-match.js';
export { type BodyFault, createHttpsServer, type HttpsServer, type HttpsServerOptions, type Route } from './server.js';
export { type SpliceOptions, splice } from './splice.js';
export { type PumpOptions, pump } from './streams.js';
export type { ServerTls } from './tls-files.js';
export { offersPlainProtocol, PLAIN_STREAM_PROTOCOL, type Upgrade, type UpgradeHandler, type UpgradeRoute } from './upgrade.js';
