// All paths of the aggregated API, made from the table of verbs: plain routes, streams, and a readable 501 for what is not served yet. Every
// one of them is authorised; the paths of the webhooks, which the API server calls without an identity, are not here.
import type { Clock } from '../base/clock.js';
import type { Logger } from '../base/logger.js';
import type { Metrics } from '../base/metrics.js';
import { type ClientTls, type Handler, json, type Route, type UpgradeRoute } from '../http/index.js';
import type { KubeClient } from '../runtime/types.js';
import type { IdentityHeaders } from './access.js';
import { createAuthorize } from './authorize.js';
import { apiGroup, apiGroupList, apiResourceList, rootPaths } from './discovery.js';
import { guestHandlers } from './guest.js';
import { type InfoDeps, infoHandlers } from './info.js';
import { lifecycleHandlers } from './lifecycle.js';
import { createNodeAgents } from './node-agent.js';
import { openapiV2, openapiV3, openapiV3Root, v3Path } from './openapi.js';
import { notImplemented, statusAnswer } from './status.js';
import { streamHandlers } from './streams.js';
import { GROUP, MISSING_GROUP_PATHS, objectPath, SUBRESOURCES, type SubresourceRow, VERSIONS, versionPath } from './verbs.js';

export interface SubresourceDeps extends InfoDeps {
  readonly client: KubeClient;
  readonly agentTls: ClientTls;
  readonly agentPort: number;
  readonly installNamespace: string;
  readonly identityHeaders: () => IdentityHeaders;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface SubresourceApi {
  readonly routes: readonly Route[];
  readonly upgrades: readonly UpgradeRoute[];
}

const document = (path: string, make: () => object): Route => {
  const answer = json(200, make());
  return { method: 'GET', path, handler: () => answer };
};

const describe = ({ resource, name }: SubresourceRow): string => `${resource}/${name.split('/:')[0]}`;

const missing = (what: string, why: string): Handler => {
  const answer = statusAnswer(notImplemented(`${what} is not served by this version: ${why}`));
  return () => answer;
};

function documents(): Route[] {
  return [
    document('/', rootPaths),
    document('/apis', apiGroupList),
    document(`/apis/${GROUP}`, apiGroup),
    document('/openapi/v2', openapiV2),
    document('/openapi/v3', openapiV3Root),
    ...VERSIONS.flatMap((v) => [
      document(versionPath(v), () => apiResourceList(v)),
      document(`${versionPath(v)}/`, () => apiResourceList(v)),
      document(v3Path(v), () => openapiV3(v)),
    ]),
  ];
}

/** What a plain request to a stream hears. */
const needsUpgrade: Handler = () =>
  statusAnswer({ code: 400, reason: 'BadRequest', message: 'this is a stream: ask for an upgrade to websocket' });

type Served = Readonly<Record<string, Handler | undefined>>;

function rowRoutes(version: string, row: SubresourceRow, handlers: Readonly<Record<SubresourceRow['resource'], Served>>): Route {
  const served = handlers[row.resource][row.name];
  const reason = row.missing ?? 'nobody implements it';
  const handler = row.stream && !row.missing ? needsUpgrade : row.missing ? undefined : served;
  return { method: row.method, path: objectPath(version, row), handler: handler ?? missing(describe(row), reason) };
}

export function subresourceApi(deps: SubresourceDeps): SubresourceApi {
  const { client, log } = deps;
  const authorize = createAuthorize({ client, headers: deps.identityHeaders, log });
  const agents = createNodeAgents({ client, tls: deps.agentTls, installNamespace: deps.installNamespace, port: deps.agentPort });
  const handlers = {
    virtualmachines: { ...lifecycleHandlers({ client, log }) },
    virtualmachineinstances: guestHandlers({ client, agents, log }),
  };
  const streams = streamHandlers({ client, agents, authorize, metrics: deps.metrics, clock: deps.clock, log });
  const info = infoHandlers(deps);
  const refusedStream =
    (row: SubresourceRow): UpgradeRoute['handler'] =>
    async (request) =>
      (await authorize(request)) ?? missing(describe(row), row.missing ?? '')(request);
  const upgradeOf = (row: SubresourceRow): UpgradeRoute['handler'] => {
    const [name] = row.name.split('/');
    if (name === 'portforward') return streams.portforward[row.resource];
    return name === 'console' || name === 'vnc' ? streams[name] : refusedStream(row);
  };
  const routes = VERSIONS.flatMap((version): Route[] => [
    { method: 'GET', path: `${versionPath(version)}/version`, handler: info.version },
    { method: 'GET', path: `${versionPath(version)}/guestfs`, handler: info.guestfs },
    { method: 'GET', path: `${versionPath(version)}/healthz`, handler: info.health },
    ...MISSING_GROUP_PATHS.map(
      ({ path, method, missing: why }): Route => ({
        method,
        path: `${versionPath(version)}/${path}`,
        handler: missing(path.split('/').at(-1) ?? path, why),
      }),
    ),
    ...SUBRESOURCES.map((row) => rowRoutes(version, row, handlers)),
  ]);
  const upgrades = VERSIONS.flatMap((version) =>
    SUBRESOURCES.filter((row) => row.stream).map((row) => ({ path: objectPath(version, row), handler: upgradeOf(row) })),
  );
  const guarded = (route: Route): Route => ({
    ...route,
    handler: async (request) => (await authorize(request)) ?? (await route.handler(request)),
  });
  return { routes: [...documents(), ...routes].map(guarded), upgrades };
}
