// Questions about the guest that QEMU or the node answers: its picture, its statistics, how fast it writes, what its encrypted memory measures.
// Nothing here changes the guest but a launch secret, which its owner hands to it before it runs.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { posix } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { sleep } from '../base/clock.js';
import type { Ctx } from '../base/context.js';
import { hasCode, KvError, messageOf } from '../base/errors.js';
import { isGivenUp } from '../base/steps.js';
import type { Domain, Picture, TypedValue } from '../libvirt/index.js';
import type { CmdApi } from '../rpc/index.js';
import type { AgentPoller } from './agent-poller.js';
import { domainStats } from './domain-stats.js';
import type { MigrationSource } from './migration/source.js';
import { toPng } from './png.js';
import type { VmRecord } from './report.js';
import type { LibvirtSession } from './session.js';
import { text } from './text.js';

interface Deps {
  readonly ctx: Ctx;
  readonly session: LibvirtSession;
  readonly agent: Pick<AgentPoller, 'ask' | 'supports' | 'version'>;
  readonly record: VmRecord;
  readonly domain: string;
  readonly firmwareDir: string;
  readonly collectsVmStats: boolean;
  readonly source?: Pick<MigrationSource, 'figures'>;
}

type VmStatsRequest = Parameters<CmdApi['getVMStats']>[0];
type VmStats = Awaited<ReturnType<CmdApi['getVMStats']>>;

/** Firmware of SEV guests, whose measurement the owner compares. */
const SEV_FIRMWARE = 'OVMF_CODE.cc.fd';
const DIRTY_RATE_SECONDS = 1;
const DIRTY_RATE_FRESH_MS = 3_000;
const DIRTY_RATE_POLL_MS = 100;
const DIRTY_RATE_POLLS = 50;
/** virDomainDirtyRateStatus */
const MEASURED = 2;

/** Which agent command answers which part of a statistics request. */
const AGENT_PARTS = {
  guestGetLoad: 'guest-get-load',
  guestGetCpuStats: 'guest-get-cpustats',
  guestGetDiskStats: 'guest-get-diskstats',
  guestGetTime: 'guest-get-time',
  guestGetVcpus: 'guest-get-vcpus',
  guestGetMemoryBlockInfo: 'guest-get-memory-block-info',
  guestGetUsers: 'guest-get-users',
  guestGetOsInfo: 'guest-get-osinfo',
  guestGetDisks: 'guest-get-disks',
  guestGetHostName: 'guest-get-host-name',
  guestGetTimezone: 'guest-get-timezone',
  guestNetworkGetRoute: 'guest-network-get-route',
  guestNetworkGetInterfaces: 'guest-network-get-interfaces',
  guestGetMemoryBlocks: 'guest-get-memory-blocks',
} as const satisfies Partial<Record<keyof VmStatsRequest & keyof VmStats, string>>;

interface AgentPart {
  readonly success: boolean;
  readonly message: string;
  /** There was no answer at all. */
  readonly isSilence?: boolean;
}

const wants = (part: unknown): boolean => part !== undefined && part !== null;

