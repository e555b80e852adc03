// The service that guests ask over VSOCK whom to trust, for ./server.ts. To be imported by this file's name, like its neighbours.

import type { Bundle } from '../generated/vsock-system-v1.js';
import type { Input } from '../loader.js';
import { encodeMessage, PACKAGES } from './message.js';
import type { LightHandler } from './server.js';

/** `caBundle`: PEM of the authorities at this moment. */
export const vsockSystemService = (caBundle: () => string): Record<string, LightHandler> => ({
  '/kubevirt.vsock.system.v1.System/CABundle': async () =>
    encodeMessage('Bundle', { Raw: Buffer.from(caBundle()) } satisfies Input<Bundle>, PACKAGES.vsock),
});
