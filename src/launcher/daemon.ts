// The libvirt daemon as a child of the launcher: writes its configuration, starts it, starts it again when it dies (QEMU and the guest
// live on and are found again). Used by the launcher and the node labeller. Its messages go to our log; the last one explains failures.
import { type ChildProcess, spawn } from 'node:child_process';
import { access, mkdir, writeFile } from 'node:fs/promises';
import { posix } from 'node:path';
import { createInterface } from 'node:readline';
import { Backoff } from '../base/backoff.js';
import { sleep } from '../base/clock.js';
import type { Ctx } from '../base/context.js';
import { KvError, messageOf } from '../base/errors.js';
import { restoreCapabilities } from './capabilities-cache.js';
import { type DaemonLayout, type DaemonSettings, libvirtdConf, qemuConf } from './daemon-config.js';

export const LIBVIRTD = '/usr/sbin/libvirtd';

export interface DaemonOptions {
  readonly layout: DaemonLayout;
  readonly settings: DaemonSettings;
  /** Environment besides the layout's own. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Directory with QEMU capabilities recorded when the image was made; see capabilities-cache.ts. */
  readonly recordedCapabilities?: string;
}

const POLL_MS = 10;
const START_TIMEOUT_MS = 60_000;
const HEALTHY_MS = 60_000;
const STOP_TIMEOUT_MS = 3_000;

async function writeConfig({ layout, settings }: DaemonOptions): Promise<void> {
  const files = [
    [layout.configFile, libvirtdConf(settings)],
    [layout.qemuConfigFile, qemuConf(settings)],
  ] as const;
  try {
    for (const [path, text] of files) {
      await mkdir(posix.dirname(path), { recursive: true });
      await writeFile(path, text, { mode: 0o600 });
    }
  } catch (err) {
    throw new KvError('Internal', "cannot write libvirt's configuration; is the pod's volume full or read-only?", { cause: err });
  }
}

export class LibvirtDaemon {
  readonly #ctx: Ctx;
  readonly #options: DaemonOptions;
  readonly #backoff = new Backoff({ baseMs: 200, maxMs: 10_000 });
  #child: ChildProcess | undefined;
  #stopping = false;
  #startedAt = 0;
  #lastMessage = '';

  constructor(ctx: Ctx, options: DaemonOptions) {
    this.#ctx = ctx;
    this.#options = options;
  }

  /** The last warning or error the daemon printed. */
  get lastMessage(): string {
    return this.#lastMessage;
  }

  /**
   * Resolves when the daemon's socket is there; connecting to it waits until its drivers are ready. `meanwhile` begins when the daemon does, for work
   * that takes our own processor, and is waited for.
   */
  async start(meanwhile: () => Promise<void> = async () => undefined): Promise<void> {
    await writeConfig(this.#options);
    await restoreCapabilities(this.#ctx, this.#options.recordedCapabilities, this.#options.layout.capabilitiesCacheDir);
    this.#spawn();
    await Promise.all([this.#socketAppears(), meanwhile()]);
  }

  #spawn(): void {
    const { layout, env } = this.#options;
    const child = spawn(LIBVIRTD, ['-f', layout.configFile], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...env, ...layout.env },
    });
    this.#child = child;
    this.#startedAt = this.#ctx.now();
    if (child.stderr) createInterface({ input: child.stderr }).on('line', (line) => this.#hear(line));
    child.once('error', (err) => this.#hear(`cannot start ${LIBVIRTD}: ${messageOf(err)}`));
    child.once('close', (code, signal) => this.#ended(code, signal));
  }

  #hear(line: string): void {
    // The daemon's own time stamps and thread ids mean nothing beside ours.
    const text = line.replace(/^[\d-]+ [\d:.+]+: \d+: /, '');
    if (/^(info|debug) : /.test(text)) {
      this.#ctx.log.debug({ text }, 'Libvirt says');
      return;
    }
    this.#lastMessage = text;
    this.#ctx.log.debug({ text }, 'Libvirt warns');
  }

  #ended(code: number | null, signal: NodeJS.Signals | null): void {
    this.#child = undefined;
    if (this.#stopping) return;
    // A guest lives for months: each death counts for itself.
    if (this.#ctx.now() - this.#startedAt > HEALTHY_MS) this.#backoff.reset();
    const delay = this.#backoff.next();
    this.#ctx.log.error({ code, signal, lastMessage: this.#lastMessage, delayMs: delay }, 'Libvirt ended; starting it again');
    this.#ctx.clock.after(delay, () => {
      if (!this.#stopping) this.#spawn();
    });
  }

  async #socketAppears(): Promise<void> {
    const { socket } = this.#options.layout;
    const deadline = this.#ctx.now() + START_TIMEOUT_MS;
    while (!this.#ctx.signal.aborted) {
      const there = await access(socket).then(
        () => true,
        // Not there yet: what this loop waits for.
        () => false,
      );
      if (there) return this.#backoff.reset();
      if (this.#ctx.now() > deadline) throw this.#failure(`libvirt's socket ${socket} did not appear within ${START_TIMEOUT_MS / 1000} s`);
      await sleep(this.#ctx.clock, POLL_MS, this.#ctx.signal);
    }
    throw this.#failure('stopped while libvirt was starting');
  }

  #failure(what: string): KvError {
    return new KvError('NotReady', this.#lastMessage === '' ? what : `${what}; it said: ${this.#lastMessage}`);
  }

  /** Ends the daemon. Running guests are not touched. */
  async stop(): Promise<void> {
    this.#stopping = true;
    const child = this.#child;
    if (!child) return;
    const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
    child.kill('SIGTERM');
    const cancel = this.#ctx.clock.after(STOP_TIMEOUT_MS, () => child.kill('SIGKILL'));
    await ended;
    cancel();
  }
}
