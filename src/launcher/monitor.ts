// Watches the QEMU process itself, so that its end is noticed even while libvirt is away. libvirt writes its process id to a file.
import { readFile } from 'node:fs/promises';
import { posix } from 'node:path';
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
  #cancel: (() => void) | undefined;

  constructor(ctx: Ctx, pidDir: string, domain: string) {
    this.#ctx = ctx;
    this.#file = posix.join(pidDir, `${domain}.pid`);
  }

  get pid(): number | undefined {
    return this.#pid;
  }

  /** Resolves when the QEMU that runs now is gone. Never, if none is found. */
  async gone(): Promise<void> {
    this.#pid = await readPid(this.#file);
    const pid = this.#pid;
    if (pid === undefined) return new Promise(() => undefined);
    return new Promise((resolve) => {
      const check = (): void => {
        if (exists(pid)) this.#cancel = this.#ctx.clock.after(INTERVAL_MS, check);
        else resolve();
      };
      check();
    });
  }

  /** Ends QEMU without libvirt: the last resort when the pod must go. */
  terminate(): void {
    if (this.#pid !== undefined && exists(this.#pid)) process.kill(this.#pid, 'SIGTERM');
  }

  stop(): void {
    this.#cancel?.();
  }
}
