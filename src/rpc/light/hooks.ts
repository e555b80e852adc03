// Hook sidecars as seen by the launcher, and the launcher as seen by a hook sidecar: the Info service, the Callbacks services of three versions
// and the hooks of Plugins for domains and nodes, on unix sockets. Decides nothing; to be imported by this file's name, like its neighbours.
import { Buffer } from 'node:buffer';
import type { InfoResult } from '../generated/hooks-info.js';
import type { ExecuteNodeHookRequest, MutateDomainRequest, MutateDomainResponse } from '../generated/hooks-plugins-v1alpha1.js';
import type { CallbacksMethods } from '../generated/hooks-v1alpha3.js';
import type { Input } from '../loader.js';
import { callOnce } from './call.js';
import { decodeMessage, encodeMessage, PACKAGES, type Values } from './message.js';
import type { LightHandler } from './server.js';

/** Newest first. */
export const HOOK_VERSIONS = ['v1alpha3', 'v1alpha2', 'v1alpha1'] as const;
export type HookVersion = (typeof HOOK_VERSIONS)[number];
export type HookMethod = keyof CallbacksMethods;
export type HookRequest<M extends HookMethod> = Input<CallbacksMethods[M]['request']>;
export type HookResult<M extends HookMethod> = CallbacksMethods[M]['response'];

const INFO_SERVICE = 'kubevirt.hooks.info.Info';
const DOMAIN_HOOK_SERVICE = 'kubevirt.hooks.plugins.v1alpha1.DomainHookService';
const NODE_HOOK_SERVICE = 'kubevirt.hooks.plugins.v1alpha1.NodeHookService';

/** As much as gRPC's libraries take unless told otherwise: a domain is a thousandth of it. */
const MOST_ANSWER = 4 * 1024 * 1024;

// Messages of one name are the same in all versions; later versions only have more of them.
const callbacks = (version: HookVersion): string => `kubevirt.hooks.${version}.Callbacks`;

export async function askInfo(socketPath: string, deadlineMs: number): Promise<InfoResult> {
  const { message } = await callOnce(
    { socketPath, service: INFO_SERVICE, method: 'Info', deadlineMs, mostBytes: MOST_ANSWER },
    Buffer.alloc(0),
  );
  return decodeMessage('InfoResult', message, PACKAGES.hooksInfo) as unknown as InfoResult;
}

export interface HookCall<M extends HookMethod> {
  readonly socketPath: string;
  readonly version: HookVersion;
  readonly method: M;
  readonly deadlineMs: number;
}

export async function callHook<M extends HookMethod>(call: HookCall<M>, request: HookRequest<M>): Promise<HookResult<M>> {
  const { version, method } = call;
  const { message } = await callOnce(
    { ...call, service: callbacks(version), mostBytes: MOST_ANSWER },
    encodeMessage(`${method}Params`, request as Values, PACKAGES.hooks),
  );
  return decodeMessage(`${method}Result`, message, PACKAGES.hooks) as unknown as HookResult<M>;
}

export async function mutateDomain(
  socketPath: string,
  deadlineMs: number,
  request: Input<MutateDomainRequest>,
): Promise<MutateDomainResponse> {
  const target = { socketPath, service: DOMAIN_HOOK_SERVICE, method: 'MutateDomain', deadlineMs, mostBytes: MOST_ANSWER };
  const { message } = await callOnce(target, encodeMessage('MutateDomainRequest', request as Values, PACKAGES.plugins));
  return decodeMessage('MutateDomainResponse', message, PACKAGES.plugins) as unknown as MutateDomainResponse;
}

/** Tells a plugin's service of the node what happens to a VM; resolves when it has done its part. */
export async function executeNodeHook(socketPath: string, deadlineMs: number, request: Input<ExecuteNodeHookRequest>): Promise<void> {
  const target = { socketPath, service: NODE_HOOK_SERVICE, method: 'ExecuteNodeHook', deadlineMs, mostBytes: MOST_ANSWER };
  await callOnce(target, encodeMessage('ExecuteNodeHookRequest', request as Values, PACKAGES.plugins));
}

export type HookHandlers = { readonly [M in HookMethod]?: (request: CallbacksMethods[M]['request']) => Promise<Input<HookResult<M>>> };

/** For ./server.ts: what a sidecar of one version answers. */
export function hookService(
  version: HookVersion,
  info: () => Promise<Input<InfoResult>>,
  handlers: HookHandlers,
): Record<string, LightHandler> {
  const methods = Object.entries(handlers) as [HookMethod, (request: unknown) => Promise<Values>][];
  return {
    [`/${INFO_SERVICE}/Info`]: async () => encodeMessage('InfoResult', await info(), PACKAGES.hooksInfo),
    ...Object.fromEntries(
      methods.map(([method, handle]): [string, LightHandler] => [
        `/${callbacks(version)}/${method}`,
        async (message) =>
          encodeMessage(`${method}Result`, await handle(decodeMessage(`${method}Params`, message, PACKAGES.hooks)), PACKAGES.hooks),
      ]),
    ),
  };
}
