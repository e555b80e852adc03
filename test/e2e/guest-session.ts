// A guest's console for as long as a test needs it, and what any kind of guest is asked there.
import { expect } from 'vitest';
import type { VirtualMachineInstance } from '../../src/api/index.js';
import { Console, eventsOf, eventually, find, NAMESPACE } from './harness.js';

/** A guest with a whole system, emulated, beside others. */
export const BOOT_MS = 300_000;

export const phaseOf = async (name: string, namespace = NAMESPACE): Promise<string | undefined> =>
  (await find<VirtualMachineInstance>('vmi', name, namespace))?.status?.phase;

/** Everything a user would find about a VMI without looking at logs. */
export async function wordsOf(name: string, namespace = NAMESPACE): Promise<string> {
  const vmi = await find<VirtualMachineInstance>('vmi', name, namespace);
  const conditions = (vmi?.status?.conditions ?? []).map(({ message }) => message ?? '');
  return [...conditions, ...(await eventsOf('VirtualMachineInstance', name, namespace))].join('\n');
}

async function waitRunning(name: string, namespace: string): Promise<void> {
  await eventually(
    `VMI ${name} Running`,
    async () => {
      const vmi = await find<VirtualMachineInstance>('vmi', name, namespace);
      if (vmi?.status?.phase !== 'Running') throw new Error(`it is ${vmi?.status?.phase}: ${JSON.stringify(vmi?.status?.conditions)}`);
      return true;
    },
    { timeoutMs: BOOT_MS },
  );
}

/** Such a guest may take longer to its prompt than one login waits. */
async function login(console: Console): Promise<void> {
  const deadline = Date.now() + BOOT_MS;
  for (;;) {
    try {
      return await console.login();
    } catch (err) {
      if (Date.now() > deadline) throw err;
    }
  }
}

export async function inGuest<T>(name: string, work: (console: Console) => Promise<T>, namespace = NAMESPACE): Promise<T> {
  await waitRunning(name, namespace);
  const console = await Console.open(name, namespace);
  try {
    await login(console);
    return await work(console);
  } finally {
    await console.close();
  }
}

/** Of a guest made by fromKernel, whose user data greet and whose network data are empty. */
export async function expectConfigDrive(console: Console, hostname: string): Promise<void> {
  expect(await console.run('cat /proc/cmdline')).toContain('vol.marker=kernel-boot');
  await console.run('d=$(findfs LABEL=config-2)');
  await console.run('mount -t iso9660 -o ro $d /mnt');
  const at = '/mnt/openstack/latest';
  expect(await console.run(`cat ${at}/user_data`)).toContain('echo hi');
  expect(await console.run(`cat ${at}/network_data.json`)).toContain('{"links":[]}');
  const metadata = await console.run(`cat ${at}/meta_data.json`);
  expect(metadata).toContain('"public_keys":{"0":"ssh-ed25519 AAAA');
  expect(metadata).toContain(`"hostname":"${hostname}"`);
}
