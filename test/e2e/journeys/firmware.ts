// What the emulated hardware remembers and refuses: UEFI variables and a TPM that survive a restart of the VM in a claim of its own, Secure Boot that
// boots nothing unsigned, and a guest that wants huge pages where no node has any.
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { PersistentVolumeClaim, VirtualMachineInstance } from '../../../src/api/index.js';
import { hugePagesVmi, rememberingVm, secureBootVmi } from '../guest-objects.js';
import { apply, Console, eventually, find, kubectl, list, NAMESPACE } from '../harness.js';
import { conditionOf, serialLogOf, waitPhase } from '../verbs.js';
import { virt } from '../vm-waits.js';

const NAME = 'firmware';
const GUESTS = ['firmware-secure', 'firmware-huge'];
const BOOT_MS = 150_000;
const VARIABLE = '/sys/firmware/efi/efivars/Remembered-6b767473-0000-0000-0000-000000000001';
/** NV index in the owner's hierarchy, four bytes, without a password. */
const NV_INDEX = [0x01, 0x50, 0x00, 0x01];

const octal = (bytes: readonly number[]): string => bytes.map((byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('');
const u16 = (value: number): number[] => [value >> 8, value & 255];
const u32 = (value: number): number[] => [...u16(value >>> 16), ...u16(value & 65535)];
const OWNER = u32(0x4000_0001);
/** An empty password for one handle. */
const AUTH = [...u32(9), ...u32(0x4000_0009), ...u16(0), 0, ...u16(0)];

/** A TPM 2 command with one session. */
const command = (code: number, ...body: number[]): number[] => [...u16(0x8002), ...u32(10 + body.length), ...u32(code), ...body];

const defineSpace = (): number[] => {
  // Owner and its password may read and write; no policy.
  const area = [...NV_INDEX, ...u16(0x000b), ...u32(0x0006_0006), ...u16(0), ...u16(4)];
  return command(0x12a, ...OWNER, ...AUTH, ...u16(0), ...u16(area.length), ...area);
};
const write = (text: string): number[] =>
  command(0x137, ...OWNER, ...NV_INDEX, ...AUTH, ...u16(text.length), ...Buffer.from(text), ...u16(0));
const read = (): number[] => command(0x14e, ...OWNER, ...NV_INDEX, ...AUTH, ...u16(4), ...u16(0));

/** The TPM's answer, as text. */
async function tpm(console: Console, bytes: readonly number[]): Promise<string> {
  await console.run(`printf '${octal(bytes)}' > /tmp/c`);
  return console.run('exec 3<>/dev/tpm0; cat /tmp/c >&3; dd bs=256 count=1 <&3 2>/dev/null | hexdump -C; exec 3>&-');
}

async function boot(): Promise<Console> {
  await waitPhase(NAME, 'Running', { timeoutMs: BOOT_MS });
  const console = await Console.open(NAME);
  await console.login();
  // Long lines stay whole.
  await console.run('stty cols 400');
  await console.run('modprobe efivarfs; mount -t efivarfs none /sys/firmware/efi/efivars');
  return console;
}

const stateClaims = (): Promise<PersistentVolumeClaim[]> =>
  list<PersistentVolumeClaim>('pvc', '-n', NAMESPACE, '-l', `persistent-state-for=${NAME}`);

export function firmware(): void {
  beforeAll(() => apply(rememberingVm(NAME), secureBootVmi('firmware-secure'), hugePagesVmi('firmware-huge')));

  afterAll(async () => {
    await kubectl('delete', 'vm', NAME, '-n', NAMESPACE, '--ignore-not-found', '--timeout=90s');
    await kubectl('delete', 'vmi', ...GUESTS, '-n', NAMESPACE, '--ignore-not-found', '--timeout=90s');
  });

  it('says that no node has the huge pages that a guest wants', async () => {
    const message = await eventually('the reason', async () => (await conditionOf('firmware-huge', 'PodScheduled'))?.message);
    expect(message).toContain('Insufficient hugepages-2Mi');
    expect((await find<VirtualMachineInstance>('vmi', 'firmware-huge'))?.status?.phase).toBe('Scheduling');
  });

  it('keeps UEFI variables and the TPM of a VM over a restart', async () => {
    let console = await boot();
    // Attributes: kept, in boot services, at run time.
    expect(await console.run(`printf '\\007\\000\\000\\000kept' > ${VARIABLE}`)).toContain('rc=0.');
    expect(await tpm(console, defineSpace())).toMatch(/00 00 00 00 {2}/);
    await tpm(console, write('word'));
    expect(await tpm(console, read())).toContain('word');
    await console.close();

    const before = await stateClaims();
    const { metadata } = await waitPhase(NAME, 'Running');
    await virt('restart', NAME);
    await eventually('another instance', async () => {
      const uid = (await find<VirtualMachineInstance>('vmi', NAME))?.metadata.uid;
      return uid !== undefined && uid !== metadata.uid;
    });
    console = await boot();
    expect(await console.run(`tail -c 4 ${VARIABLE}`)).toContain('kept');
    expect(await tpm(console, read())).toContain('word');
    await console.close();
    expect((await stateClaims()).map((claim) => claim.metadata.uid)).toEqual(before.map((claim) => claim.metadata.uid));
  });

  it('shows the claim with their state among the volumes, and removes it with the VM', async () => {
    const [claim] = await stateClaims();
    const { status } = await waitPhase(NAME, 'Running');
    expect(status?.volumeStatus?.map(({ name }) => name)).toContain(claim?.metadata.name);
    await kubectl('delete', 'vm', NAME, '-n', NAMESPACE, '--timeout=90s');
    await eventually('the claim is gone', async () => (await stateClaims()).length === 0);
  });

  it('boots nothing unsigned with Secure Boot', async () => {
    await waitPhase('firmware-secure', 'Running', { timeoutMs: BOOT_MS });
    const said = await eventually(
      'the firmware’s refusal',
      async () => /Access Denied|Security Violation/.exec(await serialLogOf('firmware-secure'))?.[0],
      { timeoutMs: BOOT_MS },
    );
    expect(said).toBeDefined();
  });
}
