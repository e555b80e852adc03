// libvirt's domain events as one typed stream. Callbacks run on the JavaScript thread while libvirt's event thread waits for them,
// so they only translate and hand over; a throwing handler must not reach C.
import type { Logger } from '../base/logger.js';
import type { Caller } from './caller.js';
import { EVENT_ID, LIFECYCLE_EVENTS } from './constants.js';
import { identityOf } from './domain.js';
import { type CallbackName, ffi, type Ptr } from './ffi.js';
import type { DomainEvent } from './libvirt.js';
import { readTypedParams } from './typed-params.js';

type Emit = (event: DomainEvent) => void;

interface Source {
  readonly id: number;
  readonly callback: CallbackName;
  /** From the C callback's arguments after the connection and the domain. */
  translate(domain: DomainEvent['domain'], ...args: readonly unknown[]): DomainEvent;
}

const AGENT_CONNECTED = 1;
// virDomainEventIOErrorAction: 1 is pause, as error_policy=stop asks for.
const IO_ERROR_PAUSE = 1;

const deviceSource = (id: number, kind: 'device-added' | 'device-removed' | 'device-removal-failed'): Source => ({
  id,
  callback: 'alias',
  translate: (domain, alias) => ({ kind, domain, alias: String(alias) }),
});

const SOURCES: readonly Source[] = [
  {
    id: EVENT_ID.lifecycle,
    callback: 'lifecycle',
    translate: (domain, event, detail) => ({
      kind: 'lifecycle',
      domain,
      event: LIFECYCLE_EVENTS[event as number] ?? 'defined',
      detail: detail as number,
    }),
  },
  { id: EVENT_ID.reboot, callback: 'generic', translate: (domain) => ({ kind: 'reboot', domain }) },
  {
    id: EVENT_ID.agentLifecycle,
    callback: 'agent',
    translate: (domain, state) => ({ kind: 'agent', domain, connected: state === AGENT_CONNECTED }),
  },
  {
    id: EVENT_ID.ioErrorReason,
    callback: 'ioErrorReason',
    translate: (domain, path, alias, action, reason) => ({
      kind: 'io-error',
      domain,
      path: String(path),
      alias: String(alias),
      paused: action === IO_ERROR_PAUSE,
      reason: String(reason ?? ''),
    }),
  },
  deviceSource(EVENT_ID.deviceAdded, 'device-added'),
  deviceSource(EVENT_ID.deviceRemoved, 'device-removed'),
  deviceSource(EVENT_ID.deviceRemovalFailed, 'device-removal-failed'),
  {
    id: EVENT_ID.memoryDeviceSizeChange,
    callback: 'memoryDevice',
    translate: (domain, alias, bytes) => ({ kind: 'memory-device-size', domain, alias: String(alias), bytes: Number(bytes) }),
  },
  {
    id: EVENT_ID.migrationIteration,
    callback: 'iteration',
    translate: (domain, iteration) => ({ kind: 'migration-iteration', domain, iteration: Number(iteration) }),
  },
  {
    id: EVENT_ID.jobCompleted,
    callback: 'jobCompleted',
    // The list stays libvirt's and is gone when the callback returns.
    translate: (domain, params, count) => ({ kind: 'job-completed', domain, params: readTypedParams(params as Ptr | null, Number(count)) }),
  },
];

function register(source: Source, emit: Emit, log: Logger): Ptr {
  return ffi().callback(source.callback, (_conn: Ptr, dom: Ptr, ...args: unknown[]) => {
    try {
      emit(source.translate(identityOf(dom), ...args));
    } catch (err) {
      // An exception may not cross into libvirt; the event is lost for this handler only.
      log.error({ err, eventId: source.id }, 'A handler of domain events failed');
    }
    return 0;
  });
}

/** Subscribes to every event this room knows; the returned function ends it. */
export async function subscribeEvents(caller: Caller, conn: Ptr, emit: Emit, log: Logger): Promise<() => Promise<void>> {
  const undo: (() => Promise<void>)[] = [];
  for (const source of SOURCES) {
    const callback = register(source, emit, log);
    const id = await caller.call(`cannot subscribe to domain events (${source.id})`, () =>
      ffi().async.virConnectDomainEventRegisterAny(conn, null, source.id, callback, null, null),
    );
    undo.push(async () => {
      // The callback itself stays: one may still be on its way from libvirt's event thread.
      await caller.call('cannot end the subscription to domain events', () => ffi().async.virConnectDomainEventDeregisterAny(conn, id));
    });
  }
  return async () => {
    for (const end of undo) await end();
  };
}