export class Inspection {
  readonly #deps: Deps;
  #dirtyRate: { readonly at: number; readonly rate: Promise<number> } | undefined;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  async #with<T>(how: 'withDomain' | 'withOwn', work: (handle: Domain) => Promise<T>): Promise<T> {
    const { session, domain, record } = this.#deps;
    const done = await session[how](domain, async (handle) => ({ value: await work(handle) }));
    if (!done) throw new KvError('NotFound', text.noDomain(record.identity.name));
    return done.value;
  }

  /** As PNG, whatever QEMU writes. */
  async screenshot(): Promise<Picture> {
    return toPng(await this.#with('withOwn', (handle) => handle.screenshot()));
  }

  async stats(): Promise<Record<string, unknown>> {
    const { agent, record, source } = this.#deps;
    // Without an answer the statistics go without the guest's load.
    const load = agent.supports('guest-get-load') ? await agent.ask('guest-get-load').catch(() => undefined) : undefined;
    const disks = record.prepared?.devices.disks ?? [];
    const aliases = new Map([...disks.map(({ name, target }) => [target, name] as const), ...(record.taps ?? [])]);
    return this.#with('withDomain', async (handle) => {
      const params = await handle.stats(['cpu', 'balloon', 'vcpu', 'interface', 'block', 'dirtyRate']);
      return domainStats(params, { name: handle.name, uuid: handle.uuid, aliases, load, migration: source?.figures });
    });
  }

  /** In MiB a second. Measuring takes a second; askers in a row get one measurement. */
  dirtyRate(): Promise<number> {
    const { ctx } = this.#deps;
    if (this.#dirtyRate === undefined || ctx.now() - this.#dirtyRate.at > DIRTY_RATE_FRESH_MS) {
      const rate = this.#measureDirtyRate();
      this.#dirtyRate = { at: ctx.now(), rate };
      rate.catch(() => {
        this.#dirtyRate = undefined;
      });
    }
    return this.#dirtyRate.rate;
  }

  #measureDirtyRate(): Promise<number> {
    const { ctx } = this.#deps;
    return this.#with('withDomain', async (handle) => {
      await handle.startDirtyRate(DIRTY_RATE_SECONDS);
      await sleep(ctx.clock, DIRTY_RATE_SECONDS * 1000, ctx.signal);
      for (let polls = 0; polls < DIRTY_RATE_POLLS; polls++) {
        const params = await handle.stats(['dirtyRate']);
        if (params.get('dirtyrate.calc_status') === MEASURED) return Number(params.get('dirtyrate.megabytes_per_second') ?? 0);
        await sleep(ctx.clock, DIRTY_RATE_POLL_MS, ctx.signal);
      }
      throw new KvError('Timeout', 'QEMU did not finish measuring how fast the guest writes to its memory');
    });
  }

  /** The parts that were asked for; one that fails says so itself. */
  async vmStats(wanted: VmStatsRequest): Promise<VmStats> {
    if (!this.#deps.collectsVmStats) throw new KvError('Invalid', 'VMStatsCollector feature gate is not enabled');
    const part = async <T>(work: () => Promise<T>): Promise<T | { response: { success: false; message: string } }> =>
      work().catch((err: Error) => ({ response: { success: false, message: err.message } }));
    const response = { success: true };
    const agentParts = Object.entries(AGENT_PARTS).filter(([key]) => wants(wanted[key as keyof VmStatsRequest]));
    return {
      ...(wants(wanted.domainStats)
        ? { domainStats: await part(async () => ({ response, domainStats: JSON.stringify(await this.stats()) })) }
        : {}),
      ...(wants(wanted.dirtyRate) ? { dirtyRateStats: await part(async () => ({ response, dirtyRateMbs: await this.dirtyRate() })) } : {}),
      ...(agentParts.length > 0 ? { guestAgentVersion: { success: true, message: this.#deps.agent.version } } : {}),
      ...Object.fromEntries(await this.#agentParts(agentParts)),
    };
  }

  /**
   * One after the other: the agent answers no faster. One that is silent is asked once, and nobody is asked when nobody waits any more: a freeze or a
   * shutdown would have to wait behind it.
   */
  async #agentParts(parts: readonly (readonly [string, string])[]): Promise<[string, AgentPart][]> {
    const found: [string, AgentPart][] = [];
    let silence: AgentPart | undefined;
    for (const [key, command] of parts) {
      if (isGivenUp()) break;
      const answer = silence ?? (await this.#agentPart(command));
      found.push([key, answer]);
      if (answer.isSilence) silence = answer;
    }
    return found.map(([key, { success, message }]) => [key, { success, message }]);
  }

  async #agentPart(command: string): Promise<AgentPart> {
    try {
      const value = await this.#deps.agent.ask(command);
      if (value === undefined) return { success: false, message: `the guest agent has no ${command}` };
      return { success: true, message: JSON.stringify(value) };
    } catch (err) {
      return { success: false, message: messageOf(err), isSilence: hasCode(err, 'NotReady', 'Timeout') };
    }
  }

  /** SEVPlatformInfo */
  async sevInfo(): Promise<Record<string, TypedValue>> {
    return pick(await this.#deps.session.connection.sevInfo(), { pdh: 'pdh', certChain: 'cert-chain' });
  }

  /** SEVMeasurementInfo */
  async launchMeasurement(): Promise<Record<string, TypedValue>> {
    const params = await this.#with('withDomain', (handle) => handle.launchSecurityInfo());
    if (!params.has('sev-measurement')) throw new KvError('Invalid', text.noMeasurement(this.#deps.record.identity.name));
    const names = {
      measurement: 'sev-measurement',
      apiMajor: 'sev-api-major',
      apiMinor: 'sev-api-minor',
      buildID: 'sev-build-id',
      policy: 'sev-policy',
    };
    return { ...pick(params, names), loaderSHA: await sha256(posix.join(this.#deps.firmwareDir, SEV_FIRMWARE)) };
  }

  async injectSecret(options: unknown): Promise<void> {
    const { header, secret } = (options ?? {}) as { readonly header?: unknown; readonly secret?: unknown };
    if (typeof header !== 'string' || header === '') throw new KvError('Invalid', 'Header is required');
    if (typeof secret !== 'string' || secret === '') throw new KvError('Invalid', 'Secret is required');
    await this.#with('withDomain', (handle) => handle.setLaunchSecurityState({ 'sev-secret': secret, 'sev-secret-header': header }));
  }
}

function pick(params: ReadonlyMap<string, TypedValue>, names: Readonly<Record<string, string>>): Record<string, TypedValue> {
  const entries = Object.entries(names).flatMap(([ours, theirs]): [string, TypedValue][] => {
    const value = params.get(theirs);
    return value === undefined ? [] : [[ours, value]];
  });
  return Object.fromEntries(entries);
}

async function sha256(path: string): Promise<string> {
  const hash = createHash('sha256');
  try {
    await pipeline(createReadStream(path), hash);
  } catch (err) {
    throw new KvError('Internal', `cannot read the firmware ${path} that is measured with the guest`, { cause: err });
  }
  return hash.digest('hex');
}
