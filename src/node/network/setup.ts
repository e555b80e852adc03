// Phase 1 of a VMI's networks: reads the launcher's network namespace, asks core/network for the plan and carries it out between two
// journal entries. A failure, or a crash, between them leaves the namespace half done: that is critical, the VMI fails. Called by the
// agent before it starts a VM; never called for a running guest's finished networks with any effect.
import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { open, unlink } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import type { VirtualMachineInstance } from '../../api/index.js';
import { sleep } from '../../base/clock.js';
import type { Ctx } from '../../base/context.js';
import { hasCode, KvError, messageOf } from '../../base/errors.js';
import { type LauncherInterface, launcherInterfacePath, type PodInterfaceCache } from '../../core/network/caches.js';
import type { PodNamespace } from '../../core/network/link-status.js';
import { type PodNetworkPlan, planPodNetwork } from '../../core/network/plan.js';
import { ROUTER_SOCKETS } from '../../core/storage/paths.js';
import { applyIpBatch, type Link, type NetState, readNetState } from '../../linux/ip.js';
import { type NetNs, netNsOfPid, writeSysctls } from '../../linux/netns.js';
import { applyNft } from '../../linux/nft.js';
import { handOverRouterSocket } from '../../linux/router-socket.js';
import { withBeneath } from '../../linux/safe-path.js';
import { ipBatch, withMacs } from './ip-batch.js';
import { inState, type NetworkJournal } from './journal.js';
import { type NetworkSettings, networkRequest } from './request.js';

/** Where a launcher lives, as the node sees it. */
export interface NetworkTarget {
  readonly netNs: NetNs;
  /** The root directory of the launcher's container. */
  readonly root: string;
  /** uid and gid of the launcher. */
  readonly ownerId: number;
  /** Gives the launcher the socket on which it advertises itself as the router behind a bridge. */
  readonly handOverRouter: (bridge: string) => Promise<void>;
}

export function networkTargetOf(launcher: { readonly pid: number; readonly uid: number }): NetworkTarget {
  const netNs = netNsOfPid(launcher.pid);
  const root = `/proc/${launcher.pid}/root`;
  return {
    netNs,
    root,
    ownerId: launcher.uid,
    handOverRouter: (bridge) => withBeneath(root, ROUTER_SOCKETS, ({ path }) => handOverRouterSocket(netNs, bridge, path)),
  };
}

export interface NetworkSetup {
  /** Sets up what is pending; returns the addresses of the pod by network. */
  ensure(
    ctx: Ctx,
    vmi: VirtualMachineInstance,
    target: NetworkTarget,
    settings: NetworkSettings,
  ): Promise<ReadonlyMap<string, PodInterfaceCache>>;
}

export function createNetworkSetup(journal: NetworkJournal): NetworkSetup {
  return {
    async ensure(ctx, vmi, target, settings) {
      const uid = vmi.metadata.uid ?? '';
      const entries = await journal.read(uid);
      if (isDone(vmi, entries)) return entries;
      const now = await readNetState(ctx, target.netNs);
      const plan = planPodNetwork(networkRequest(vmi, toPodNamespace(now), entries, { ...settings, ownerId: target.ownerId }));
      if (plan.configure.length === 0 && plan.remove.length === 0) return entries;
      ctx.log.info({ ...ref(vmi), networks: plan.configure, removed: plan.remove }, 'Setting up pod networks');
      await journal.write(uid, inState(plan.journal, 1));
      await carryOut(ctx, plan, now.links, target);
      await journal.write(uid, inState(plan.journal, 2));
      await journal.remove(uid, plan.remove);
      return journal.read(uid);
    },
  };
}

const HANDOVER_MS = 30_000;
const HANDOVER_PAUSE_MS = 500;

const ref = (vmi: VirtualMachineInstance) => ({ namespace: vmi.metadata.namespace, name: vmi.metadata.name, uid: vmi.metadata.uid });

