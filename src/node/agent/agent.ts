// The agent's reconcile, per VM: read everything once, decide, act, write the status, tell what changed. VMs are found by the label that
// virt-controller sets at the hand-over, and by the launchers that an earlier process managed. Knows no Linux; see perform.ts.
import { isFinalPhase, type ObjectKey, type VirtualMachineInstance } from '../../api/index.js';
import type { Ctx } from '../../base/context.js';
import { hasCode, KvError } from '../../base/errors.js';
import { readSelinuxContext } from '../../linux/proc.js';
import type { Next, Reconcile } from '../../runtime/types.js';
import type { Launcher } from '../launchers/launcher.js';
import { isArriving } from '../status/migration.js';
import { nextStatus } from '../status/next-status.js';
import { decidePhase, isAlive, type PhaseDecision } from '../status/phase.js';
import { isWorthWriting } from '../status/worth.js';
import { text } from '../text.js';
import { announceChanges } from './announce.js';
import { decide } from './decide.js';
import { failureOf, fatalPhase } from './failure.js';
import { type PerformDeps, perform } from './perform.js';
import type { VmiWriter } from './vmi-writer.js';

export interface AgentDeps extends PerformDeps {
  readonly vmis: VmiWriter;
  readonly isHostModelObsolete: () => boolean;
}

type Vmi = VirtualMachineInstance;

/** One pass may end a guest, write that down, delete its domain and clean up. */
const MAX_ROUNDS = 4;

export function createAgent(deps: AgentDeps): Reconcile {
  return async (key, ctx) => {
    const vmi = ownVmi(deps, key);
    const uid = vmi?.metadata.uid;
    const older = deps.launchers.of(key).filter((launcher) => launcher.ghost.uid !== uid);
    const left = await Promise.allSettled(older.map((launcher) => settleUnseen(deps, ctx, launcher)));
    let next = left.reduce<Next>((all, one) => (one.status === 'fulfilled' ? sooner(all, one.value) : all), undefined);
    const launcher = vmi && (await launcherOf(deps, ctx, vmi));
    if (launcher !== undefined) next = sooner(next, await settle(deps, ctx, launcher, vmi));
    // What an earlier guest of the same name left behind may refuse to go; the present one does not wait for it.
    const failed = left.find((one) => one.status === 'rejected');
    if (failed) throw failed.reason;
    return next;
  };
}

/**
 * A launcher whose VMI the cache does not show. Only the API server's word ends its guest: the label that our cache selects by may have been
 * removed by mistake, or the VMI may have moved to another node.
 */
async function settleUnseen(deps: AgentDeps, ctx: Ctx, launcher: Launcher): Promise<Next> {
  const found = await deps.vmis.find(launcher.key);
  if (found === undefined || found.metadata.uid !== launcher.ghost.uid) return settle(deps, ctx, launcher, undefined);
  if (found.status?.nodeName === deps.node) return settle(deps, ctx, launcher, found);
  // The launcher waits for its guest: that it has none yet is no reason to take its disks away.
  if (isArriving(found, deps.node)) return undefined;
  ctx.log.info({ node: found.status?.nodeName }, 'The VMI belongs to another node now');
  return isAlive(launcher.domain) ? undefined : settle(deps, ctx, launcher, undefined);
}

/** The VMI if this node is responsible for it. */
function ownVmi({ vmis, node }: AgentDeps, key: ObjectKey): Vmi | undefined {
  const vmi = vmis.get(key);
  return vmi?.status?.nodeName === node ? vmi : undefined;
}

async function launcherOf(deps: AgentDeps, ctx: Ctx, vmi: Vmi): Promise<Launcher | undefined> {
  const { uid = '', namespace = '', name = '' } = vmi.metadata;
  const known = deps.launchers.get(uid);
  // An ended VMI without a record was cleaned up before.
  if (known !== undefined || isFinalPhase(vmi.status?.phase)) return known;
  if (vmi.status?.phase !== 'Scheduled' && vmi.status?.phase !== 'Running') return undefined;
  const pods = Object.entries(vmi.status?.activePods ?? {}).flatMap(([podUid, node]) => (node === deps.node ? [podUid] : []));
  const [podUid] = pods;
  if (podUid === undefined) {
    throw new KvError('NotReady', `no active pod of this VMI is known on node ${deps.node} yet`, { retry: { afterMs: 1_000 } });
  }
  if (pods.length > 1) throw new KvError('NotReady', text.manySockets(pods), { reason: 'ManyLaunchers' });
  return deps.launchers.manage(ctx, { uid, namespace, name, podUid });
}

async function settle(deps: AgentDeps, ctx: Ctx, launcher: Launcher, given: Vmi | undefined): Promise<Next> {
  let vmi = given;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const acted = await act(deps, ctx, launcher, vmi);
    const after = isOpen(vmi) ? await report(deps, ctx, launcher, vmi, acted.error) : vmi;
    if (acted.error !== undefined && !(isOpen(vmi) && !isOpen(after))) throw acted.error;
    if (!hasMoved(acted, vmi, after)) return acted.result;
    vmi = after;
  }
  return undefined;
}

