// How a migration ended, in the words that travel to the node agent and end in the VMI's status. Pure.
import type { MigrationReport } from '../../api/domain-report.js';
import { metaTime } from '../../base/clock.js';

export const ABORT = { aborting: 'Aborting', succeeded: 'Succeeded', failed: 'Failed' } as const;

/** It ends in the status of the VMI; QEMU's words may be long. */
const MAX_REASON = 4096;

export interface Ending {
  /** libvirt's word, when it did not succeed. */
  readonly failure?: string;
  /** Why the launcher itself gave it up. */
  readonly givenUp?: string;
  /** Somebody asked for its end. */
  readonly isCancelled: boolean;
  readonly now: number;
}

export const text = {
  aborted: 'Live migration has been aborted',
  failed: (reason: string): string => `Live migration failed: ${reason}`,
  tooSmall: (reason: string): string =>
    `Volume migration cannot be performed because the destination volume is smaller than the source volume: ${reason}`,
  notMigrating: 'failed to cancel migration - vmi is not migrating',
  noState: 'cannot migrate VMI until migrationState is ready',
  backup: (name: string): string => `cannot migrate VMI until backup ${name} is completed`,
  over: (uid: string, how: string): string =>
    `migration ${uid} has been tried already and ${how}; a migration is tried once, create another one`,
  other: (running: string, asked: string): string =>
    `migration ${running} of this VM is under way; ${asked} can begin when it is over, or has been cancelled`,
  underWay: (name: string): string => `VM ${name} is being migrated; nothing of it can be changed until that is over`,
  here: (name: string): string => `VM ${name} runs here already; no guest can come to this pod`,
  expected: (name: string): string => `VM ${name} is to come here by a migration; it is not started a second time`,
  frozen: (name: string): string =>
    `the file systems of VM ${name} are frozen for a backup and are thawed from here; it can be migrated once they are`,
  notHere: (name: string): string => `VM ${name} has not arrived here`,
} as const;

/** libvirt's words when the slice that keeps a disk's size is larger than the disk there. */
const TOO_SMALL = /has to be smaller or equal to the actual size of the containing file/;

function reasonOf({ failure = '', givenUp, isCancelled }: Ending): string {
  if (givenUp !== undefined) return givenUp;
  if (isCancelled) return text.aborted;
  return TOO_SMALL.test(failure.replace(/\s+/g, ' ')) ? text.tooSmall(failure) : text.failed(failure);
}

export function outcomeOf(report: MigrationReport, ending: Ending): MigrationReport {
  const { abortStatus, ...kept } = report;
  const ended = { ...kept, endTimestamp: metaTime(ending.now) };
  const tooLate = abortStatus === ABORT.failed;
  const wasAsked = ending.isCancelled || ending.givenUp !== undefined;
  // It was quicker than the one who wanted its end.
  if (ending.failure === undefined) return { ...ended, completed: true, ...(wasAsked || tooLate ? { abortStatus: ABORT.failed } : {}) };
  return {
    ...ended,
    failed: true,
    failureReason: reasonOf(ending).slice(0, MAX_REASON),
    ...(wasAsked ? { abortStatus: ABORT.succeeded } : {}),
  };
}

/** Only the source knows when one began. */
export const isUnderWay = (report: MigrationReport | undefined): report is MigrationReport & { startTimestamp: string } =>
  report?.startTimestamp !== undefined && report.endTimestamp === undefined;

/** "failed: …" or "succeeded". */
export const howItEnded = ({ failed, failureReason }: MigrationReport): string =>
  failed === true ? `failed: ${failureReason ?? ''}` : 'succeeded';
