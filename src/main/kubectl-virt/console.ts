// `kubectl virt console`: the serial console in this terminal. Keys go to the guest as they are; Ctrl+] leaves. With piped input the
// connection ends once the input has ended and the guest has been silent for a while.
import type { Clock } from '../../base/clock.js';
import type { Cluster, Stream } from './cluster.js';
import type { Terminal } from './terminal.js';

const ESCAPE = 0x1d;
const SILENCE_AFTER_EOF_MS = 2_000;
const NORMAL_CLOSURE = 1000;

export interface ConsoleEnd {
  readonly how: 'left' | 'input-ended' | 'disconnected';
  /** What the other side said when it closed; may be empty. */
  readonly reason: string;
}

/** What to send of a key press or a piece of input, and whether the user wants to leave. Pure. */
export function takeInput(chunk: Buffer): { readonly send: Buffer; readonly leave: boolean } {
  const at = chunk.indexOf(ESCAPE);
  return at < 0 ? { send: chunk, leave: false } : { send: chunk.subarray(0, at), leave: true };
}

/** Moves bytes until one side ends. Restores nothing: the caller owns the terminal's mode. */
export function runConsole(stream: Stream, terminal: Terminal, clock: Clock): Promise<ConsoleEnd> {
  return new Promise((resolve) => {
    let end: ConsoleEnd['how'] = 'disconnected';
    let cancelSilence = (): void => undefined;
    const leave = (why: ConsoleEnd['how']): void => {
      end = why;
      stream.close(NORMAL_CLOSURE);
    };
    const onInput = (chunk: Buffer): void => {
      const { send, leave: leaving } = takeInput(chunk);
      if (send.length > 0) stream.send(send);
      if (leaving) leave('left');
    };
    const awaitSilence = (): void => {
      cancelSilence();
      cancelSilence = clock.after(SILENCE_AFTER_EOF_MS, () => leave('input-ended'));
    };
    let inputEnded = false;
    const onEnd = (): void => {
      inputEnded = true;
      awaitSilence();
    };
    const onAbort = (): void => leave('left');
    stream.on('message', (data) => {
      if (!terminal.output.write(data as Buffer)) {
        stream.pause();
        terminal.output.once('drain', () => stream.resume());
      }
      if (inputEnded) awaitSilence();
    });
    stream.on('error', () => stream.terminate());
    stream.once('close', (_code, reason) => {
      cancelSilence();
      terminal.input.off('data', onInput);
      terminal.input.off('end', onEnd);
      terminal.input.pause();
      terminal.signal.removeEventListener('abort', onAbort);
      resolve({ how: end, reason: reason.toString('utf8') });
    });
    terminal.input.on('data', onInput);
    terminal.input.once('end', onEnd);
    terminal.signal.addEventListener('abort', onAbort, { once: true });
    terminal.input.resume();
  });
}

const UNKNOWN = 'the guest stopped or restarted, somebody else opened this console, or the network failed';

export async function consoleCommand(cluster: Cluster, name: string, terminal: Terminal, clock: Clock): Promise<number> {
  const stream = await cluster.dial(name, 'console');
  terminal.note(`Connected to the console of ${cluster.namespace}/${name}. Leave with Ctrl+].`);
  const isRaw = terminal.input.isTTY === true;
  if (isRaw) terminal.input.setRawMode?.(true);
  try {
    const { how, reason } = await runConsole(stream, terminal, clock);
    if (how === 'disconnected') terminal.note(`\nDisconnected: ${reason || UNKNOWN}.`);
    return how === 'disconnected' ? 1 : 0;
  } finally {
    if (isRaw) terminal.input.setRawMode?.(false);
  }
}
