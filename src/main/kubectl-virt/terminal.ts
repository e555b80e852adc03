// What a command may do with the terminal it runs in; handed in, so that tests bring their own.
import type { Readable, Writable } from 'node:stream';

export interface Terminal {
  readonly input: Readable & { readonly isTTY?: boolean; setRawMode?(raw: boolean): unknown };
  readonly output: Writable;
  /** For people, never mixed with the output of the guest. */
  note(line: string): void;
  /** Aborts on Ctrl-C and on termination. */
  readonly signal: AbortSignal;
}
