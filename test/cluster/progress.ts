// Progress of the long steps as plain lines with the time since the start: readable on a terminal and in a pipe alike.
export type Log = (line: string) => void;

export function timedLog(write: (line: string) => void, now: () => number = Date.now): Log {
  const start = now();
  return (line) => write(`[${seconds(now() - start).padStart(6)}] ${line}`);
}

export function seconds(ms: number): string {
  return ms < 60_000
    ? `${(ms / 1000).toFixed(1)}s`
    : `${Math.floor(ms / 60_000)}m${String(Math.floor((ms % 60_000) / 1000)).padStart(2, '0')}s`;
}
