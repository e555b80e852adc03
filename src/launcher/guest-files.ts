// Files in the guest, through agents too old to know SSH keys: finds a user's home, writes its authorized_keys with the right owner. Every
// program gets its arguments one by one; nothing of ours is read by a shell of the guest.
import { posix } from 'node:path';
import { KvError } from '../base/errors.js';
import type { AgentPoller } from './agent-poller.js';
import type { GuestCommands } from './guest-commands.js';

interface Deps {
  readonly agent: Pick<AgentPoller, 'command'>;
  readonly guest: Pick<GuestCommands, 'exec'>;
  readonly domain: string;
}

interface Account {
  readonly home: string;
  readonly owner: string;
}

const EXEC_TIMEOUT_S = 10;
const HOME_FIELD = 5;

/** A line of the guest's user database: name:password:uid:gid:comment:home:shell. */
export function accountOf(line: string): Account | undefined {
  const fields = line.trim().split(':');
  const [, , uid, gid] = fields;
  const home = fields[HOME_FIELD];
  if (uid === undefined || gid === undefined || !home?.startsWith('/')) return undefined;
  return { home, owner: `${uid}:${gid}` };
}

export class GuestFiles {
  readonly #deps: Deps;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  async #run(command: string, ...args: readonly string[]): Promise<string> {
    const { guest, domain } = this.#deps;
    const { exitCode, stdOut } = await guest.exec({ domainName: domain, command, args, timeoutSeconds: EXEC_TIMEOUT_S });
    if (exitCode !== 0) throw new KvError('NotReady', `${command} ${args.join(' ')} failed in the guest with exit code ${exitCode}`);
    return stdOut;
  }

  async writeAuthorizedKeys(user: string, keys: readonly string[]): Promise<void> {
    const account = accountOf(await this.#run('getent', 'passwd', user));
    if (account === undefined) throw new KvError('NotReady', `the guest does not tell the home directory of user ${user}`);
    const dir = posix.join(account.home, '.ssh');
    const file = posix.join(dir, 'authorized_keys');
    await this.#run('mkdir', '-p', dir);
    await this.#run('chown', account.owner, dir);
    await this.#run('chmod', '700', dir);
    await this.#write(file, keys.map((key) => `${key}\n`).join(''));
    await this.#run('chown', account.owner, file);
    await this.#run('chmod', '600', file);
  }

  async #write(path: string, content: string): Promise<void> {
    const { agent } = this.#deps;
    const handle = await agent.command({ execute: 'guest-file-open', arguments: { path, mode: 'w' } });
    if (typeof handle !== 'number') throw new KvError('Internal', `the guest agent gave no handle for ${path}`);
    try {
      const data = Buffer.from(content).toString('base64');
      await agent.command({ execute: 'guest-file-write', arguments: { handle, 'buf-b64': data } });
    } finally {
      await agent.command({ execute: 'guest-file-close', arguments: { handle } });
    }
  }
}
