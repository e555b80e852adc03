// libvirt's state of the domain in the words that travel to the node agent and end in conditions and phases. Pure tables.
import type { DomainReport, DomainState } from '../api/domain-report.js';
import type { LibvirtState, StateReport } from '../libvirt/index.js';

const STATES: Record<LibvirtState, DomainState> = {
  nostate: 'NoState',
  running: 'Running',
  blocked: 'Blocked',
  paused: 'Paused',
  shutdown: 'ShuttingDown',
  shutoff: 'Shutoff',
  crashed: 'Crashed',
  pmsuspended: 'PMSuspended',
};

const PAUSED: Readonly<Record<string, string>> = {
  user: 'User',
  migration: 'Migration',
  save: 'Save',
  dump: 'Dump',
  'io-error': 'IOError',
  watchdog: 'Watchdog',
  'from-snapshot': 'FromSnapshot',
  'shutting-down': 'ShuttingDown',
  snapshot: 'Snapshot',
  crashed: 'Crashed',
  'starting-up': 'StartingUp',
  postcopy: 'Postcopy',
  'postcopy-failed': 'PostcopyFailed',
};

const SHUTOFF: Readonly<Record<string, string>> = {
  shutdown: 'Shutdown',
  destroyed: 'Destroyed',
  crashed: 'Crashed',
  migrated: 'Migrated',
  saved: 'Saved',
  failed: 'Failed',
  'from-snapshot': 'FromSnapshot',
  // The daemon ended QEMU: for the VM the same as a kill from outside.
  daemon: 'Destroyed',
};

const REASONS: Partial<Record<LibvirtState, Readonly<Record<string, string>>>> = {
  paused: PAUSED,
  shutoff: SHUTOFF,
  shutdown: { user: 'User' },
  crashed: { panicked: 'Panicked' },
};

/** status and reason of a DomainReport. */
export function domainStatus({ state, reason }: StateReport): Pick<DomainReport['status'], 'status' | 'reason'> {
  return { status: STATES[state], reason: REASONS[state]?.[reason] ?? 'Unknown' };
}

/** The guest is over: QEMU is gone or of no more use. */
export const hasStopped = ({ state }: StateReport): boolean => state === 'shutoff' || state === 'crashed';

/** QEMU holds a guest that runs or could run on. */
export const isAlive = ({ state }: StateReport): boolean => state !== 'nostate' && !hasStopped({ state, reason: '' });

/** It did not end by the guest's or the user's will. */
export const hasCrashed = ({ state, reason }: StateReport): boolean => state === 'crashed' || (state === 'shutoff' && reason === 'crashed');
