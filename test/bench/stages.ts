// What happens to one VM, as moments on this machine's clock, and how long each took since the VM was created. Pure.
import { type Summary, summarize } from './percentiles.js';
import { seconds, type Table } from './table.js';

export const STAGES = ['scheduled', 'launcherReady', 'defined', 'running', 'login'] as const;
export type Stage = (typeof STAGES)[number];

export interface Timeline extends Partial<Record<Stage, number>> {
  readonly name: string;
  readonly created: number;
  /** When deletion was asked for, and when VM, VMI and pod were all gone. */
  readonly deleteAsked?: number;
  readonly deleted?: number;
}

const TITLES: Readonly<Record<Stage, string>> = {
  scheduled: 'pod scheduled',
  launcherReady: 'launcher ready',
  defined: 'domain defined',
  running: 'Running',
  login: 'login prompt',
};

export interface StageSummary {
  readonly stage: string;
  readonly ms: Summary | undefined;
}

const present = (value: number | undefined): value is number => value !== undefined;

/** Stages count from creation; deletion counts from its own request. */
export function summarizeStages(timelines: readonly Timeline[]): StageSummary[] {
  const sinceCreation = STAGES.map((stage) => {
    const values = timelines.map((each) => (each[stage] === undefined ? undefined : each[stage] - each.created)).filter(present);
    return { stage: TITLES[stage], ms: summarize(values) };
  });
  const deletions = timelines
    .map(({ deleteAsked, deleted }) => (deleteAsked === undefined || deleted === undefined ? undefined : deleted - deleteAsked))
    .filter(present);
  return [...sinceCreation, { stage: 'deleted (since asked)', ms: summarize(deletions) }];
}

export function stageTable(title: string, timelines: readonly Timeline[]): Table {
  return {
    title,
    columns: ['stage (s since creation)', 'VMs', 'P50', 'P95', 'P99'],
    rows: summarizeStages(timelines).map(({ stage, ms }) => [stage, ms?.count ?? 0, seconds(ms?.p50), seconds(ms?.p95), seconds(ms?.p99)]),
  };
}
