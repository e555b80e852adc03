// Display and console as a user opens them: a VNC viewer's greeting, one console at a time, and what a stopped machine answers.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { expect, it } from 'vitest';
import { apply, Console, eventually, find, kubectl, NAMESPACE } from '../harness.js';
import { tinyVm } from '../manifests.js';
import { virt, virtCommand, virtRefusal, waitForStatus, waitRunning } from '../vm-waits.js';

const NAME = 'streams';
const GREETING_TIMEOUT_MS = 10_000;

/** The first bytes that a VNC server sends. */
async function greetingAt(port: number): Promise<string> {
  const viewer = connect({ host: '127.0.0.1', port });
  try {
    const [bytes] = (await once(viewer, 'data', { signal: AbortSignal.timeout(GREETING_TIMEOUT_MS) })) as [Buffer];
    return bytes.toString('latin1');
  } finally {
    viewer.destroy();
  }
}

export function streams(): void {
  it('gives each VNC viewer a greeting through `kubectl virt vnc --proxy-only`', async () => {
    await apply(tinyVm(NAME));
    await waitRunning(NAME);
    const { file, args, env } = await virtCommand('vnc', NAME, '--proxy-only');
    const proxy = spawn(file, args, { env, stdio: ['ignore', 'pipe', 'ignore'] });
    const ended = once(proxy, 'exit');
    try {
      const [line] = (await once(createInterface(proxy.stdout), 'line')) as [string];
      const { port } = JSON.parse(line) as { port: number };
      expect(await greetingAt(port)).toMatch(/^RFB 003\./);
      // The display is free again once a viewer has left.
      await eventually('the greeting for a second viewer', async () => (await greetingAt(port)).startsWith('RFB 003.'));
    } finally {
      proxy.kill('SIGTERM');
      await ended;
    }
  });

  it('hands the console to the newcomer and tells the one before', async () => {
    const first = await Console.open(NAME);
    await first.login();
    const second = await Console.open(NAME);
    await first.expect(/Disconnected: another connection to this device took over/);
    await second.login();
    expect(await second.run('uname -s')).toContain('Linux');
    await second.close();
    await first.close();
  });

  it('says how to open the console of a stopped machine', async () => {
    await virt('stop', NAME, '--force');
    await waitForStatus(NAME, 'Stopped');
    await eventually('the instance is gone', async () => (await find('vmi', NAME)) === undefined);
    expect(await virtRefusal('console', NAME)).toContain(`it is stopped; start it first: kubectl virt start ${NAME} -n ${NAMESPACE}`);
    expect(await virtRefusal('vnc', NAME, '--proxy-only')).toContain('it is stopped; start it first');
    expect(await virtRefusal('console', 'no-such-machine')).toContain('there is no such machine');
    await kubectl('delete', 'vm', NAME, '-n', NAMESPACE, '--timeout=60s');
  });
}
