// From a VMI to a domain that can be defined: makes its disks, reads its network, gathers the facts and asks the converter. The converter
// runs twice, because cache and I/O modes depend on files whose paths only the domain tells.
import type { DomainReport } from '../../api/domain-report.js';
import type { VirtualMachineInstance } from '../../api/index.js';
import { allOrFirstError } from '../../base/all.js';
import type { Ctx } from '../../base/context.js';
import { atStep } from '../../base/steps.js';
import {
  buildDomain,
  type DomainFacts,
  type DomainModel,
  describeDomain,
  renderDomain,
  reportDevices,
} from '../../core/converter/index.js';
import type { LauncherInterface } from '../../core/network/caches.js';
import type { Run } from '../../linux/exec.js';
import type { VmiOptions } from '../../rpc/index.js';
import { growImages } from '../grow-disks.js';
import type { Hooks } from '../hooks/hooks.js';
import { placeContainerDisks } from './container-disks.js';
import { makeCloudInit, makeDisks } from './disks.js';
import { type FactSources, gatherFacts, translationCacheMiB } from './facts.js';
import { writeIgnition } from './ignition.js';
import { linksOf, readInterfaces, requireLinks } from './network.js';
import { findBlockVolumes, probeDisks, readIsoSizes, withoutAwaited } from './probe.js';

export interface PreparedDomain {
  readonly domain: DomainModel;
  readonly xml: string;
  readonly type: string;
  readonly memoryBytes: number;
  readonly devices: Pick<DomainReport['spec'], 'disks' | 'interfaces'>;
  readonly interfaces: readonly LauncherInterface[];
  /** Disk → bytes, of images made here; a guest that moves needs as much room where it goes. */
  readonly isoSizes?: Readonly<Record<string, number>>;
}

async function diskFacts(
  ctx: Ctx,
  run: Run,
  vmi: VirtualMachineInstance,
): Promise<Pick<DomainFacts, 'containerDiskFormats' | 'blockVolumes'>> {
  const [containerDiskFormats, blockVolumes] = await allOrFirstError([placeContainerDisks(vmi), findBlockVolumes(vmi)]);
  const facts = { containerDiskFormats, blockVolumes };
  await makeDisks(ctx, run, vmi, facts);
  return facts;
}

/**
 * A guest that runs has passed; of what is added to it libvirt judges each device, so that a wrong one does not keep the others away. Its buses are
 * there: what comes later goes to a free port.
 */
function judging(facts: DomainFacts, { isRunning }: PrepareTools): DomainFacts {
  if (isRunning !== true) return facts;
  const { libvirtVersion: _version, pciNodes: _nodes, ...rest } = facts;
  return rest;
}

async function convert(ctx: Ctx, tools: PrepareTools, vmi: VirtualMachineInstance, facts: DomainFacts): Promise<DomainModel> {
  const draft = buildDomain(vmi, facts);
  const { disks, memoryBytes } = describeDomain(draft);
  if (tools.isRunning !== true && tools.isArriving !== true) await growImages(ctx, tools.run, vmi, disks);
  const probed = await probeDisks(vmi, await withoutAwaited(disks));
  return buildDomain(vmi, { ...facts, ...probed, translationCacheMiB: translationCacheMiB(BigInt(memoryBytes)) });
}

export interface PrepareTools {
  readonly run: Run;
  readonly sources: FactSources;
  /** The guest runs: an interface whose network is not there yet is none yet, and does not keep the others from being changed. */
  readonly isRunning?: boolean;
  /** The guest runs elsewhere and is to come here: images that both pods see are its, and are not touched. */
  readonly isArriving?: boolean;
  readonly hooks?: Hooks;
}

/** Safe to repeat: what exists is kept. */
export async function prepareDomain(
  ctx: Ctx,
  tools: PrepareTools,
  vmi: VirtualMachineInstance,
  sent: VmiOptions | undefined,
): Promise<PreparedDomain> {
  atStep('preparing disks and network');
  const [facts, disks, interfaces] = await allOrFirstError([
    gatherFacts(vmi, tools.sources, sent),
    diskFacts(ctx, tools.run, vmi),
    readInterfaces(),
    // A running guest has its own: a secret that has changed since concerns the next one.
    tools.isRunning === true ? undefined : makeCloudInit(ctx, tools.run, vmi, tools.hooks),
    tools.isRunning === true ? undefined : writeIgnition(vmi),
  ]);
  const links = linksOf(interfaces);
  if (tools.isRunning !== true) requireLinks(vmi, links);
  // What the node agent made a tap for is attached to it, whether or not it says so again.
  const taps = Object.fromEntries(Object.keys(links).map((name) => [name, 'tap']));
  const interfaceAttachments = { ...taps, ...facts.interfaceAttachments };
  const domain = await convert(ctx, tools, vmi, { ...judging(facts, tools), ...disks, links, interfaceAttachments });
  const { type, memoryBytes, disks: described } = describeDomain(domain);
  const isoSizes = await readIsoSizes(described);
  return { domain, xml: renderDomain(domain), type, memoryBytes, devices: reportDevices(domain), interfaces, isoSizes };
}
