// Points in time and spans of it in CEL expressions, to the nanosecond: how they are read, written, reckoned with and taken apart. Knows no clock. Pure.

const SECOND = 1_000_000_000n;
const MILLISECOND = 1_000_000n;
/** From the year 1 to the year 9999. */
const EARLIEST = -62_135_596_800n * SECOND;
const LATEST = 253_402_300_800n * SECOND - 1n;
const LONGEST = 2n ** 63n - 1n;

export class Duration {
  readonly ns: bigint;

  constructor(ns: bigint) {
    this.ns = ns;
  }

  toString(): string {
    const digits = (this.ns < 0n ? -this.ns : this.ns).toString().padStart(10, '0');
    const fraction = digits.slice(-9).replace(/0+$/, '');
    return `${this.ns < 0n ? '-' : ''}${digits.slice(0, -9)}${fraction === '' ? '' : `.${fraction}`}s`;
  }
}

export class Timestamp {
  readonly ns: bigint;

  constructor(ns: bigint) {
    this.ns = ns;
  }

  toString(): string {
    const [whole = ''] = new Date(Number(floor(this.ns, SECOND)) * 1000).toISOString().split('.');
    const fraction = modulo(this.ns, SECOND).toString().padStart(9, '0').replace(/0+$/, '');
    return `${whole}${fraction === '' ? '' : `.${fraction}`}Z`;
  }
}

const modulo = (value: bigint, by: bigint): bigint => ((value % by) + by) % by;
const floor = (value: bigint, by: bigint): bigint => (value - modulo(value, by)) / by;

export const durationOf = (ns: bigint): Duration | undefined => (ns >= -LONGEST && ns <= LONGEST ? new Duration(ns) : undefined);
export const timestampOf = (ns: bigint): Timestamp | undefined => (ns >= EARLIEST && ns <= LATEST ? new Timestamp(ns) : undefined);
export const ofSeconds = (seconds: bigint): Timestamp | undefined => timestampOf(seconds * SECOND);
export const secondsOf = ({ ns }: Timestamp): bigint => floor(ns, SECOND);

const UNITS: Readonly<Record<string, bigint>> = {
  h: 3600n * SECOND,
  m: 60n * SECOND,
  s: SECOND,
  ms: MILLISECOND,
  us: 1000n,
  µs: 1000n,
  ns: 1n,
};
const PART = '(\\d+)?(?:\\.(\\d*))?(h|ms|m|s|us|µs|ns)';
const DURATION = new RegExp(`^([+-]?)((?:${PART})+|0)$`);

/** In Go's notation, e.g. 1h30m or -0.5s. */
export function parseSpan(text: string): Duration | undefined {
  const [, sign, amount = ''] = DURATION.exec(text) ?? [];
  if (sign === undefined) return undefined;
  let ns = 0n;
  for (const [, whole = '0', fraction = '', unit = 's'] of amount.matchAll(new RegExp(PART, 'g'))) {
    const size = UNITS[unit] ?? 0n;
    ns += BigInt(whole) * size + (BigInt(fraction.padEnd(12, '0').slice(0, 12)) * size) / 10n ** 12n;
  }
  return durationOf(sign === '-' ? -ns : ns);
}

const RFC3339 = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/;

export function parseTimestamp(text: string): Timestamp | undefined {
  const [, date, time, fraction = '', zone] = RFC3339.exec(text) ?? [];
  const ms = Date.parse(`${date}T${time}${zone}`);
  return Number.isNaN(ms) ? undefined : timestampOf(BigInt(ms) * MILLISECOND + BigInt(fraction.padEnd(9, '0')));
}

/** Minutes east of Greenwich at that moment; undefined for a zone that nobody knows. */
function offsetOf(zone: string, ms: number): number | undefined {
  const [, sign, hours, minutes] = /^([+-]?)(\d\d):(\d\d)$/.exec(zone) ?? [];
  if (hours !== undefined) return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes));
  try {
    const format = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' });
    const name =
      format
        .formatToParts(ms)
        .find(({ type }) => type === 'timeZoneName')
        ?.value.replace('GMT', '') ?? '';
    return name === '' ? 0 : offsetOf(name, ms);
  } catch {
    // It is no name of a zone.
    return undefined;
  }
}

type Part = (date: Date) => number;
const DAY_MS = 86_400_000;

/** By the ends of the methods' names; months and days are counted from 0 except by getDate. */
const PARTS: Readonly<Record<string, Part>> = {
  FullYear: (date) => date.getUTCFullYear(),
  Month: (date) => date.getUTCMonth(),
  Date: (date) => date.getUTCDate(),
  DayOfMonth: (date) => date.getUTCDate() - 1,
  DayOfWeek: (date) => date.getUTCDay(),
  DayOfYear: (date) => Math.floor((date.getTime() - new Date(date).setUTCMonth(0, 1)) / DAY_MS),
  Hours: (date) => date.getUTCHours(),
  Minutes: (date) => date.getUTCMinutes(),
  Seconds: (date) => date.getUTCSeconds(),
  Milliseconds: (date) => date.getUTCMilliseconds(),
};
export const DATE_PARTS = Object.keys(PARTS);

export function datePart(part: string, { ns }: Timestamp, zone = 'UTC'): bigint | undefined {
  const ms = Number(floor(ns, MILLISECOND));
  const offset = offsetOf(zone, ms);
  const value = offset === undefined ? undefined : PARTS[part]?.(new Date(ms + offset * 60_000));
  return value === undefined ? undefined : BigInt(value);
}

/** How many whole ones there are in a span; of milliseconds only those beyond the last whole second. */
export const SPAN_PARTS: Readonly<Record<string, (span: Duration) => bigint>> = {
  Hours: ({ ns }) => ns / (UNITS.h ?? 1n),
  Minutes: ({ ns }) => ns / (UNITS.m ?? 1n),
  Seconds: ({ ns }) => ns / SECOND,
  Milliseconds: ({ ns }) => (ns % SECOND) / MILLISECOND,
};

type Time = Duration | Timestamp;

/** Sums and differences that make sense; undefined for those that do not, or that leave the calendar. */
export function reckoned(sign: string, a: Time, b: Time): Time | undefined {
  const ns = sign === '+' ? a.ns + b.ns : a.ns - b.ns;
  if (sign !== '+' && sign !== '-') return undefined;
  const points = [a, b].filter((each) => each instanceof Timestamp).length;
  if (points === 0 || (points === 2 && sign === '-')) return durationOf(ns);
  const isPoint = points === 1 && (sign === '+' || a instanceof Timestamp);
  return isPoint ? timestampOf(ns) : undefined;
}
