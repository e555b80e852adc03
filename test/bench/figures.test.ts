import { describe, expect, it } from 'vitest';
import { percentile, summarize } from './percentiles.js';
import { type Stage, stageTable, summarizeStages, type Timeline } from './stages.js';
import { mebibytes, renderTable, seconds } from './table.js';

const ten = [10, 1, 9, 2, 8, 3, 7, 4, 6, 5];

describe('percentile', () => {
  it.each([
    ['median of ten is the fifth', ten, 0.5, 5],
    ['P95 of ten is the last', ten, 0.95, 10],
    ['of one value', [7], 0.99, 7],
    ['P95 of a hundred', Array.from({ length: 100 }, (_, i) => i + 1), 0.95, 95],
    ['the smallest share is the first value', ten, 0, 1],
  ])('%s', (_title, values, share, expected) => {
    expect(percentile(values, share)).toBe(expected);
  });

  it('has no answer without values', () => {
    expect(percentile([], 0.5)).toBeUndefined();
    expect(summarize([])).toBeUndefined();
  });
});

describe('stages', () => {
  const timeline = (created: number, moments: Partial<Record<Stage, number>>): Timeline => ({ name: 'vm', created, ...moments });

  it('counts from creation, deletion from its request, and leaves out what was not seen', () => {
    const timelines = [
      { ...timeline(1000, { scheduled: 1100, running: 4000 }), deleteAsked: 9000, deleted: 9700 },
      timeline(2000, { scheduled: 2300 }),
    ];
    const found = Object.fromEntries(summarizeStages(timelines).map(({ stage, ms }) => [stage, ms]));
    expect(found['pod scheduled']).toEqual({ count: 2, p50: 100, p95: 300, p99: 300 });
    expect(found.Running).toEqual({ count: 1, p50: 3000, p95: 3000, p99: 3000 });
    expect(found['login prompt']).toBeUndefined();
    expect(found['deleted (since asked)']).toEqual({ count: 1, p50: 700, p95: 700, p99: 700 });
  });

  it('shows seconds, and a dash for what nobody reached', () => {
    const { rows } = stageTable('t', [timeline(0, { scheduled: 120 })]);
    expect(rows[0]).toEqual(['pod scheduled', 1, '0.12', '0.12', '0.12']);
    expect(rows[4]).toEqual(['login prompt', 0, undefined, undefined, undefined]);
  });
});

describe('renderTable', () => {
  it('lines up as Markdown', () => {
    const table = {
      title: 'Memory',
      columns: ['process', 'PSS'],
      rows: [
        ['qemu', mebibytes(1572864)],
        ['tini', undefined],
      ],
    };
    expect(renderTable(table)).toBe(
      ['Memory', '', '| process | PSS |', '| ------- | --: |', '| qemu    | 1.5 |', '| tini    |   – |'].join('\n'),
    );
  });

  it('has units that keep nothing as nothing', () => {
    expect([seconds(1234), seconds(undefined), mebibytes(undefined)]).toEqual(['1.23', undefined, undefined]);
  });
});
