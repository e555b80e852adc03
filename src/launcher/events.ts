// What the launcher does about libvirt's events: have the state read again, follow the guest agent, tell the user of failing disks and
// panics. One domain lives here, so events of others (there are none) are ignored.
import type { Ctx } from '../base/context.js';
import { describeLive, readDomain } from '../core/converter/index.js';
import type { DomainEvent } from '../libvirt/index.js';
import type { AgentPoller } from './agent-poller.js';
import type { MigrationSource } from './migration/source.js';
import type { MigrationTarget } from './migration/target.js';
import type { Notifier } from './notify-client.js';
import type { VmRecord } from './report.js';
import type { Reporter } from './reporter.js';
import type { LibvirtSession } from './session.js';
import { text } from './text.js';

export interface EventTargets {
  readonly ctx: Ctx;
  readonly domain: string;
  readonly record: VmRecord;
  readonly reporter: Pick<Reporter, 'refresh' | 'devicesChanged'>;
  readonly notifier: Pick<Notifier, 'event'>;
  readonly agent: Pick<AgentPoller, 'setConnected'>;
  /** A guest that goes, or that comes. */
  readonly source?: Pick<MigrationSource, 'iterated'>;
  readonly target?: Pick<MigrationTarget, 'noticed'>;
}

const USER_ALIAS = 'ua-';
const JOB_FIGURES = ['operation', 'time_elapsed', 'downtime', 'memory_processed', 'memory_iteration', 'disk_processed', 'success'] as const;
type JobParams = Extract<DomainEvent, { kind: 'job-completed' }>['params'];
/** After these the guest has other devices. */
const CHANGES: ReadonlySet<string> = new Set(['device-added', 'device-removed', 'memory-device-size']);

function tellUser({ notifier, record }: EventTargets, reason: string, message: string): void {
  notifier.event({ type: 'Warning', reason, message, involved: record.identity });
}

export function handleEvent(targets: EventTargets, event: DomainEvent): void {
  const { ctx, domain, reporter, agent } = targets;
  if (event.domain.name !== domain) return;
  if (event.kind === 'migration-iteration' || event.kind === 'job-completed') {
    if (event.kind === 'job-completed') logJob(ctx, event.params);
    else targets.source?.iterated();
    return;
  }
  ctx.log.debug({ ...event, domain: undefined }, 'Domain event');
  if (event.kind === 'lifecycle') targets.target?.noticed();
  // The poller reports what follows from it.
  if (event.kind === 'agent') agent.setConnected(event.connected);
  else {
    announce(targets, event);
    if (CHANGES.has(event.kind)) void reporter.devicesChanged();
    else void reporter.refresh();
  }
}

/** Figures of a migration or dump that has ended, for those who look for why it took so long. */
function logJob(ctx: Ctx, params: JobParams): void {
  const figures = Object.fromEntries(JOB_FIGURES.flatMap((key) => (params.has(key) ? [[key, params.get(key)]] : [])));
  ctx.log.info(figures, 'A job of the domain has ended');
}

/** What the user has to know of it. */
function announce(targets: EventTargets, event: DomainEvent): void {
  switch (event.kind) {
    case 'device-removal-failed':
      tellUser(targets, 'DeviceRemovalFailed', text.removalFailed(event.alias.replace(USER_ALIAS, '')));
      return;
    case 'io-error':
      if (event.paused) tellUser(targets, 'IOerror', text.ioError(event.alias.replace(USER_ALIAS, ''), event.reason));
      return;
    case 'lifecycle':
      if (event.event === 'crashed') {
        targets.record.hasPanicked = true;
        tellUser(targets, 'GuestPanicked', text.guestPanicked);
      }
      if (event.event === 'stopped') targets.agent.setConnected(false);
      return;
    default:
  }
}

/** After libvirt was away: read what its events would have told. */
export async function catchUp(targets: EventTargets, session: Pick<LibvirtSession, 'withDomain'>): Promise<void> {
  const { ctx, domain, agent, reporter } = targets;
  try {
    const xml = await session.withDomain(domain, (handle) => handle.xml());
    if (xml !== undefined) agent.setConnected(describeLive(readDomain(xml)).isAgentConnected);
  } catch (err) {
    // Lost again; the next reconnection catches up.
    ctx.log.debug({ err }, 'Cannot read the domain after libvirt came back');
  }
  await reporter.devicesChanged();
}
