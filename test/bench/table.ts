// Renders the benchmark's tables: Markdown that also lines up on a terminal. Pure.
export type Cell = string | number | undefined;

export interface Table {
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
}

const text = (cell: Cell): string => (cell === undefined ? '–' : String(cell));

/** The first column is a name; the others are figures, set to the right. */
export function renderTable({ title, columns, rows }: Table): string {
  const cells = [columns, ...rows].map((row) => columns.map((_, index) => text(row[index])));
  const widths = columns.map((_, index) => Math.max(...cells.map((row) => row[index]?.length ?? 0), 3));
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, index) => (index === 0 ? cell.padEnd(widths[index] ?? 0) : cell.padStart(widths[index] ?? 0))).join(' | ')} |`;
  const rule = `| ${widths.map((width, index) => (index === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`)).join(' | ')} |`;
  const [head = [], ...body] = cells;
  return [title, '', line(head), rule, ...body.map(line)].join('\n');
}

export const seconds = (ms: number | undefined): string | undefined => (ms === undefined ? undefined : (ms / 1000).toFixed(2));

export const mebibytes = (bytes: number | undefined): string | undefined =>
  bytes === undefined ? undefined : (bytes / (1024 * 1024)).toFixed(1);
