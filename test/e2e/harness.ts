// What the journeys share: kubectl as a user has it, waiting with a reason, and the guest's serial console through `kubectl virt`.
// Asserts states of the world, never lists of API calls.
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { KubeObject } from '../../src/api/meta.js';
import { type ClusterHandle, ensureUp } from '../cluster/cluster.js';
import { openReader, type Reader } from './reader.js';

export const ROOT = join(fileURLToPath(import.meta.url), '..', '..', '..');
export const NAMESPACE = 'e2e';
export const TINY_IMAGE = 'localhost/kubevirt-ts/guest-tiny:dev';

let handle: ClusterHandle | undefined;
let opened: Reader | undefined;

/** The local cluster, which global-setup.ts has brought up. */
export async function cluster(): Promise<ClusterHandle> {
  handle ??= await ensureUp();
  return handle;
}

async function reader(): Promise<Reader> {
  opened ??= openReader((await cluster()).kubeconfig);
  return opened;
}

export async function kubectl(...args: string[]): Promise<string> {
  return (await cluster()).kubectl(args);
}

export async function apply(...objects: readonly object[]): Promise<void> {
  const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects });
  await (await cluster()).kubectl(['apply', '-f', '-'], list);
}

/** The message of a refusal; fails when the object was accepted. */
export async function refusal(object: object): Promise<string> {
  try {
    await apply(object);
  } catch (err) {
    return String((err as Error).message);
  }
  throw new Error(`accepted: ${JSON.stringify(object)}`);
}

export async function find<T extends KubeObject>(kind: string, name: string, namespace = NAMESPACE): Promise<T | undefined> {
  const look = (await reader()).finding(kind);
  if (look) return (await look(name, namespace)) as T | undefined;
  const text = await kubectl('get', kind, name, '-n', namespace, '--ignore-not-found', '-o', 'json');
  return text.trim() ? (JSON.parse(text) as T) : undefined;
}

export async function list<T extends KubeObject>(kind: string, ...args: string[]): Promise<T[]> {
  const look = (await reader()).listing(kind, args);
  if (look) return (await look()) as T[];
  return (JSON.parse(await kubectl('get', kind, '-o', 'json', ...args)) as { items: T[] }).items;
}

export interface WaitOptions {
  readonly timeoutMs?: number;
  readonly everyMs?: number;
}

/** Asks until the probe gives something; the error says what was waited for and what was seen last. */
export async function eventually<T>(
  what: string,
  probe: () => Promise<T | undefined | false>,
  { timeoutMs = 180_000, everyMs = 300 }: WaitOptions = {},
): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  let last: unknown;
  while (Date.now() < deadline) {
    try {
      const value = await probe();
      if (value !== undefined && value !== false) return value;
      last = value;
    } catch (err) {
      last = err;
    }
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
  throw new Error(`not within ${timeoutMs / 1000} s: ${what}; last seen: ${last instanceof Error ? last.message : JSON.stringify(last)}`);
}

/** Events of an object as `Reason: message` lines, oldest first. */
export async function eventsOf(kind: string, name: string, namespace = NAMESPACE): Promise<string[]> {
  const selector = `involvedObject.kind=${kind},involvedObject.name=${name}`;
  const events = await list<KubeObject & { reason: string; message: string }>('events', '-n', namespace, '--field-selector', selector);
  return events.map((e) => `${e.reason}: ${e.message}`);
}

/** Everything a person would look at, for the report of a failed test. */
export async function diagnose(namespace = NAMESPACE): Promise<string> {
  const parts = await Promise.all(
    [
      ['get', 'vm,vmi,pods', '-o', 'wide', '-n', namespace],
      ['get', 'pods', '-o', 'wide', '-n', 'kubevirt'],
      ['get', 'events', '-n', namespace, '--sort-by=.lastTimestamp'],
      ['get', 'vmi', '-n', namespace, '-o', 'jsonpath={range .items[*]}{.metadata.name}{" "}{.status.conditions}{"\\n"}{end}'],
    ].map((args) => kubectl(...args).catch((err: unknown) => String(err))),
  );
  // Of many events the newest tell what happened.
  return parts.map((part) => part.split('\n').slice(-30).join('\n')).join('\n');
}

/** The end of a command as the guest's terminal shows it: a long line is broken anywhere. */
const ECHOED = new RegExp(`${[...'echo "rc=$?."'].map((char) => (/\w/.test(char) ? char : `\\${char}`)).join('[\\r\\n]*')}\\r?\\n`);

export class Console {
  readonly #child: ChildProcessWithoutNullStreams;
  #text = '';
  #ended: string | undefined;

  private constructor(child: ChildProcessWithoutNullStreams) {
    this.#child = child;
    child.stdout.on('data', (d: Buffer) => {
      this.#text += d.toString('utf8');
    });
    child.stderr.on('data', (d: Buffer) => {
      this.#text += d.toString('utf8');
    });
    child.on('close', (code) => {
      this.#ended = `kubectl virt console ended with code ${code}`;
    });
  }

  static async open(vmi: string, namespace = NAMESPACE): Promise<Console> {
    const { kubeconfig } = await cluster();
    const args = [join(ROOT, 'dist/bundle/kubectl-virt.js'), 'console', vmi, '-n', namespace];
    return new Console(spawn(process.execPath, args, { env: { ...process.env, KUBECONFIG: kubeconfig } }));
  }

  /** Waits for text that has not been consumed yet; consumes up to its end. */
  async expect(pattern: RegExp, timeoutMs = 150_000): Promise<RegExpExecArray> {
    return eventually(
      `${pattern} on the console`,
      async () => {
        const found = pattern.exec(this.#text);
        if (found) {
          this.#text = this.#text.slice(found.index + found[0].length);
          return found;
        }
        if (this.#ended) throw new Error(`${this.#ended}; unread: ${this.#text.slice(-300)}`);
        return undefined;
      },
      { timeoutMs, everyMs: 50 },
    ).catch((err: Error) => {
      throw new Error(`${err.message}; unread text: ${JSON.stringify(this.#text.slice(-400))}`);
    });
  }

  send(line: string): void {
    this.#child.stdin.write(`${line}\n`);
  }

  /** Logs in as root, also when somebody is logged in already. */
  async login(): Promise<void> {
    this.send('');
    const [prompt] = await this.expect(/login: |:~# /);
    if (prompt.startsWith('login')) {
      this.send('root');
      await this.expect(/:~# /);
    }
  }

  /** Runs a command in the guest; its output without the echoed command. */
  async run(command: string, timeoutMs = 90_000): Promise<string> {
    this.send(`${command}; echo "rc=$?."`);
    await this.expect(ECHOED, timeoutMs);
    const [all = ''] = await this.expect(/[\s\S]*?rc=\d+\./, timeoutMs);
    return all.replace(/\r/g, '');
  }

  async close(): Promise<void> {
    if (this.#ended) return;
    const closed = new Promise<void>((resolve) => this.#child.once('close', () => resolve()));
    this.#child.kill('SIGTERM');
    await closed;
  }
}
