// The small programs of the launcher pod: their command lines, what they ask of the launcher, how they end.
import { describe, expect, it } from 'vitest';
import type { DomainReport } from '../../api/domain-report.js';
import { KvError } from '../../base/errors.js';
import type { CmdApi } from '../../rpc/index.js';
import { type FreezeRequest, parseFreezer, runFreezer } from './freezer.js';
import { parseProbe, probeDeadlineMs, runProbe } from './probe.js';

const SOCKET = '/var/run/kubevirt/sockets/launcher-sock';
const words = (line: string): string[] => line.split(' ').filter(Boolean);

describe('the command line of virt-probe', () => {
  const base = { socket: SOCKET, domainName: 'ns_vm1', timeoutSeconds: 5 };

  it.each([
    ['a ping, as the pod template writes it', '--domainName ns_vm1 --timeoutSeconds 5 --guestAgentPing', base],
    ['a program', '--domainName ns_vm1 --timeoutSeconds 5 --command cat -- /x', { ...base, program: { command: 'cat', args: ['/x'] } }],
    [
      'arguments that look like flags',
      '--domainName ns_vm1 --timeoutSeconds 5 --command sh -- -c --guestAgentPing=true -- x',
      { ...base, program: { command: 'sh', args: ['-c', '--guestAgentPing=true', '--', 'x'] } },
    ],
    ['no arguments', '--domainName ns_vm1 --timeoutSeconds 5 --command ls --', { ...base, program: { command: 'ls', args: [] } }],
    ['the other spelling', '--domainName=ns_vm1 --timeoutSeconds=5 --guestAgentPing=true --socket=/s', { ...base, socket: '/s' }],
    ['one second by default', '--domainName ns_vm1 --guestAgentPing', { ...base, timeoutSeconds: 1 }],
  ])('%s', (_, line, value) => {
    expect(parseProbe(words(line))).toEqual({ ok: true, value });
  });

  it.each([
    ['an unknown flag', '--domainName d --pong', '--pong'],
    ['no domain', '--guestAgentPing', '--domainName is required'],
    ['nothing to do', '--domainName d', 'nothing to probe'],
    ['a switch turned off', '--domainName d --guestAgentPing=false', 'nothing to probe'],
    ['no time', '--domainName d --guestAgentPing --timeoutSeconds 0', '--timeoutSeconds: "0" is no whole number from 1'],
    ['no number', '--domainName d --guestAgentPing --timeoutSeconds 1s', '"1s" is no whole number'],
  ])('refuses %s', (_, line, error) => {
    expect(parseProbe(words(line))).toEqual({ ok: false, error: expect.stringContaining(error) });
  });
});

describe('virt-probe', () => {
  const ping = { socket: SOCKET, domainName: 'ns_vm1', timeoutSeconds: 3 };
  const program = { ...ping, program: { command: 'cat', args: ['/x'] } };
  const answering = (exec: CmdApi['exec'], guestPing: CmdApi['guestPing'] = async () => undefined) => ({ exec, guestPing });
  const ends = (exitCode: number, stdOut = '') => answering(async () => ({ exitCode, stdOut }));
  const failing = async (): Promise<never> => {
    throw new KvError('NotReady', 'no guest agent answers in VM vm1');
  };

  it('gives up before the kubelet does', () => {
    expect(probeDeadlineMs(ping)).toBe(3500);
  });

  it('hands program, arguments and timeout on', async () => {
    const seen: unknown[] = [];
    await runProbe(
      answering(async (command) => {
        seen.push(command);
        return { exitCode: 0, stdOut: '' };
      }),
      program,
    );
    expect(seen).toEqual([{ domainName: 'ns_vm1', timeoutSeconds: 3, command: 'cat', args: ['/x'] }]);
  });

  it.each([
    ['ends well', ends(0, 'ready'), { exitCode: 0, stdout: 'ready\n' }],
    ['ends well without a word', ends(0), { exitCode: 0, stdout: '' }],
    ['fails', ends(3, 'not yet\n'), { exitCode: 3, stdout: 'not yet\n', stderr: 'cat ended with code 3 in the guest' }],
    ['fails with a code no process can end with', ends(-1), { exitCode: 1, stdout: '', stderr: 'cat ended with code -1 in the guest' }],
    ['fails with 256, which would look like 0', ends(256), { exitCode: 1, stdout: '', stderr: 'cat ended with code 256 in the guest' }],
    ['cannot be run', answering(failing), { exitCode: 1, stderr: 'cat could not be run in the guest: no guest agent answers in VM vm1' }],
  ])('a program that %s', async (_, client, outcome) => {
    expect(await runProbe(client, program)).toEqual(outcome);
  });

  it('a ping, answered and not', async () => {
    expect(await runProbe(ends(9), ping)).toEqual({ exitCode: 0 });
    const { exitCode, stderr } = await runProbe(
      answering(async () => ({ exitCode: 0, stdOut: '' }), failing),
      ping,
    );
    expect({ exitCode, stderr }).toEqual({
      exitCode: 1,
      stderr: 'the ping of the guest agent failed: no guest agent answers in VM vm1',
    });
  });
});

