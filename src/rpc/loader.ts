// Turns the embedded descriptor into gRPC service definitions, once a process. Used by the clients and servers of this room only.
import type { ServiceDefinition } from '@grpc/grpc-js';
import { fromJSON } from '@grpc/proto-loader';
import { descriptor } from './generated/descriptor.js';

const definitions = fromJSON(descriptor as Parameters<typeof fromJSON>[0], {
  keepCase: true,
  longs: Number,
  enums: String,
  defaults: true,
  arrays: true,
  objects: true,
});

const service = (name: string): ServiceDefinition => definitions[name] as ServiceDefinition;

export const SERVICES = {
  cmd: service('kubevirt.cmd.v1.Cmd'),
  cmdInfo: service('kubevirt.cmd.info.CmdInfo'),
  notify: service('kubevirt.notify.v1.Notify'),
  notifyInfo: service('kubevirt.notify.info.NotifyInfo'),
  kubeletRegistration: service('v1beta1.Registration'),
  devicePlugin: service('v1beta1.DevicePlugin'),
} as const;

/** What may be sent for a message: every field optional, bytes as any byte array. */
export type Input<T> = T extends Buffer
  ? Uint8Array
  : T extends (infer U)[]
    ? Input<U>[]
    : T extends object
      ? { [K in keyof T]?: Input<T[K]> }
      : T;
