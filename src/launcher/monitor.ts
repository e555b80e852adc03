// Watches the QEMU process itself, so that its end is noticed even while libvirt is away. libvirt writes its process id to a file.
import { readFile } from 'node:fs/promises';
import { posix } from 'node:path';
import { sleep } from '../base/clock.js';
import type { Ctx } from '../base/context.js';

const INTERVAL_MS = 1_000;

async function readPid(file: string): Promise<number | undefined> {
  try {
    const pid = Number.parseInt(await readFile(file, 'utf8'), 10);
    return Number.isInteger(pid) && pid > 0 ? pid : undefined;
  } catch {
    // No file: QEMU is not there yet, or libvirt has noticed its end and removed it.
    return undefined;
  }
}

/** Signal 0 tests for existence only. A process of the same user cannot answer EPERM, so any error means it is gone. */
function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

export class QemuMonitor {
  readonly #ctx: Ctx;
  readonly #file: string;
  #pid: number | undefined;
  readonly #stop = new AbortController();

  constructor(ctx: Ctx, pidDir: string, domain: string) {
    this.#ctx = ctx;
    this.#file = posix.join(pidDir, `${domain}.pid`);
  }

  get pid(): number | undefined {
    return this.#pid;
  }

  /** Resolves when QEMU is gone. One that is about to begin (a guest arrives from elsewhere) is waited for; never, if none comes. */
  async gone(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      this.#pid ??= await readPid(this.#file);
      if (this.#pid !== undefined && !exists(this.#pid)) return;
      await sleep(this.#ctx.clock, INTERVAL_MS, this.#stop.signal);
    }
    return new Promise(() => undefined);
  }

  #signal(signal: 'SIGTERM' | 'SIGKILL'): void {
    if (this.#pid !== undefined && exists(this.#pid)) process.kill(this.#pid, signal);
  }

  /** Ends QEMU without libvirt: the last resort when the pod must go. */
  terminate(): void {
    this.#signal('SIGTERM');
  }

  /** Where QEMU does not even hear that. */
  kill(): void {
    this.#signal('SIGKILL');
  }

  stop(): void {
    this.#stop.abort();
  }
}
