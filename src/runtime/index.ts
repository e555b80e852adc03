// The public face of the room: what controllers and mains import.
export * from './client.js';
export * from './finalizers.js';
export { currentNamespace, kubeTransport, loadKubeConfig } from './kube-config.js';
export type { LeaderElectionOptions } from './leader-election.js';
export * from './manager.js';
export * from './patch.js';
export { type RateLimit, RateLimiter } from './rate-limiter.js';
export * from './resources.js';
export * from './status-writer.js';
export type * from './transport.js';
export type * from './types.js';
