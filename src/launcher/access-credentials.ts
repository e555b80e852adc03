// SSH keys and passwords of a VMI's access credentials, put into the guest through its agent: when the agent comes, when the mounted secrets
// change, and every five minutes in case the guest lost them. What became of it goes into the report. Secrets for cloud-init are not handled here.
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { posix } from 'node:path';
import type { VirtualMachineInstance } from '../api/index.js';
import { sleep } from '../base/clock.js';
import type { Ctx } from '../base/context.js';
import { KvError, messageOf } from '../base/errors.js';
import { accessCredentialDir } from '../core/storage/paths.js';
import type { AgentPoller } from './agent-poller.js';
import type { GuestFiles } from './guest-files.js';
import type { VmRecord } from './report.js';
import type { Reporter } from './reporter.js';

interface Deps {
  readonly ctx: Ctx;
  readonly agent: Pick<AgentPoller, 'command' | 'supports'>;
  readonly files: Pick<GuestFiles, 'writeAuthorizedKeys'>;
  readonly record: VmRecord;
  readonly reporter: Pick<Reporter, 'refresh'>;
  /** Where a secret is mounted; replaced in tests. */
  readonly dirOf?: (secret: string) => string;
}

export interface Wanted {
  /** User → its keys, of all secrets that name the user. */
  readonly keys: ReadonlyMap<string, readonly string[]>;
  /** User → password. */
  readonly passwords: ReadonlyMap<string, string>;
}

const LOOK_MS = 15_000;
const AGAIN_MS = 5 * 60_000;

type Secrets = ReadonlyMap<string, ReadonlyMap<string, string>>;

/** Names of the secrets that go through the agent. */
export function agentSecrets({ spec }: VirtualMachineInstance): string[] {
  const names = (spec.accessCredentials ?? []).flatMap(({ sshPublicKey, userPassword }) => [
    sshPublicKey?.propagationMethod.qemuGuestAgent && sshPublicKey.source.secret?.secretName,
    userPassword?.propagationMethod.qemuGuestAgent && userPassword.source.secret?.secretName,
  ]);
  return [...new Set(names.filter((name): name is string => typeof name === 'string'))];
}

/** Pure: who shall have which keys and passwords. */
export function wantedCredentials({ spec }: VirtualMachineInstance, secrets: Secrets): Wanted {
  const keys = new Map<string, string[]>();
  const passwords = new Map<string, string>();
  for (const { sshPublicKey, userPassword } of spec.accessCredentials ?? []) {
    const found = sshPublicKey?.source.secret && secrets.get(sshPublicKey.source.secret.secretName);
    for (const user of (found && sshPublicKey?.propagationMethod.qemuGuestAgent?.users) || []) {
      keys.set(user, [...(keys.get(user) ?? []), ...[...(found?.values() ?? [])].flatMap(linesOf)]);
    }
    const given = userPassword?.propagationMethod.qemuGuestAgent && userPassword.source.secret;
    for (const [user, password] of (given && secrets.get(given.secretName)) || []) passwords.set(user, password.trim());
  }
  return { keys, passwords };
}

const linesOf = (text: string): string[] => text.split('\n').flatMap((line) => line.trim() || []);

async function readSecret(dir: string): Promise<Map<string, string>> {
  try {
    // Kubernetes keeps the real files in directories that start with "..".
    const names = (await readdir(dir)).filter((name) => !name.startsWith('..'));
    return new Map(await Promise.all(names.sort().map(async (name) => [name, await readFile(posix.join(dir, name), 'utf8')] as const)));
  } catch (err) {
    throw new KvError('NotReady', `the secret mounted at ${dir} cannot be read`, { cause: err });
  }
}

export class AccessCredentials {
  readonly #deps: Deps;
  #stop: AbortController | undefined;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** The agent came or went. */
  setAgent(isThere: boolean): void {
    this.#stop?.abort();
    this.#stop = undefined;
    const { record, ctx } = this.#deps;
    if (!isThere || record.vmi === undefined || agentSecrets(record.vmi).length === 0) return;
    this.#stop = new AbortController();
    this.#follow(record.vmi, this.#stop.signal).catch((err: unknown) =>
      ctx.log.error({ err }, 'Access credentials are no longer followed'),
    );
  }

  async #follow(vmi: VirtualMachineInstance, signal: AbortSignal): Promise<void> {
    const { ctx } = this.#deps;
    let [applied, appliedAt] = ['', 0];
    while (!signal.aborted) {
      try {
        const secrets = await this.#readAll(vmi);
        const print = createHash('sha256')
          .update(JSON.stringify([...secrets].map(([name, files]) => [name, [...files]])))
          .digest('hex');
        if (print !== applied || ctx.now() - appliedAt >= AGAIN_MS) {
          applied = '';
          await this.#apply(wantedCredentials(vmi, secrets));
          [applied, appliedAt] = [print, ctx.now()];
          await this.#report({ succeeded: true });
        }
      } catch (err) {
        ctx.log.info({ reason: messageOf(err) }, 'The access credentials were not put into the guest; trying again');
        await this.#report({ succeeded: false, message: messageOf(err) });
      }
      await sleep(ctx.clock, LOOK_MS, signal);
    }
  }

  async #readAll(vmi: VirtualMachineInstance): Promise<Secrets> {
    const { dirOf = accessCredentialDir } = this.#deps;
    return new Map(await Promise.all(agentSecrets(vmi).map(async (name) => [name, await readSecret(dirOf(name))] as const)));
  }

  async #apply({ keys, passwords }: Wanted): Promise<void> {
    for (const [user, lines] of keys) {
      await this.#setKeys(user, lines).catch((err: unknown) => {
        throw new KvError('NotReady', `the SSH keys of user ${user} were not set`, { cause: err });
      });
    }
    for (const [user, password] of passwords) {
      const args = { username: user, password: Buffer.from(password).toString('base64'), crypted: false };
      await this.#deps.agent.command({ execute: 'guest-set-user-password', arguments: args }).catch((err: unknown) => {
        throw new KvError('NotReady', `the password of user ${user} was not set`, { cause: err });
      });
    }
  }

  /** What the user had before goes: the secrets are the whole truth. */
  async #setKeys(user: string, keys: readonly string[]): Promise<void> {
    const { agent, files } = this.#deps;
    if (!agent.supports('guest-ssh-add-authorized-keys')) return files.writeAuthorizedKeys(user, keys);
    await agent.command({ execute: 'guest-ssh-add-authorized-keys', arguments: { username: user, keys, reset: true } });
  }

  async #report(outcome: NonNullable<VmRecord['accessCredentials']>): Promise<void> {
    const { record, reporter } = this.#deps;
    record.accessCredentials = outcome;
    await reporter.refresh();
  }
}
