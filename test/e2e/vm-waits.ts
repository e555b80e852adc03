// Waiting for a VM to be in a state, and `kubectl virt` as a user types it.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { VirtualMachine, VirtualMachineInstance } from '../../src/api/index.js';
import { cluster, eventually, find, NAMESPACE, ROOT, type WaitOptions } from './harness.js';

const exec = promisify(execFile);
/** A refusal comes at once: a command that waits for something has not refused. */
const REFUSAL_TIMEOUT_MS = 20_000;

export async function waitForStatus(name: string, status: string, options?: WaitOptions): Promise<VirtualMachine> {
  let last = '';
  return eventually(
    `VM ${name} ${status}`,
    async () => {
      const vm = await find<VirtualMachine>('vm', name);
      last = vm?.status?.printableStatus ?? 'absent';
      if (last !== status) throw new Error(`it is ${last}`);
      return vm;
    },
    options,
  );
}

export async function waitRunning(name: string, options?: WaitOptions): Promise<VirtualMachineInstance> {
  await waitForStatus(name, 'Running', options);
  return eventually(`VMI ${name} Running with an address`, async () => {
    const vmi = await find<VirtualMachineInstance>('vmi', name);
    return vmi?.status?.phase === 'Running' && vmi.status.interfaces?.[0]?.ipAddress ? vmi : undefined;
  });
}

/** The command line of `kubectl virt`, for spawning. */
export async function virtCommand(...args: string[]): Promise<{ file: string; args: string[]; env: NodeJS.ProcessEnv }> {
  const { kubeconfig } = await cluster();
  return {
    file: process.execPath,
    args: [join(ROOT, 'dist/bundle/kubectl-virt.js'), ...args, '-n', NAMESPACE],
    env: { ...process.env, KUBECONFIG: kubeconfig },
  };
}

export async function virt(...args: string[]): Promise<string> {
  const command = await virtCommand(...args);
  const { stdout, stderr } = await exec(command.file, command.args, { env: command.env });
  return stdout + stderr;
}

/** What `kubectl virt` says when it fails; fails when it succeeds. */
export async function virtRefusal(...args: string[]): Promise<string> {
  const command = await virtCommand(...args);
  try {
    await exec(command.file, command.args, { env: command.env, timeout: REFUSAL_TIMEOUT_MS });
  } catch (err) {
    return (err as { stderr?: string }).stderr ?? String(err);
  }
  throw new Error(`kubectl virt ${args.join(' ')} succeeded`);
}
