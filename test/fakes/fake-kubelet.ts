// A stand-in for the kubelet that device plugins register with, and a client for what it would ask of them: the real protocol over real sockets.
import { join } from 'node:path';
import { credentials, loadPackageDefinition, Server, ServerCredentials } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

// biome-ignore lint/suspicious/noExplicitAny: clients made from a .proto at run time have no types
export type Untyped = any;
const proto = loadPackageDefinition(loadSync('config/proto/deviceplugin.proto', { keepCase: true })) as Untyped;

export interface Kubelet {
  readonly registered: { endpoint: string; resource_name: string; version: string }[];
  stop(): void;
}

export async function startKubelet(dir: string): Promise<Kubelet> {
  const registered: Kubelet['registered'] = [];
  const server = new Server();
  server.addService(proto.v1beta1.Registration.service, {
    Register: (call: Untyped, reply: Untyped) => {
      registered.push(call.request);
      reply(null, {});
    },
  });
  await new Promise<void>((resolve, reject) =>
    server.bindAsync(`unix:${join(dir, 'kubelet.sock')}`, ServerCredentials.createInsecure(), (err) => (err ? reject(err) : resolve())),
  );
  return { registered, stop: () => server.forceShutdown() };
}

export const pluginClient = (socket: string): Untyped => new proto.v1beta1.DevicePlugin(`unix:${socket}`, credentials.createInsecure());
