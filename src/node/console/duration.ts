// Go durations as the API writes them ("5m", "1h30m", "90s") in whole seconds.

const UNITS: Readonly<Record<string, number>> = { ns: 1e-9, us: 1e-6, µs: 1e-6, ms: 1e-3, s: 1, m: 60, h: 3600 };
const PART = /(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)/gy;

/** undefined for anything else. Rounds up, so that a short time is not none. */
export function durationSeconds(text: string): number | undefined {
  if (text === '0') return 0;
  PART.lastIndex = 0;
  let seconds = 0;
  let end = 0;
  for (let part = PART.exec(text); part !== null; part = PART.exec(text)) {
    seconds += Number(part[1]) * (UNITS[part[2] ?? ''] ?? 0);
    end = PART.lastIndex;
  }
  return end === text.length && end > 0 ? Math.ceil(seconds) : undefined;
}
