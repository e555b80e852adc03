// Waiting for a VM to be in a state, and `kubectl virt` as a user types it.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { VirtualMachine, VirtualMachineInstance } from '../../src/api/index.js';
import { cluster, eventually, find, NAMESPACE, ROOT, type WaitOptions } from './harness.js';

const exec = promisify(execFile);

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

export async function virt(...args: string[]): Promise<string> {
  const { kubeconfig } = await cluster();
  const { stdout, stderr } = await exec(process.execPath, [join(ROOT, 'dist/bundle/kubectl-virt.js'), ...args, '-n', NAMESPACE], {
    env: { ...process.env, KUBECONFIG: kubeconfig },
  });
  return stdout + stderr;
}
