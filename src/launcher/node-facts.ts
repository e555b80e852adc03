// What libvirt says about the node: the domain capabilities of the machine type guests get, the host's capabilities, and the features of the
// CPU model guests would see. Written as files in libvirt's own XML, which the node agent turns into labels. Run once by the node labeller.
import { constants } from 'node:fs';
import { mkdir, open, rename, writeFile } from 'node:fs/promises';
import { posix } from 'node:path';
import type { Ctx } from '../base/context.js';
import { KvError, messageOf } from '../base/errors.js';
import { emulatedGuestsFile } from '../core/node-labels/index.js';
import type { CapabilitiesQuery, Connection } from '../libvirt/index.js';

export const LABELLER_FILES = {
  domainCapabilities: 'virsh_domcapabilities.xml',
  capabilities: 'capabilities.xml',
  supportedFeatures: 'supported_features.xml',
} as const;

const EMULATION = 'qemu';

/** Whose guests a node can emulate besides its own, if the image has the emulator. */
const EMULATED: Readonly<Record<string, string>> = { x64: 'arm64', arm64: 'x64' };

interface Machine {
  readonly arch: string;
  readonly machine: string;
  /** libvirt can list a model's features only here. */
  readonly hasCpuFeatures: boolean;
}

const MACHINES: Readonly<Record<string, Machine>> = {
  x64: { arch: 'x86_64', machine: 'q35', hasCpuFeatures: true },
  arm64: { arch: 'aarch64', machine: 'virt', hasCpuFeatures: false },
  s390x: { arch: 's390x', machine: 's390-ccw-virtio', hasCpuFeatures: true },
  ppc64: { arch: 'ppc64le', machine: 'pseries', hasCpuFeatures: true },
};

function machineOfHost(): Machine {
  const machine = MACHINES[process.arch];
  if (!machine) throw new KvError('Terminal', `no guests can run on a node of architecture ${process.arch}`);
  return machine;
}

/** The preferred type, if its device can be opened, else emulation. */
export async function usableVirtType(preferred: string, device: string): Promise<string> {
  if (preferred === EMULATION) return EMULATION;
  try {
    const file = await open(device, constants.O_RDWR);
    await file.close();
    return preferred;
  } catch {
    // Absent or refused: guests of this node are emulated.
    return EMULATION;
  }
}

/** The host-model CPU of a domain capabilities document as a CPU document, if the hypervisor offers one. */
export function hostModelCpu(domainCapabilities: string): string | undefined {
  const mode = /<mode name='host-model' supported='yes'>([\s\S]*?)<\/mode>/.exec(domainCapabilities)?.[1];
  return mode === undefined ? undefined : `<cpu>${mode}</cpu>`;
}

async function features(ctx: Ctx, conn: Connection, domcaps: string, query: CapabilitiesQuery): Promise<string | undefined> {
  const cpu = hostModelCpu(domcaps);
  if (cpu === undefined) return undefined;
  try {
    return await conn.baselineCpu([cpu], { ...query, features: true });
  } catch (err) {
    // Without it the node gets no cpu-feature labels; everything else works.
    ctx.log.warn({ reason: messageOf(err) }, "Cannot list the features of the node's CPU model");
    return undefined;
  }
}

/** What libvirt says about emulated guests of another architecture, if it has an emulator for them. */
async function otherArchitecture(ctx: Ctx, conn: Connection): Promise<{ readonly name: string; readonly xml: string } | undefined> {
  const other = MACHINES[EMULATED[process.arch] ?? ''];
  if (!other) return undefined;
  const { arch, machine } = other;
  try {
    return { name: emulatedGuestsFile(arch), xml: await conn.domainCapabilities({ arch, machine, virtType: EMULATION }) };
  } catch (err) {
    ctx.log.info({ arch, reason: messageOf(err) }, 'Guests of another architecture cannot be emulated on this node');
    return undefined;
  }
}

async function writeWhole(dir: string, name: string, content: string): Promise<void> {
  const path = posix.join(dir, name);
  await writeFile(`${path}.staging`, content);
  await rename(`${path}.staging`, path);
}

export async function writeNodeFacts(ctx: Ctx, conn: Connection, dir: string, virtType: string): Promise<void> {
  const machine = machineOfHost();
  const query = { arch: machine.arch, machine: machine.machine, virtType };
  const domcaps = await conn.domainCapabilities(query);
  const supported = machine.hasCpuFeatures ? await features(ctx, conn, domcaps, query) : undefined;
  await mkdir(dir, { recursive: true });
  await writeWhole(dir, LABELLER_FILES.capabilities, await conn.capabilities());
  if (supported !== undefined) await writeWhole(dir, LABELLER_FILES.supportedFeatures, supported);
  const other = await otherArchitecture(ctx, conn);
  if (other) await writeWhole(dir, other.name, other.xml);
  // Last: a reader that finds it finds the others.
  await writeWhole(dir, LABELLER_FILES.domainCapabilities, domcaps);
  ctx.log.info({ dir, virtType, ...machine }, 'Wrote what libvirt says about the node');
}
