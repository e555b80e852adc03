// Boots a guest with QEMU directly, without cluster or libvirt: for tests of the guest images. The caller writes QEMU's device
// arguments; this file starts QEMU out of the launcher image, talks to the serial console and to the machine monitor.
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { launcherRoot, programOf } from '../../images/main.js';
import { KvError } from '../../src/base/errors.js';

export interface GuestOptions {
  /** For sockets; the caller removes it. */
  readonly dir: string;
  readonly cpu?: string;
  readonly memoryMib?: number;
  readonly args: readonly string[];
}

const WAIT_MS = 90_000;
const PROMPT_MS = 20_000;
const LOGINS = 4;
const POLL_MS = 20;
const CLOCK_TICK_MS = 10;

export class Guest {
  readonly #process: ChildProcess;
  readonly #dir: string;
  readonly #started = Date.now();
  #console = '';
  #errors = '';
  #end: { readonly code: number | null } | undefined;

  constructor(child: ChildProcess, dir: string) {
    this.#process = child;
    this.#dir = dir;
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.#console += text;
    });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#errors += text;
    });
    child.once('exit', (code) => {
      this.#end = { code };
    });
  }

  static async start({ dir, cpu = 'max', memoryMib = 128, args }: GuestOptions): Promise<Guest> {
    const root = await launcherRoot();
    const qemu = programOf(root, 'usr/bin/qemu-system-x86_64');
    const firmware = ['share/qemu', 'share/seabios', 'lib/ipxe/qemu'].flatMap((path) => ['-L', join(root, 'usr', path)]);
    const machine = ['-machine', 'q35,accel=tcg', '-cpu', cpu, '-m', String(memoryMib), '-nodefaults', '-display', 'none'];
    const io = ['-serial', 'stdio', '-qmp', `unix:${join(dir, 'qmp')},server=on,wait=off`];
    return new Guest(spawn(qemu.file, [...qemu.args, ...firmware, ...machine, ...io, ...args], { stdio: 'pipe' }), dir);
  }

  get ageMs(): number {
    return Date.now() - this.#started;
  }

  /** Time of a CPU that QEMU took so far: on an idle machine that is how long it runs, on a busy one it still compares. */
  cpuMs(): number {
    const fields = readFileSync(`/proc/${this.#process.pid}/stat`, 'utf8')
      .replace(/^.*\) /, '')
      .split(' ');
    return (Number(fields[11]) + Number(fields[12])) * CLOCK_TICK_MS;
  }

  /** Waits for text on the console and drops everything up to its end. */
  async expect(pattern: RegExp, waitMs = WAIT_MS): Promise<string> {
    const deadline = Date.now() + waitMs;
    for (;;) {
      const match = pattern.exec(this.#console);
      if (match) {
        this.#console = this.#console.slice(match.index + match[0].length);
        return match[0];
      }
      if (this.#end) throw this.#failure(`QEMU ended (${this.#end.code})`, pattern);
      if (Date.now() > deadline) throw this.#failure(`not seen within ${waitMs / 1000} s`, pattern);
      await sleep(POLL_MS);
    }
  }

  #failure(what: string, pattern: RegExp): KvError {
    return new KvError(
      'Timeout',
      `${pattern}: ${what}; console: ${JSON.stringify(this.#console.slice(-800))}; QEMU: ${this.#errors.slice(-500)}`,
    );
  }

  send(line: string): void {
    this.#process.stdin?.write(`${line}\n`);
  }

  /** Logs in, to the shell prompt. A getty that just gets a new host name starts again and loses what was typed to it. */
  async login(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      await this.expect(/login: $/);
      this.send('root');
      try {
        await this.expect(/:~# /, PROMPT_MS);
        return;
      } catch (err) {
        if (attempt === LOGINS) throw err;
        this.send('');
      }
    }
  }

  /** What a command printed. The marks are written such that their echo, which the terminal may break anywhere, is not taken for them. */
  async run(command: string): Promise<string> {
    this.send(`echo "st"art; ${command}; echo "e"nd-$?`);
    const text = await this.expect(/\nstart\r*\n[\s\S]*?end-\d+\r*\n[^\n]*# /);
    return (/\nstart\n([\s\S]*?)\n?end-\d+\n[^\n]*$/.exec(text.replaceAll('\r', ''))?.[1] ?? '').trim();
  }

  async monitor(command: string): Promise<void> {
    const socket = createConnection(join(this.#dir, 'qmp'));
    socket.write('{"execute":"qmp_capabilities"}\n');
    socket.end(`${JSON.stringify({ execute: command })}\n`);
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject);
      socket.resume().once('close', () => resolve());
    });
  }

  /** Exit code of QEMU once the guest has powered off. */
  async ended(): Promise<number | null> {
    const deadline = Date.now() + WAIT_MS;
    while (!this.#end) {
      if (Date.now() > deadline) throw this.#failure('still running', /end of QEMU/);
      await sleep(POLL_MS);
    }
    return this.#end.code;
  }

  async kill(): Promise<void> {
    if (this.#end) return;
    this.#process.kill('SIGKILL');
    await this.ended();
  }
}