/** Saves reading the namespace on every pass over a running VM. */
function isDone(vmi: VirtualMachineInstance, entries: ReadonlyMap<string, PodInterfaceCache>): boolean {
  const interfaces = vmi.spec.domain.devices.interfaces ?? [];
  return interfaces.every((iface) => iface.state !== 'absent' && entries.get(iface.name)?.networkState === 2);
}

async function carryOut(ctx: Ctx, plan: PodNetworkPlan, links: readonly Link[], target: NetworkTarget): Promise<void> {
  try {
    for (const file of plan.launcherFiles) await writeLauncherFile(target, file);
    await applyIpBatch(ctx, target.netNs, ipBatch(withMacs(plan.links, randomMac), links));
    await writeSysctls(ctx, target.netNs, plan.sysctls);
    await applyNft(ctx, target.netNs, plan.nft);
    for (const { bridge } of plan.launcherFiles.filter(({ dhcp6 }) => dhcp6 !== undefined)) await handOver(ctx, target, bridge);
  } catch (cause) {
    throw new KvError('CriticalNetwork', `setting up the pod networks ${plan.configure.join(', ')} failed half-way`, {
      reason: 'NetworkSetupFailed',
      retry: 'never',
      cause,
    });
  }
}

/**
 * Launchers of earlier versions take no such socket; their guests have IPv6 addresses and no router, as before. One that is busy while it starts is
 * asked again: a network that is half done ends its VMI for good.
 */
export async function handOver(ctx: Ctx, target: Pick<NetworkTarget, 'handOverRouter'>, bridge: string): Promise<void> {
  for (const deadline = ctx.now() + HANDOVER_MS; ; ) {
    try {
      return await target.handOverRouter(bridge);
    } catch (err) {
      if (hasCode(err, 'NotFound')) {
        ctx.log.warn({ bridge, reason: messageOf(err) }, 'The launcher takes no router socket: its guest learns of no IPv6 router');
        return;
      }
      if (ctx.now() >= deadline || ctx.signal.aborted) throw err;
      ctx.log.info({ bridge, reason: messageOf(err) }, 'The launcher did not take its router socket; trying again');
    }
    await sleep(ctx.clock, HANDOVER_PAUSE_MS, ctx.signal);
  }
}

/** Locally administered, unicast. */
function randomMac(): string {
  const bytes = randomBytes(6);
  bytes[0] = ((bytes[0] ?? 0) & 0xfc) | 0x02;
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join(':');
}

async function writeLauncherFile(target: NetworkTarget, content: LauncherInterface): Promise<void> {
  const path = launcherInterfacePath(content.podInterface);
  await withBeneath(target.root, dirname(path), async (dir) => {
    const file = `${dir.path}/${basename(path)}`;
    await unlink(file).catch((err: NodeJS.ErrnoException) => {
      if (err.code !== 'ENOENT') throw err;
    });
    const handle = await open(file, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, 0o600);
    try {
      await handle.writeFile(JSON.stringify(content));
      await handle.chown(target.ownerId, target.ownerId);
    } finally {
      await handle.close();
    }
  });
}

/** What iproute2 reported, in the words of core/network. */
export function toPodNamespace(state: NetState): PodNamespace {
  const addresses = (link: Link, family: 'inet' | 'inet6') =>
    link.addresses.filter((a) => a.family === family).map((a) => ({ ip: a.address, prefix: a.prefixLength }));
  return {
    links: state.links.map((link) => ({
      index: link.index,
      name: link.name,
      mac: link.mac,
      mtu: link.mtu,
      ipv4: addresses(link, 'inet'),
      ipv6: addresses(link, 'inet6'),
    })),
    routes: state.routes.map((route) => ({
      destination: cidrOf(route.destination),
      link: route.device,
      ...(route.gateway === undefined ? {} : { gateway: route.gateway }),
    })),
  };
}

/** iproute2 shortens host routes and the default route. */
const cidrOf = (destination: string): string =>
  destination === 'default' ? '0.0.0.0/0' : destination.includes('/') ? destination : `${destination}/32`;
