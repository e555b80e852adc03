// The hook sidecars of this pod: waits until all have announced themselves, then hands them the domain and the cloud-init data before the guest
// starts, and tells them its end. A sidecar that fails or hangs makes an error that names it and the step; nothing here is ever retried by itself.
import { readdir } from 'node:fs/promises';
import { posix } from 'node:path';
import type { VirtualMachineInstance } from '../../api/index.js';
import { sleep } from '../../base/clock.js';
import type { Ctx } from '../../base/context.js';
import { hasCode, KvError, messageOf } from '../../base/errors.js';
import { atStep } from '../../base/steps.js';
import type { DomainModel } from '../../core/converter/index.js';
import type { CloudInitIso } from '../../core/storage/index.js';
import { askInfo, callHook, type HookMethod, type HookRequest, type HookResult } from '../../rpc/light/hooks.js';
import { cloudInitForHooks, cloudInitOfHook } from './cloud-init.js';
import { changedOnce, domainForHooks, domainOfHook, type HookedDomain } from './domain-xml.js';
import { calledAt, isComplete, missingError, type Search, type Sidecar, sidecarOf, titleOf } from './sidecar.js';
import { text } from './text.js';

export interface Hooks {
  /** The domain that hooks made of this one; undefined when none changes domains. */
  onDefineDomain(domain: DomainModel, vmi: VirtualMachineInstance): Promise<HookedDomain | undefined>;
  preCloudInitIso(iso: CloudInitIso, vmi: VirtualMachineInstance): Promise<CloudInitIso>;
  /** What is being waited for, if anything is. */
  readonly waitingFor: string | undefined;
  /** The guest is over. Sidecars that fail now are only logged. */
  shutdown(): Promise<void>;
}

export interface HookTimes {
  readonly pollMs: number;
  /** How long one request waits for sidecars; the next one goes on waiting. */
  readonly patienceMs: number;
  readonly infoMs: number;
  readonly callMs: number;
  readonly shutdownMs: number;
}

const TIMES: HookTimes = { pollMs: 100, patienceMs: 10_000, infoMs: 2_000, callMs: 50_000, shutdownMs: 3_000 };
const DIRECTORY = '/var/run/kubevirt-hooks';

const json = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));

export class HookSidecars implements Hooks {
  readonly #ctx: Ctx;
  readonly #wanted: number;
  readonly #directory: string;
  readonly #times: HookTimes;
  readonly #known = new Map<string, Sidecar>();
  #isOver = false;
  waitingFor: string | undefined;

  constructor(ctx: Ctx, wanted: number, directory = DIRECTORY, times = TIMES) {
    this.#ctx = ctx;
    this.#wanted = wanted;
    this.#directory = directory;
    this.#times = times;
  }

  async onDefineDomain(domain: DomainModel, vmi: VirtualMachineInstance): Promise<HookedDomain | undefined> {
    const sidecars = calledAt('OnDefineDomain', await this.#collect());
    let hooked: HookedDomain | undefined;
    for (const sidecar of sidecars) {
      const before = hooked ?? { xml: domainForHooks(domain) };
      const request = { domainXML: Buffer.from(before.xml), vmi: json(vmi) };
      hooked = await this.#ask(sidecar, 'OnDefineDomain', request, (answer) =>
        changedOnce(domainOfHook(answer.domainXML.toString(), domain), before, `hook sidecar ${titleOf(sidecar)}`),
      );
    }
    return hooked;
  }

  async preCloudInitIso(iso: CloudInitIso, vmi: VirtualMachineInstance): Promise<CloudInitIso> {
    let data = iso;
    for (const sidecar of calledAt('PreCloudInitIso', await this.#collect())) {
      const before = data;
      data = await this.#ask(sidecar, 'PreCloudInitIso', { ...cloudInitForHooks(before), vmi: json(vmi) }, (answer) =>
        cloudInitOfHook(answer, before),
      );
    }
    return data;
  }

