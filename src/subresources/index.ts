// The public face of the room.
export { DEFAULT_HEADERS, type IdentityHeaders } from './access.js';
export { AGENT_CERTIFICATE_NAME } from './node-agent.js';
export { type SubresourceApi, type SubresourceDeps, subresourceApi } from './routes.js';
