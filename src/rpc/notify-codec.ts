// What launcher and node agent tell each other by the notify service, in our words and as it travels. Pure; ./notify-client.ts sends, ./notify.ts
// listens.
import type { DomainEventType, DomainReport } from '../api/domain-report.js';
import { KvError } from '../base/errors.js';
import { asDomainReport } from './domain-report.js';
import type { DomainEventRequest, K8sEventRequest } from './generated/notify-v1.js';

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

const toBytes = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

export function encodeDomainEvent({ type, domain, error }: DomainEvent): DomainEventRequest {
  const statusJSON =
    error === undefined ? Buffer.alloc(0) : toBytes({ kind: 'Status', apiVersion: 'v1', status: 'Failure', message: error });
  return { eventType: type, domainJSON: domain ? toBytes(domain) : Buffer.alloc(0), statusJSON };
}

const EVENT_TYPES: readonly string[] = ['ADDED', 'MODIFIED', 'DELETED', 'ERROR'] satisfies DomainEventType[];

export function decodeDomainEvent({ eventType, domainJSON, statusJSON }: DomainEventRequest): DomainEvent {
  if (!EVENT_TYPES.includes(eventType)) throw new KvError('Invalid', `unknown domain event type "${eventType}"`);
  return {
    type: eventType as DomainEventType,
    ...(domainJSON.length > 0 ? { domain: asDomainReport(JSON.parse(domainJSON.toString())) } : {}),
    ...(statusJSON.length > 0 ? { error: String((JSON.parse(statusJSON.toString()) as { message?: unknown }).message) } : {}),
  };
}

export function encodeK8sEvent({ involved, ...event }: LauncherEvent): K8sEventRequest {
  const involvedObject = { apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachineInstance', ...involved };
  return { eventJSON: toBytes({ apiVersion: 'v1', kind: 'Event', ...event, involvedObject }) };
}

export function decodeK8sEvent({ eventJSON }: K8sEventRequest): LauncherEvent {
  const event = JSON.parse(eventJSON.toString()) as Omit<LauncherEvent, 'involved'> & { involvedObject: LauncherEvent['involved'] };
  const { namespace, name, uid } = event.involvedObject;
  return { type: event.type, reason: event.reason, message: event.message, involved: { namespace, name, uid } };
}
