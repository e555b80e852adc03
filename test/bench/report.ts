// A benchmark's result: tables for people, data for programs, and the machine it was measured on. Nothing is written anywhere.

import { readFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { mebibytes, renderTable, type Table } from './table.js';

export interface Report {
  readonly machine: string;
  readonly tables: readonly Table[];
  readonly data: object;
}

export const report = (tables: readonly Table[], data: object): Report => ({ machine: machine(), tables, data });

function machine(): string {
  const kernel = readFileSync('/proc/sys/kernel/osrelease', 'utf8').trim();
  const [first] = cpus();
  return `${cpus().length} CPUs (${first?.model ?? 'unknown'}), ${mebibytes(totalmem())} MiB of memory, Linux ${kernel}, guests emulated by QEMU (TCG)`;
}

export function renderReport({ machine: where, tables }: Report): string {
  return [`Machine: ${where}`, ...tables.map(renderTable)].join('\n\n');
}

export const renderJson = ({ machine: where, data }: Report): string => JSON.stringify({ machine: where, ...data }, null, 2);
