// Network namespaces for tests: made with iproute2, thrown away afterwards. Needs root.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { systemClock } from '../../src/base/clock.js';
import { type Ctx, makeCtx } from '../../src/base/context.js';
import { silentLogger } from '../../src/base/logger.js';

export const hostCtx = (): Ctx => makeCtx(new AbortController().signal, silentLogger, systemClock);

export interface TestNs {
  readonly path: string;
  readonly name: string;
  /** Runs a command inside; its output. Throws when it fails. */
  run(...command: string[]): string;
  /** Starts a command inside; killed with the namespace. */
  start(...command: string[]): ChildProcess;
  /** Ends what runs inside, or of it the processes of one program: also daemons that went on by themselves. */
  endAll(program?: string): void;
  remove(): void;
}

let counter = 0;

export function createNs(label: string): TestNs {
  const name = `kvt-${process.pid}-${label}-${++counter}`;
  const path = `/run/netns/${name}`;
  const children: ChildProcess[] = [];
  const enter = (command: string[]): string[] => [`--net=${path}`, '--', ...command];
  execFileSync('ip', ['netns', 'add', name]);
  const ns: TestNs = {
    name,
    path,
    run: (...command) => execFileSync('nsenter', enter(command), { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }),
    start(...command) {
      const child = spawn('nsenter', enter(command), { stdio: ['ignore', 'pipe', 'inherit'] });
      children.push(child);
      return child;
    },
    endAll(program) {
      const inside = execFileSync('ip', ['netns', 'pids', name], { encoding: 'utf8' }).split('\n').filter(Boolean).map(Number);
      for (const pid of inside) if (program === undefined || programOf(pid) === program) endIfThere(pid);
    },
    remove() {
      for (const child of children) child.kill('SIGKILL');
      ns.endAll();
      execFileSync('ip', ['netns', 'del', name]);
    },
  };
  ns.run('ip', 'link', 'set', 'lo', 'up');
  return ns;
}

function programOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
  } catch {
    // It ended meanwhile.
    return '';
  }
}

function endIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (err) {
    // It ended meanwhile.
    if ((err as NodeJS.ErrnoException).code !== 'ESRCH') throw err;
  }
}

/** A veth pair between two namespaces. */
export function connect(a: TestNs, aName: string, b: TestNs, bName: string): void {
  a.run('ip', 'link', 'add', aName, 'type', 'veth', 'peer', 'name', bName, 'netns', b.path);
}

const SERVER = `const [port, word] = process.argv.slice(1);
require('node:net').createServer((s) => s.end(word)).listen(Number(port), '::', () => console.log('ready'))`;
const CLIENT = `const [host, port] = process.argv.slice(1);
const s = require('node:net').connect({ host, port: Number(port), timeout: 3000 });
s.on('timeout', () => { console.error('timeout'); process.exit(2); });
s.on('error', (e) => { console.error(e.message); process.exit(1); });
s.on('data', (d) => process.stdout.write(d)); s.on('close', () => process.exit(0));`;

/** A TCP server that answers `word`; resolves once it listens. */
export function serveWord(ns: TestNs, port: number, word: string): Promise<void> {
  const child = ns.start(process.execPath, '-e', SERVER, String(port), word);
  return new Promise((resolve, reject) => {
    child.stdout?.once('data', () => resolve());
    child.once('exit', (code) => reject(new Error(`the test server ended with ${code}`)));
  });
}

/** What a TCP server at host:port answers. */
export const askWord = (ns: TestNs, host: string, port: number): string => ns.run(process.execPath, '-e', CLIENT, host, String(port));
