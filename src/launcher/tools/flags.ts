// Command lines of the small programs in the launcher pod. Spelled as the reference's: `--flag value`, `--flag=value`, switches also
// `--switch=true`; everything after `--` is kept as it is. Pure.
import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { fail, ok, type Result } from '../../base/result.js';

export interface ToolFlags {
  readonly values: Readonly<Record<string, string | boolean | undefined>>;
  readonly rest: readonly string[];
}

function plainSwitches(argv: readonly string[], options: ParseArgsOptionsConfig): string[] {
  const end = argv.indexOf('--');
  const flags = end < 0 ? argv : argv.slice(0, end);
  const plain = flags.flatMap((arg) => {
    const [, name, value] = /^--(\w+)=(true|false)$/.exec(arg) ?? [];
    if (name === undefined || options[name]?.type !== 'boolean') return [arg];
    return value === 'true' ? [`--${name}`] : [];
  });
  return [...plain, ...argv.slice(flags.length)];
}

export function parseToolFlags(argv: readonly string[], options: ParseArgsOptionsConfig): Result<ToolFlags, string> {
  try {
    const { values, positionals } = parseArgs({ args: plainSwitches(argv, options), options, strict: true, allowPositionals: true });
    return ok({ values: values as ToolFlags['values'], rest: positionals });
  } catch (err) {
    // parseArgs throws for an unknown flag or a missing value; its sentence names the flag.
    return fail((err as Error).message);
  }
}

export function wholeNumber(flag: string, text: unknown, least: number): Result<number, string> {
  const number = /^\d{1,9}$/.test(String(text)) ? Number(text) : Number.NaN;
  return number >= least ? ok(number) : fail(`--${flag}: "${text}" is no whole number from ${least}`);
}

/** How a program ends: what it prints and its exit code. */
export interface ToolOutcome {
  readonly exitCode: number;
  readonly stdout?: string;
  /** One sentence, without a line's end. */
  readonly stderr?: string;
}
