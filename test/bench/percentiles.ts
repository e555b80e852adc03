// Percentiles of measured values, by the nearest-rank rule: every figure shown is one that was measured. Pure.
export interface Summary {
  readonly count: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

/** `share` between 0 and 1; undefined without values. */
export function percentile(values: readonly number[], share: number): number | undefined {
  if (values.length === 0) return undefined;
  const sorted = values.toSorted((a, b) => a - b);
  const rank = Math.max(1, Math.ceil(share * sorted.length));
  return sorted[rank - 1];
}

export function summarize(values: readonly number[]): Summary | undefined {
  const [p50, p95, p99] = [0.5, 0.95, 0.99].map((share) => percentile(values, share));
  if (p50 === undefined || p95 === undefined || p99 === undefined) return undefined;
  return { count: values.length, p50, p95, p99 };
}
