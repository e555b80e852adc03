// Durations as Go writes them ("4h48m0s", "250ms"), in milliseconds. Pure.
const UNIT_MS: Readonly<Record<string, number>> = { ns: 1e-6, us: 1e-3, µs: 1e-3, μs: 1e-3, ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
const PART = '(\\d+\\.?\\d*|\\.\\d+)(ns|us|µs|μs|ms|s|m|h)';
const DURATION = new RegExp(`^([+-]?)((?:${PART})+|0)$`);

/** undefined for what is no duration. */
export function parseDuration(text: string | undefined): number | undefined {
  const [, sign, amount = ''] = DURATION.exec(text ?? '') ?? [];
  if (sign === undefined) return undefined;
  let total = 0;
  for (const [, number = '0', unit = 's'] of amount.matchAll(new RegExp(PART, 'g'))) total += Number(number) * (UNIT_MS[unit] ?? 0);
  return sign === '-' ? -total : total;
}