describe('the command line of virt-freezer', () => {
  const base = { socket: SOCKET, name: 'vm1', namespace: 'ns', unfreezeTimeoutSeconds: 300 };

  it.each([
    ['freeze, as the annotation says', '--freeze --name vm1 --namespace ns', { ...base, verb: 'freeze' }],
    ['unfreeze, as the annotation says', '--unfreeze --name vm1 --namespace ns', { ...base, verb: 'unfreeze' }],
    [
      'a time of its own',
      '--freeze --name=vm1 --namespace=ns --unfreezeTimeoutSeconds=0',
      { ...base, verb: 'freeze', unfreezeTimeoutSeconds: 0 },
    ],
  ])('%s', (_, line, value) => {
    expect(parseFreezer(words(line))).toEqual({ ok: true, value });
  });

  it.each([
    ['neither', '--name vm1 --namespace ns', 'either --freeze or --unfreeze'],
    ['both', '--freeze --unfreeze --name vm1 --namespace ns', 'either --freeze or --unfreeze'],
    ['no name', '--freeze --namespace ns', '--name and --namespace'],
    ['a negative time', '--freeze --name vm1 --namespace ns --unfreezeTimeoutSeconds=-1', '"-1" is no whole number from 0'],
  ])('refuses %s', (_, line, error) => {
    expect(parseFreezer(words(line))).toEqual({ ok: false, error: expect.stringContaining(error) });
  });
});

describe('virt-freezer', () => {
  const running = (patch: { status?: string; agentConnected?: boolean; osInfo?: object } = {}): DomainReport =>
    ({
      metadata: { name: 'vm1', namespace: 'ns', uid: 'u1' },
      spec: { disks: [], interfaces: [], agentConnected: patch.agentConnected ?? true },
      status: { status: patch.status ?? 'Running', reason: 'Unknown', ...(patch.osInfo ? { osInfo: patch.osInfo } : {}) },
    }) as DomainReport;
  const request = (verb: FreezeRequest['verb']): FreezeRequest => ({
    socket: SOCKET,
    verb,
    name: 'vm1',
    namespace: 'ns',
    unfreezeTimeoutSeconds: 120,
  });

  function launcher(report: DomainReport | undefined, failure?: string) {
    const calls: unknown[] = [];
    const note = async (...args: unknown[]): Promise<void> => {
      calls.push(args);
      if (failure !== undefined) throw new KvError('NotReady', failure);
    };
    return {
      calls,
      client: {
        getDomain: async () => report,
        freezeVirtualMachine: (vmi, seconds) => note('freeze', vmi.metadata, seconds),
        unfreezeVirtualMachine: (vmi) => note('unfreeze', vmi.metadata),
      } satisfies Pick<CmdApi, 'getDomain' | 'freezeVirtualMachine' | 'unfreezeVirtualMachine'>,
    };
  }

  it('freezes with the time after which the launcher thaws, and thaws', async () => {
    const { client, calls } = launcher(running());
    expect(await runFreezer(client, request('freeze'))).toEqual({ exitCode: 0, stderr: 'VM ns/vm1: freeze done' });
    expect(await runFreezer(client, request('unfreeze'))).toEqual({ exitCode: 0, stderr: 'VM ns/vm1: unfreeze done' });
    const metadata = { name: 'vm1', namespace: 'ns' };
    expect(calls).toEqual([
      ['freeze', metadata, 120],
      ['unfreeze', metadata],
    ]);
  });

  it.each([
    ['has no domain', undefined, 'it does not run'],
    ['is paused', running({ status: 'Paused' }), 'it does not run'],
    ['has no agent', running({ agentConnected: false }), 'no guest agent is connected'],
  ])('lets the backup go on when the VM %s', async (_, report, reason) => {
    const { client, calls } = launcher(report);
    for (const verb of ['freeze', 'unfreeze'] as const) {
      const outcome = await runFreezer(client, request(verb));
      expect(outcome).toEqual({ exitCode: 0, stderr: expect.stringContaining(`was not asked to ${verb}: ${reason}`) });
    }
    expect(calls).toEqual([]);
  });

  it.each([
    ['Linux', { id: 'debian', name: 'Debian GNU/Linux' }, 'check the guest agent in the guest'],
    ['Windows', { id: 'mswindows', name: 'Microsoft Windows' }, 'VSS'],
  ])('fails when a running guest of %s was not frozen', async (_, osInfo, hint) => {
    const { client } = launcher(running({ osInfo }), 'the agent hangs');
    const { exitCode, stderr } = await runFreezer(client, request('freeze'));
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^VM ns\/vm1: freeze failed: the agent hangs; /);
    expect(stderr).toContain(hint);
  });

  it('fails when the launcher does not answer', async () => {
    const { client } = launcher(running());
    const getDomain = async (): Promise<never> => {
      throw new KvError('LauncherUnreachable', 'GetDomain: nobody answers');
    };
    expect(await runFreezer({ ...client, getDomain }, request('freeze'))).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('nobody answers'),
    });
  });
});
