// All paths of the aggregated API, made from the table of verbs: plain routes, streams, and a readable 501 for what is not served yet. Every
// one of them is authorised; the paths of the webhooks, which the API server calls without an identity, are not here.
import type { Clock } from '../base/clock.js';
import type { Logger } from '../base/logger.js';
import type { Metrics } from '../base/metrics.js';
import type { ClusterConfig } from '../core/config/cluster-config.js';
import { type ClientTls, type Handler, json, type Route, type UpgradeRoute } from '../http/index.js';
import type { KubeClient } from '../runtime/types.js';
import type { IdentityHeaders } from './access.js';
import { createAuthorize } from './authorize.js';
import { clusterProfilerHandlers } from './cluster-profiler.js';
import { apiGroup, apiGroupList, apiResourceList, rootPaths } from './discovery.js';
import { expandSpecHandler, expandVmSpecHandler, type StructureCheck } from './expand.js';
import { vmGraphHandler, vmiGraphHandler } from './graph-verb.js';
import { guestHandlers } from './guest.js';
import { type InfoDeps, infoHandlers } from './info.js';
import { lifecycleHandlers } from './lifecycle.js';
import { memoryDumpHandlers } from './memory-dump.js';
import { vmiMigrationHandlers, vmMigrationHandlers } from './migration.js';
import { createNodeAgents, type NodeAgents } from './node-agent.js';
import { openapiV2, openapiV3, openapiV3Root, v3Path } from './openapi.js';
import type { PortDeps } from './port-forward.js';
import { notImplemented, statusAnswer } from './status.js';
import { type StreamHandlers, streamHandlers } from './streams.js';
import { GROUP, GROUP_PATHS, objectPath, SUBRESOURCES, type SubresourceRow, VERSIONS, versionPath } from './verbs.js';
import { vmiVolumeHandlers, vmVolumeHandlers } from './volumes.js';

export interface SubresourceDeps extends InfoDeps, Pick<PortDeps, 'dial'> {
  readonly client: KubeClient;
  readonly config: () => ClusterConfig;
  readonly structure: StructureCheck;
  readonly agentTls: ClientTls;
  readonly agentPort: number;
  readonly installNamespace: string;
  readonly identityHeaders: () => IdentityHeaders;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly log: Logger;
  /** Where components serve their profilers; default 8443. */
  readonly componentPort?: number;
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

const BODY_REASON: Readonly<Record<number, string>> = { 413: 'RequestEntityTooLarge', 415: 'UnsupportedMediaType' };

/** What a plain request to a stream hears. */
const needsUpgrade: Handler = () =>
  statusAnswer({ code: 400, reason: 'BadRequest', message: 'this is a stream: ask for an upgrade to websocket' });

type Served = Readonly<Record<string, Handler | undefined>>;
type Handlers = Readonly<Record<SubresourceRow['resource'], Served>>;

/** A verb is missing because the table says so, or because nobody implements it. */
function handlerOf(what: string, why: string | undefined, served: Handler | undefined): Handler {
  return why === undefined && served ? served : missing(what, why ?? 'nobody implements it');
}

function rowRoute(version: string, row: SubresourceRow, handlers: Handlers): Route {
  const served = row.stream ? needsUpgrade : handlers[row.resource][row.name];
  return { method: row.method, path: objectPath(version, row), handler: handlerOf(describe(row), row.missing, served) };
}

function groupHandlers(deps: SubresourceDeps): Served {
  const info = infoHandlers(deps);
  const profiler = clusterProfilerHandlers({
    ...deps,
    ca: deps.agentTls.ca,
    ...(deps.componentPort === undefined ? {} : { port: deps.componentPort }),
  });
  return {
    version: info.version,
    guestfs: info.guestfs,
    healthz: info.health,
    'start-cluster-profiler': profiler.start,
    'stop-cluster-profiler': profiler.stop,
    'dump-cluster-profiler': profiler.dump,
    'expand-vm-spec': expandVmSpecHandler(deps),
  };
}

/** By resource and verb. */
export function objectHandlers(deps: Pick<SubresourceDeps, 'client' | 'config' | 'log'>, agents: NodeAgents): Handlers {
  const { client, config, log } = deps;
  const common = { client, config, log };
  return {
    virtualmachines: {
      ...lifecycleHandlers(common),
      ...vmMigrationHandlers(common),
      ...vmVolumeHandlers(common),
      ...memoryDumpHandlers(common),
      objectgraph: vmGraphHandler(common),
      'expand-spec': expandSpecHandler(common),
    },
    virtualmachineinstances: {
      ...guestHandlers({ ...common, agents }),
      ...vmiMigrationHandlers(common),
      ...vmiVolumeHandlers(common),
      objectgraph: vmiGraphHandler(common),
    },
  };
}

/** Streams by the first segment of their name. */
function upgradeOf({ resource, name }: SubresourceRow, streams: StreamHandlers): UpgradeRoute['handler'] {
  switch (name.split('/')[0]) {
    case 'console':
      return streams.console;
    case 'vnc':
      return streams.vnc;
    case 'usbredir':
      return streams.usbredir;
    case 'vsock':
      return streams.vsock;
    default:
      return streams.portforward[resource];
  }
}

export function subresourceApi(deps: SubresourceDeps): SubresourceApi {
  const { client, log } = deps;
  const authorize = createAuthorize({ client, headers: deps.identityHeaders, log });
  const agents = createNodeAgents({
    client,
    tls: deps.agentTls,
    installNamespace: deps.installNamespace,
    port: deps.agentPort,
    clock: deps.clock,
  });
  const handlers = objectHandlers(deps, agents);
  const groups = groupHandlers(deps);
  const streams = streamHandlers({ ...deps, agents, authorize });
  const routes = VERSIONS.flatMap((version): Route[] => [
    ...GROUP_PATHS.map(({ path, method, missing: why }): Route => {
      const name = path.split('/').at(-1) ?? path;
      return { method, path: `${versionPath(version)}/${path}`, handler: handlerOf(name, why, groups[name]) };
    }),
    ...SUBRESOURCES.map((row) => rowRoute(version, row, handlers)),
  ]);
  const upgrades = VERSIONS.flatMap((version) =>
    SUBRESOURCES.filter((row) => row.stream).map((row) => ({ path: objectPath(version, row), handler: upgradeOf(row, streams) })),
  );
  const guarded = (route: Route): Route => ({
    ...route,
    handler: async (request) => (await authorize(request)) ?? (await route.handler(request)),
    onBodyFault: ({ status, message }) => statusAnswer({ code: status, reason: BODY_REASON[status] ?? 'BadRequest', message }),
  });
  return { routes: [...documents(), ...routes].map(guarded), upgrades };
}
