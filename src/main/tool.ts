// The end of a small program of the launcher pod: prints what it has to say and exits once that is written.
import { messageOf } from '../base/errors.js';
import type { ToolOutcome } from '../launcher/tools/flags.js';

/** Sets the exit code instead of exiting: a long output to a pipe is still on its way. */
export function endTool(name: string, { exitCode, stdout, stderr }: ToolOutcome): void {
  if (stdout) process.stdout.write(stdout);
  if (stderr !== undefined) process.stderr.write(`${name}: ${stderr}\n`);
  process.exitCode = exitCode;
}

export function runTool(name: string, work: Promise<ToolOutcome>): void {
  work.then(
    (outcome) => endTool(name, outcome),
    (err: unknown) => endTool(name, { exitCode: 1, stderr: messageOf(err) }),
  );
}
