// Keys and passwords on their way into the guest: who gets what, when it is done again, what is reported.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { scratchDir } from '../../test/fakes/scratch.js';
import type { VirtualMachineInstance } from '../api/index.js';
import type { Clock } from '../base/clock.js';
import { makeCtx } from '../base/context.js';
import { KvError } from '../base/errors.js';
import { silentLogger } from '../base/logger.js';
import { AccessCredentials, agentSecrets, wantedCredentials } from './access-credentials.js';
import type { AgentCommand } from './agent-poller.js';
import { accountOf, GuestFiles } from './guest-files.js';
import { newRecord } from './report.js';

const vmi = (): VirtualMachineInstance => ({
  metadata: { name: 'vm1' },
  spec: {
    domain: { devices: {} },
    accessCredentials: [
      { sshPublicKey: { source: { secret: { secretName: 'keys' } }, propagationMethod: { qemuGuestAgent: { users: ['ann', 'bob'] } } } },
      { sshPublicKey: { source: { secret: { secretName: 'more' } }, propagationMethod: { qemuGuestAgent: { users: ['bob'] } } } },
      { sshPublicKey: { source: { secret: { secretName: 'boot' } }, propagationMethod: { noCloud: {} } } },
      { userPassword: { source: { secret: { secretName: 'words' } }, propagationMethod: { qemuGuestAgent: {} } } },
    ],
  },
});

describe('wantedCredentials', () => {
  it('gathers keys by user from all secrets, and passwords by file', () => {
    expect(agentSecrets(vmi())).toEqual(['keys', 'more', 'words']);
    const secrets = new Map([
      ['keys', new Map([['a', 'ssh-ed25519 A\n\nssh-ed25519 B \n']])],
      ['more', new Map([['b', 'ssh-rsa C']])],
      ['words', new Map([['ann', 'secret\n']])],
    ]);
    const { keys, passwords } = wantedCredentials(vmi(), secrets);
    expect([...keys]).toEqual([
      ['ann', ['ssh-ed25519 A', 'ssh-ed25519 B']],
      ['bob', ['ssh-ed25519 A', 'ssh-ed25519 B', 'ssh-rsa C']],
    ]);
    expect([...passwords]).toEqual([['ann', 'secret']]);
  });
});

describe('AccessCredentials', () => {
  let dir: string;
  let now = 0;
  let wake: () => void = () => undefined;
  let asleep = Promise.withResolvers<void>();
  let sent: AgentCommand[];
  let failure: Error | undefined;
  let isNew: boolean;
  let credentials: AccessCredentials;
  const record = newRecord({ name: 'vm1', namespace: 'ns', uid: 'u1' });
  /** One timer, fired by hand. */
  const clock: Clock = {
    now: () => now,
    after: (_, fn) => {
      wake = fn;
      asleep.resolve();
      return () => undefined;
    },
  };
  /** Until it sleeps until its next look. */
  const settle = (): Promise<void> => asleep.promise;
  const look = async (ms: number): Promise<void> => {
    now += ms;
    asleep = Promise.withResolvers<void>();
    wake();
    await settle();
  };

  beforeEach(async () => {
    dir = scratchDir();
    for (const [secret, file, text] of [
      ['keys', 'a', 'ssh-ed25519 A'],
      ['more', 'b', 'ssh-rsa C'],
      ['words', 'ann', 'secret'],
    ] as const) {
      await mkdir(join(dir, secret));
      await writeFile(join(dir, secret, file), text);
    }
    asleep = Promise.withResolvers<void>();
    sent = [];
    failure = undefined;
    isNew = true;
    record.vmi = vmi();
    delete record.accessCredentials;
    const agent = {
      supports: () => isNew,
      command: async (command: AgentCommand) => {
        if (failure) throw failure;
        sent.push(command);
        return command.execute === 'guest-file-open' ? 3 : {};
      },
    };
    const guest = {
      exec: async ({ command }: { command: string }) => ({
        exitCode: 0,
        stdOut: command === 'getent' ? 'ann:x:5:6:A:/home/ann:/bin/sh\n' : '',
      }),
    };
    credentials = new AccessCredentials({
      ctx: makeCtx(new AbortController().signal, silentLogger, clock),
      agent,
      files: new GuestFiles({ agent, guest, domain: 'ns_vm1' }),
      record,
      reporter: { refresh: async () => undefined },
      dirOf: (secret) => join(dir, secret),
    });
  });
  afterEach(async () => {
    credentials.setAgent(false);
  });

  it('sets keys and passwords when the agent comes, and says so', async () => {
    credentials.setAgent(true);
    await settle();
    expect(sent).toEqual([
      { execute: 'guest-ssh-add-authorized-keys', arguments: { username: 'ann', keys: ['ssh-ed25519 A'], reset: true } },
      { execute: 'guest-ssh-add-authorized-keys', arguments: { username: 'bob', keys: ['ssh-ed25519 A', 'ssh-rsa C'], reset: true } },
      {
        execute: 'guest-set-user-password',
        arguments: { username: 'ann', password: Buffer.from('secret').toString('base64'), crypted: false },
      },
    ]);
    expect(record.accessCredentials).toEqual({ succeeded: true });
  });

  it('does it again when a secret changed, and after five minutes, and not in between', async () => {
    credentials.setAgent(true);
    await settle();
    await look(15_000);
    expect(sent).toHaveLength(3);
    await writeFile(join(dir, 'keys', 'a'), 'ssh-ed25519 NEW');
    await look(15_000);
    expect(sent).toHaveLength(6);
    await look(300_000);
    expect(sent).toHaveLength(9);
  });

  it('says what failed and tries again', async () => {
    failure = new KvError('Libvirt', 'no such user');
    credentials.setAgent(true);
    await settle();
    expect(record.accessCredentials).toEqual({ succeeded: false, message: 'the SSH keys of user ann were not set: no such user' });
    failure = undefined;
    await look(15_000);
    expect(record.accessCredentials).toEqual({ succeeded: true });
  });

  it('writes the file itself where the agent knows no keys', async () => {
    isNew = false;
    credentials.setAgent(true);
    await settle();
    expect(sent.slice(0, 3)).toEqual([
      { execute: 'guest-file-open', arguments: { path: '/home/ann/.ssh/authorized_keys', mode: 'w' } },
      { execute: 'guest-file-write', arguments: { handle: 3, 'buf-b64': Buffer.from('ssh-ed25519 A\n').toString('base64') } },
      { execute: 'guest-file-close', arguments: { handle: 3 } },
    ]);
  });

  it('reads a line of the user database', () => {
    expect(accountOf('ann:x:5:6:Ann:/home/ann:/bin/sh')).toEqual({ home: '/home/ann', owner: '5:6' });
    expect(accountOf('no such user')).toBeUndefined();
  });
});
