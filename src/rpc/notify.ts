// Both ends of the notify service: the launcher reports its domain and things worth an event, the node agent listens on one socket
// inside each launcher and learns from the socket who speaks. Never retries: the launcher's notify-client does.
import type { ServerUnaryCall, sendUnaryData, UntypedServiceImplementation } from '@grpc/grpc-js';
import type { DomainEventType, DomainReport } from '../api/domain-report.js';
import { KvError } from '../base/errors.js';
import { type Answer, type ListenOptions, listenOn, openChannel, type RpcServer } from './channel.js';
import { asDomainReport } from './domain-report.js';
import type { NotifyInfoResponse } from './generated/notify-info.js';
import type { DomainEventRequest, K8sEventRequest, Response } from './generated/notify-v1.js';
import { SERVICES } from './loader.js';
import { agreeOnVersion, NOTIFY_INFO, NOTIFY_VERSION } from './versions.js';
import { fromWire, toWire } from './wire-error.js';

export interface DomainEvent {
  readonly type: DomainEventType;
  /** Absent only with ERROR. */
  readonly domain?: DomainReport;
  /** What went wrong, only with ERROR. */
  readonly error?: string;
}

/** An event the agent emits on the VMI. */
export interface LauncherEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  readonly involved: { readonly namespace: string; readonly name: string; readonly uid: string };
}

export interface NotifyClient {
  negotiate(): Promise<number>;
  domainEvent(event: DomainEvent): Promise<void>;
  k8sEvent(event: LauncherEvent): Promise<void>;
  close(): void;
}

/** `socketPath` is the socket the call came in by: it tells which launcher speaks, whatever the message says. */
export interface NotifyHandlers {
  /** Asked before a message is read. Waits to slow the sender down, throws to turn it away. */
  admit?(socketPath: string): Promise<void> | void;
  domainEvent(event: DomainEvent, socketPath: string): Promise<void> | void;
  k8sEvent(event: LauncherEvent, socketPath: string): Promise<void> | void;
}

export interface NotifyServer {
  listen(socketPath: string, options?: ListenOptions): Promise<void>;
  unlisten(socketPath: string): Promise<void>;
  close(): Promise<void>;
}

const DEADLINE_MS = 10_000;
/** A launcher is next to the guest and not trusted. A report of a VM with hundreds of devices has a few hundred KiB. */
const LIMITS = { messageBytes: 4 * 1024 * 1024, streams: 8 } as const;
const toBytes = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

function encodeDomainEvent({ type, domain, error }: DomainEvent): DomainEventRequest {
  const statusJSON =
    error === undefined ? Buffer.alloc(0) : toBytes({ kind: 'Status', apiVersion: 'v1', status: 'Failure', message: error });
  return { eventType: type, domainJSON: domain ? toBytes(domain) : Buffer.alloc(0), statusJSON };
}

const EVENT_TYPES: readonly string[] = ['ADDED', 'MODIFIED', 'DELETED', 'ERROR'] satisfies DomainEventType[];

function decodeDomainEvent({ eventType, domainJSON, statusJSON }: DomainEventRequest): DomainEvent {
  if (!EVENT_TYPES.includes(eventType)) throw new KvError('Invalid', `unknown domain event type "${eventType}"`);
  return {
    type: eventType as DomainEventType,
    ...(domainJSON.length > 0 ? { domain: asDomainReport(JSON.parse(domainJSON.toString())) } : {}),
    ...(statusJSON.length > 0 ? { error: String((JSON.parse(statusJSON.toString()) as { message?: unknown }).message) } : {}),
  };
}

function encodeK8sEvent({ involved, ...event }: LauncherEvent): K8sEventRequest {
  const involvedObject = { apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachineInstance', ...involved };
  return { eventJSON: toBytes({ apiVersion: 'v1', kind: 'Event', ...event, involvedObject }) };
}

function decodeK8sEvent({ eventJSON }: K8sEventRequest): LauncherEvent {
  const event = JSON.parse(eventJSON.toString()) as Omit<LauncherEvent, 'involved'> & { involvedObject: LauncherEvent['involved'] };
  const { namespace, name, uid } = event.involvedObject;
  return { type: event.type, reason: event.reason, message: event.message, involved: { namespace, name, uid } };
}

function unwrap({ value, trailer }: Answer): void {
  const { success, message } = value as Response;
  if (!success) throw fromWire(message || 'the node agent refused without a reason', trailer);
}

/** Connects lazily and anew after each failure; calls reject while nobody listens. */
export function createNotifyClient(socketPath: string): NotifyClient {
  const channel = openChannel(socketPath);
  const send = async (method: string, request: object): Promise<void> =>
    unwrap(await channel.call(SERVICES.notify, method, request, DEADLINE_MS));
  return {
    async negotiate() {
      const { value } = await channel.call(SERVICES.notifyInfo, 'Info', {}, DEADLINE_MS);
      return agreeOnVersion([NOTIFY_VERSION], (value as NotifyInfoResponse).supportedNotifyVersions, 'the node agent');
    },
    domainEvent: (event) => send('HandleDomainEvent', encodeDomainEvent(event)),
    k8sEvent: (event) => send('HandleK8sEvent', encodeK8sEvent(event)),
    close: () => channel.close(),
  };
}

type Reply = sendUnaryData<unknown>;

async function answer(admit: () => Promise<void> | void, work: () => Promise<void> | void, reply: Reply): Promise<void> {
  try {
    await admit();
    await work();
    reply(null, { success: true });
  } catch (err) {
    const { message, trailer } = toWire(err);
    reply(null, { success: false, message }, trailer);
  }
}

function implement(handlers: NotifyHandlers, socketPath: string): UntypedServiceImplementation {
  const admit = (): Promise<void> | void => handlers.admit?.(socketPath);
  return {
    HandleDomainEvent: (call: ServerUnaryCall<DomainEventRequest, unknown>, reply: Reply) =>
      void answer(admit, () => handlers.domainEvent(decodeDomainEvent(call.request), socketPath), reply),
    HandleK8sEvent: (call: ServerUnaryCall<K8sEventRequest, unknown>, reply: Reply) =>
      void answer(admit, () => handlers.k8sEvent(decodeK8sEvent(call.request), socketPath), reply),
  };
}

/** One receiver, many sockets. Listening twice on one path is one listening. */
export function serveNotify(handlers: NotifyHandlers): NotifyServer {
  const servers = new Map<string, Promise<RpcServer>>();
  const info = { definition: SERVICES.notifyInfo, implementation: { Info: (_: unknown, reply: Reply) => reply(null, NOTIFY_INFO) } };
  const unlisten = async (socketPath: string): Promise<void> => {
    const server = servers.get(socketPath);
    servers.delete(socketPath);
    await (await server)?.close();
  };
  return {
    async listen(socketPath, options) {
      const known = servers.get(socketPath);
      const server =
        known ??
        listenOn(socketPath, [{ definition: SERVICES.notify, implementation: implement(handlers, socketPath) }, info], {
          ...options,
          limits: LIMITS,
        });
      servers.set(socketPath, server);
      await server.catch((err: unknown) => {
        servers.delete(socketPath);
        throw err;
      });
    },
    unlisten,
    async close() {
      await Promise.all([...servers.keys()].map(unlisten));
    },
  };
}
