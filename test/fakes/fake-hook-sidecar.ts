// A hook sidecar that is written with the library that most of them use: gRPC on a unix socket, in any of the three versions. Answers what the test
// says; one that hangs never answers.
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type handleUnaryCall, loadPackageDefinition, Server, ServerCredentials, type ServiceClientConstructor } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

export interface HookAnswers {
  readonly OnDefineDomain?: (request: { domainXML: Buffer; vmi: Buffer }) => object;
  readonly PreCloudInitIso?: (request: { cloudInitData: Buffer; cloudInitNoCloudSource: Buffer; vmi: Buffer }) => object;
  readonly Shutdown?: () => object;
  /** Never answers any call but Info. */
  readonly hangs?: boolean;
}

export interface SidecarIdentity {
  /** Versions it announces; it serves each of them that there is. */
  readonly versions: readonly string[];
  readonly name?: string;
  readonly priority?: number;
}

const UNKNOWN = 2;

function serviceOf(file: string, path: readonly string[]): ServiceClientConstructor {
  let found: unknown = loadPackageDefinition(loadSync(`config/proto/${file}.proto`, { keepCase: true }));
  for (const part of path) found = (found as Record<string, unknown>)[part];
  return found as ServiceClientConstructor;
}

const reply =
  (hangs: boolean, work: (request: never) => object): handleUnaryCall<object, object> =>
  (call, done) => {
    if (hangs) return;
    try {
      done(null, work(call.request as never));
    } catch (err) {
      done({ code: UNKNOWN, details: (err as Error).message });
    }
  };

/** Listens below the hooks' directory, as the container of that name does. */
export async function fakeHookSidecar(
  directory: string,
  container: string,
  { versions, name = 'fake', priority = 0 }: SidecarIdentity,
  { hangs = false, ...answers }: HookAnswers,
): Promise<{ socketPath: string; close(): void }> {
  await mkdir(join(directory, container), { recursive: true });
  const socketPath = join(directory, container, `${name}.sock`);
  const server = new Server();
  const hookPoints = Object.keys(answers).map((point) => ({ name: point, priority }));
  const calls = Object.entries(answers) as [string, (request: never) => object][];
  server.addService(serviceOf('hooks-info', ['kubevirt', 'hooks', 'info', 'Info']).service, {
    Info: reply(false, () => ({ name, versions, hookPoints })),
  });
  for (const version of versions.filter((each) => each.startsWith('v1alpha'))) {
    const { service } = serviceOf(`hooks-${version}`, ['kubevirt', 'hooks', version, 'Callbacks']);
    const served = calls.filter(([method]) => method in service);
    server.addService(service, Object.fromEntries(served.map(([method, work]) => [method, reply(hangs, work)])));
  }
  return { socketPath, close: await listen(server, socketPath) };
}

async function listen(server: Server, socketPath: string): Promise<() => void> {
  await new Promise<void>((resolve, reject) => {
    server.bindAsync(`unix:${socketPath}`, ServerCredentials.createInsecure(), (err) => (err ? reject(err) : resolve()));
  });
  return () => server.forceShutdown();
}

export interface MutateRequest {
  readonly domain_type: string;
  readonly domain: Buffer;
  readonly vmi: Buffer;
  readonly sidecar_context: { readonly invocation_context: string } | null;
}

/** The sidecar of a Plugin that changes domains. */
export async function fakeDomainHook(socketPath: string, answer: (request: MutateRequest) => object): Promise<() => void> {
  await mkdir(dirname(socketPath), { recursive: true });
  const server = new Server();
  const { service } = serviceOf('hooks-plugins', ['kubevirt', 'hooks', 'plugins', 'v1alpha1', 'DomainHookService']);
  server.addService(service, { MutateDomain: reply(false, answer) });
  return listen(server, socketPath);
}

export interface NodeHookRequest {
  readonly hookPoint: string;
  readonly vmi: Buffer;
  readonly node_context: { readonly node_name: string } | null;
}

/** A Plugin's service of the node. One that hangs never answers. */
export async function fakeNodeHook(
  socketPath: string,
  answer: (request: NodeHookRequest) => object,
  { hangs = false } = {},
): Promise<() => void> {
  await mkdir(dirname(socketPath), { recursive: true });
  const server = new Server();
  const { service } = serviceOf('hooks-plugins', ['kubevirt', 'hooks', 'plugins', 'v1alpha1', 'NodeHookService']);
  server.addService(service, { ExecuteNodeHook: reply(hangs, answer) });
  return listen(server, socketPath);
}