/** What was done, or written, asks for the next step at once. */
function hasMoved({ done }: Acted, before: Vmi | undefined, after: Vmi | undefined): boolean {
  if (done === 'delete' || done === 'lost' || (done === 'kill' && !isOpen(before))) return true;
  return after?.status?.phase !== before?.status?.phase;
}

/** Its status is the node's to write. */
const isOpen = (vmi: Vmi | undefined): vmi is Vmi => vmi !== undefined && !isFinalPhase(vmi.status?.phase);

interface Acted {
  readonly done: string;
  readonly result: Next;
  readonly error: unknown;
}

async function act(deps: AgentDeps, ctx: Ctx, launcher: Launcher, vmi: Vmi | undefined): Promise<Acted> {
  try {
    await deps.launchers.adopt(ctx, launcher);
    const action = decide({ vmi, domain: launcher.domain, launcher: launcher.state, node: deps.node, now: ctx.now() });
    ctx.log.debug({ action, domain: launcher.domain?.status, launcher: launcher.state }, 'Decided');
    return { done: action.kind, result: await perform(deps, ctx, action, launcher, vmi), error: undefined };
  } catch (error) {
    // It went while it was being told something: no failure, but news.
    if (hasCode(error, 'LauncherUnreachable') && (await deps.launchers.giveUpIfEnded(ctx, launcher))) {
      return { done: 'lost', result: undefined, error: undefined };
    }
    return { done: 'failed', result: undefined, error };
  }
}

/** Status and events, from what is known after the step. */
async function report(deps: AgentDeps, ctx: Ctx, launcher: Launcher, vmi: Vmi, error: unknown): Promise<Vmi> {
  const decision = fatalPhase(error) ?? decidePhase({ vmi, domain: launcher.domain, launcher: launcher.state, node: deps.node });
  const config = deps.config();
  launcher.network ??= await deps.journal.read(launcher.ghost.uid);
  const status = nextStatus({
    vmi,
    domain: launcher.domain,
    decision,
    failure: failureOf(error, vmi, ctx.now() - launcher.since),
    node: deps.node,
    network: launcher.network,
    bindings: config.spec.network?.binding ?? {},
    isHostModelObsolete: deps.isHostModelObsolete(),
    selinuxContext: await selinuxOf(launcher),
    agentVersions: config.spec.supportedGuestAgentVersions ?? [],
    ...(launcher.resized ? { resized: launcher.resized } : {}),
    ...(launcher.plugged ? { plugged: launcher.plugged } : {}),
    now: ctx.now(),
  });
  const written = isWorthWriting(vmi, status) ? await deps.vmis.write(vmi, status) : vmi;
  delete launcher.resized;
  if (written.status?.phase === 'Running' && vmi.status?.phase !== 'Running') launcher.hasJustStarted = true;
  announce(deps, vmi, written, decision);
  announceChanges(deps.events, vmi, written);
  return written;
}

async function selinuxOf(launcher: Launcher): Promise<string | undefined> {
  if (launcher.selinuxContext === undefined && launcher.isolation !== undefined) {
    launcher.selinuxContext = await readSelinuxContext(launcher.isolation.process.pid);
  }
  return launcher.selinuxContext;
}

/** One event a transition. */
function announce({ events }: AgentDeps, before: Vmi, after: Vmi, { failure }: PhaseDecision): void {
  const failed = after.status?.conditions?.find((condition) => condition.type === 'Synchronized' && condition.status === 'False');
  const shown = before.status?.conditions?.find((condition) => condition.type === 'Synchronized');
  if (before.status?.phase === after.status?.phase) {
    if (failed && (failed.message !== shown?.message || failed.reason !== shown?.reason)) {
      events.event(after, 'Warning', 'SyncFailed', failed.message ?? '');
    }
    return;
  }
  if (after.status?.phase === 'Running') events.event(after, 'Normal', 'Started', text.started);
  if (after.status?.phase === 'Succeeded') events.event(after, 'Normal', 'Stopped', text.stopped);
  if (after.status?.phase === 'Failed') announceFailure(events, before, after, failure);
}

function announceFailure(events: AgentDeps['events'], before: Vmi, after: Vmi, failure: PhaseDecision['failure']): void {
  if (before.status?.phase !== 'Running' && after.metadata.deletionTimestamp !== undefined)
    events.event(after, 'Normal', 'Stopped', text.deletedBeforeStart);
  else events.event(after, 'Warning', 'Stopped', failure ? `${text.crashed} ${capital(failure.message)}` : text.crashed);
}

const capital = (sentence: string): string => `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}`;

function sooner(a: Next, b: Next): Next {
  if (a === undefined || b === undefined) return a ?? b;
  return a.afterMs <= b.afterMs ? a : b;
}
