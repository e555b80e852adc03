// The public face of the room: connections, domains and events of libvirt as typed promises.
export { createLibvirt } from './connection.js';
export { type JobType, LIFECYCLE_EVENTS, type LibvirtState, type LifecycleEvent } from './constants.js';
export { isLibvirtError, type LibvirtErrorName } from './error.js';
export { exitAtOnce } from './exit.js';
export type {
  CapabilitiesQuery,
  Connection,
  Domain,
  DomainEvent,
  DomainInfo,
  GuestInfoType,
  GuestInterface,
  JobStats,
  Libvirt,
  MigrateFlag,
  ParamValues,
  Picture,
  StateReport,
  StatsType,
  StopMode,
  TypedValue,
} from './libvirt.js';