  async shutdown(): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    const told = calledAt('Shutdown', [...this.#known.values()]).map(({ socketPath, version, container }) =>
      callHook({ socketPath, version, method: 'Shutdown', deadlineMs: this.#times.shutdownMs }, {}).catch((err: unknown) => {
        // It may have ended before it could answer; the kubelet ends what is left.
        this.#ctx.log.info({ container, reason: messageOf(err) }, 'A hook sidecar did not answer at the end of the guest');
      }),
    );
    await Promise.all(told);
  }

  /** One call; whatever goes wrong names the sidecar and the step. */
  async #ask<M extends HookMethod, T>(
    sidecar: Sidecar,
    method: M,
    request: HookRequest<M>,
    read: (answer: HookResult<M>) => T,
  ): Promise<T> {
    const { socketPath, version, container } = sidecar;
    this.#waitFor(`hook sidecar ${titleOf(sidecar)}: ${method}`);
    this.#ctx.log.info({ container, method, version }, 'Asking a hook sidecar');
    try {
      return read(await callHook({ socketPath, version, method, deadlineMs: this.#times.callMs }, request));
    } catch (err) {
      // One that was started again listens on another socket: it announces itself anew.
      if (hasCode(err, 'LauncherUnreachable')) this.#known.delete(container);
      throw new KvError(hasCode(err, 'Timeout') ? 'Timeout' : 'Internal', text.failed(titleOf(sidecar), method, messageOf(err)), {
        cause: err,
        reason: text.reason,
      });
    } finally {
      this.waitingFor = undefined;
    }
  }

  #waitFor(what: string): void {
    atStep(what);
    this.waitingFor = what;
  }

  /** All sidecars of the pod; NotReady says which are missing. */
  async #collect(): Promise<readonly Sidecar[]> {
    const deadline = this.#ctx.now() + this.#times.patienceMs;
    this.#waitFor('hook sidecars to announce themselves');
    for (;;) {
      const search = await this.#search();
      if (isComplete(search)) return search.found;
      if (this.#ctx.now() >= deadline || this.#ctx.signal.aborted) throw missingError(search);
      await sleep(this.#ctx.clock, this.#times.pollMs, this.#ctx.signal);
    }
  }

  async #search(): Promise<Search> {
    const silent = new Map<string, string>();
    if (this.#known.size < this.#wanted) {
      const containers = await list(this.#directory);
      const looked = containers.filter((container) => !this.#known.has(container)).map((container) => this.#look(container, silent));
      await Promise.all(looked);
    }
    return { wanted: this.#wanted, found: [...this.#known.values()], silent };
  }

  /** Sockets of a process that is gone stay behind: the first one on which somebody answers counts. */
  async #look(container: string, silent: Map<string, string>): Promise<void> {
    const directory = posix.join(this.#directory, container);
    silent.set(container, text.noSocket);
    for (const name of await list(directory)) {
      const socketPath = posix.join(directory, name);
      const info = await askInfo(socketPath, this.#times.infoMs).catch((err: unknown) => {
        // Not there yet, or never: the search goes on until its time is over, and then says why.
        silent.set(container, text.noAnswer(socketPath, messageOf(err)));
        return undefined;
      });
      if (info === undefined) continue;
      const sidecar = sidecarOf(container, socketPath, info);
      this.#ctx.log.info({ container, sidecar: sidecar.name, version: sidecar.version }, 'A hook sidecar announced itself');
      this.#known.set(container, sidecar);
      silent.delete(container);
      return;
    }
  }
}

async function list(directory: string): Promise<string[]> {
  const names = await readdir(directory).catch((err: NodeJS.ErrnoException) => {
    // The kubelet makes a sidecar's directory when it starts it. A file beside the directories is none.
    if (err.code === 'ENOENT' || err.code === 'ENOTDIR') return [];
    throw new KvError('Internal', `cannot list ${directory}, where hook sidecars announce themselves`, { cause: err });
  });
  return names.sort();
}
