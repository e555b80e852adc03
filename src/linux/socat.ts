// Connections that Node cannot make itself, by socat as a go-between: AF_VSOCK, and any address seen from another network namespace. Each has a
// socat of its own, which ends with it. Addresses are socat's; never made of what a user sends without being checked.
import { type ChildProcess, spawn } from 'node:child_process';
import { Socket } from 'node:net';
import { KvError } from '../base/errors.js';
import { lastLine } from './exec.js';
import type { NetNs } from './netns.js';

export interface DialOptions {
  /** Where the connection is made; default: here. */
  readonly ns?: NetNs;
  readonly timeoutMs: number;
}

/** Descriptor by which socat talks to us. */
const OURS = 3;
/** socat's notice, at its second level of verbosity, once both sides are connected. */
const CONNECTED = 'starting data transfer loop';
const MAX_WORDS = 4_000;

function start(args: readonly string[], ns: NetNs | undefined, stdio: readonly ('ignore' | 'pipe')[]): ChildProcess {
  const command = ns === undefined ? ['socat', ...args] : ['nsenter', `--net=${ns}`, '--', 'socat', ...args];
  const [file = '', ...rest] = command;
  return spawn(file, rest, { stdio: [...stdio] });
}

/** The last error out of lines such as "2026/11/30 08:22:00 socat[7] E connect(5, …): No such device". */
function faultOf(words: string): string {
  const errors = [...words.matchAll(/socat\[\d+\] [EF] (.*)/g)].map(([, text = '']) => text);
  return errors.at(-1) ?? lastLine(words);
}

/** A connection to `address`, once it is made. Closing it ends the go-between. */
export function dialBySocat(address: string, { ns, timeoutMs }: DialOptions): Promise<Socket> {
  const child = start(['-d', '-d', `FD:${OURS}`, address], ns, ['ignore', 'ignore', 'pipe', 'pipe']);
  return new Promise((resolve, reject) => {
    let words = '';
    const fail = (why: string, cause?: unknown): void => {
      clearTimeout(timer);
      child.kill('SIGKILL');
      reject(new KvError('Unavailable', `cannot connect to ${address}: ${why}`, { cause }));
    };
    const timer = setTimeout(() => fail(`no connection within ${timeoutMs / 1000} s`), timeoutMs);
    child.once('error', (cause) => fail('socat cannot be run; is it installed?', cause));
    // What it said last may come after its end: the end of its words counts.
    child.stderr?.once('end', () => fail(faultOf(words)));
    child.stderr?.on('data', (chunk: Buffer) => {
      words = `${words}${chunk.toString()}`.slice(-MAX_WORDS);
      if (!words.includes(CONNECTED)) return;
      clearTimeout(timer);
      child.stderr?.removeAllListeners('data').removeAllListeners('end').resume();
      resolve(streamOf(child));
    });
  });
}

function streamOf(child: ChildProcess): Socket {
  const stream = child.stdio[OURS];
  if (!(stream instanceof Socket)) throw new KvError('Internal', 'socat was started without a connection to us');
  stream.once('close', () => child.kill('SIGKILL'));
  // Whoever takes the stream adds a listener of its own; until then a broken one must not end the process.
  stream.on('error', () => undefined);
  return stream;
}

export interface Listener {
  /** Resolves with the reason when it listens no more. */
  readonly ended: Promise<string>;
  stop(): void;
}

/** Hands every connection to the listening `address` on to `target`. */
export function listenBySocat(address: string, target: string, ns?: NetNs): Listener {
  const child = start([`${address},fork`, target], ns, ['ignore', 'ignore', 'pipe']);
  let words = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    words = `${words}${chunk.toString()}`.slice(-MAX_WORDS);
  });
  const ended = new Promise<string>((resolve) => {
    child.once('error', (err) => resolve(err.message));
    child.once('close', () => resolve(faultOf(words)));
  });
  return { ended, stop: () => child.kill('SIGTERM') };
}
