// Watches the benchmark's VMs and notes when what happened, by this machine's clock at the moment the news arrived: the times that the
// API itself keeps have whole seconds only. The login prompt is read from the serial console's log on the node.
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pod, VirtualMachine, VirtualMachineInstance } from '../../src/api/index.js';
import { systemClock } from '../../src/base/clock.js';
import { KvError } from '../../src/base/errors.js';
import { silentLogger } from '../../src/base/logger.js';
import {
  type KubeClient,
  kubeTransport,
  loadKubeConfig,
  PODS,
  RuntimeManager,
  VIRTUAL_MACHINE_INSTANCES,
  VIRTUAL_MACHINES,
} from '../../src/runtime/index.js';
import type { ClusterHandle } from '../cluster/cluster.js';
import { NAMESPACE } from './bench-vm.js';
import { consoleLogPath, definedAt, vmOfPod } from './observed.js';
import type { Stage, Timeline } from './stages.js';

const POLL_MS = 20;
const LOGIN_PROMPT = /login: /;

type Moments = { -readonly [K in keyof Timeline]: Timeline[K] };

interface Seen {
  readonly moments: Moments;
  pod?: Pod;
  vmi?: VirtualMachineInstance;
}

export class Observer {
  readonly client: KubeClient;
  readonly #cluster: ClusterHandle;
  readonly #manager: RuntimeManager;
  readonly #stop = new AbortController();
  readonly #seen = new Map<string, Seen>();
  readonly #vms;
  readonly #vmis;
  readonly #pods;
  #running: Promise<void> | undefined;

  constructor(cluster: ClusterHandle) {
    this.#cluster = cluster;
    const transport = kubeTransport(loadKubeConfig(cluster.kubeconfig), systemClock);
    this.#manager = new RuntimeManager({ name: 'bench', transport, clock: systemClock, log: silentLogger });
    this.client = this.#manager.client;
    const options = { namespace: NAMESPACE };
    this.#vms = this.#manager.informer(VIRTUAL_MACHINES, options);
    this.#vmis = this.#manager.informer(VIRTUAL_MACHINE_INSTANCES, options);
    this.#pods = this.#manager.informer(PODS, options);
    const onPod = (pod: Pod) => this.#sawPod(pod);
    const onVmi = (vmi: VirtualMachineInstance) => this.#sawVmi(vmi);
    this.#pods.on({ added: onPod, updated: onPod });
    this.#vmis.on({ added: onVmi, updated: onVmi });
  }

  async start(): Promise<void> {
    this.#running = this.#manager.run(this.#stop.signal);
    await this.#until('the watches to start', 30_000, () => this.#manager.hasSynced());
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  #mark(seen: Seen | undefined, stage: Stage, at = Date.now()): void {
    if (seen) seen.moments[stage] ??= at;
  }

  #sawPod(pod: Pod): void {
    const seen = this.#seen.get(vmOfPod(pod) ?? '');
    if (!seen) return;
    seen.pod = pod;
    const isTrue = (type: string) => pod.status?.conditions?.some((each) => each.type === type && each.status === 'True');
    if (isTrue('PodScheduled')) this.#mark(seen, 'scheduled');
    if (pod.status?.containerStatuses?.some(({ name, ready }) => name === 'compute' && ready)) this.#mark(seen, 'launcherReady');
  }

  #sawVmi(vmi: VirtualMachineInstance): void {
    const seen = this.#seen.get(vmi.metadata.name ?? '');
    if (!seen) return;
    seen.vmi = vmi;
    if (vmi.status?.phase === 'Running') this.#mark(seen, 'running');
  }

  async create(vm: VirtualMachine): Promise<void> {
    const name = vm.metadata.name ?? '';
    this.#seen.set(name, { moments: { name, created: Date.now() } });
    await this.client.create(VIRTUAL_MACHINES, vm);
  }

  /** Until the launcher's container is ready. */
  async untilReady(name: string, timeoutMs: number): Promise<void> {
    const seen = this.#of(name);
    await this.#until(`the launcher of ${name} to be ready`, timeoutMs, () => seen.moments.launcherReady !== undefined, seen);
  }

  /** Until the guest shows its login prompt; then also reads when the domain was defined. */
  async untilLogin(name: string, timeoutMs: number): Promise<void> {
    const seen = this.#of(name);
    await this.#until(`${name} to run`, timeoutMs, () => seen.moments.running !== undefined, seen);
    await this.#until(`the login prompt of ${name}`, timeoutMs, () => LOGIN_PROMPT.test(this.#console(seen)), seen);
    this.#mark(seen, 'login');
    const at = definedAt(await this.#cluster.kubectl(['logs', '-n', NAMESPACE, seen.pod?.metadata.name ?? '', '-c', 'compute']));
    if (at !== undefined) this.#mark(seen, 'defined', at);
  }

  #console({ pod, vmi }: Seen): string {
    const node = this.#cluster.nodes.find((each) => each.name === pod?.spec?.nodeName);
    if (!node || !pod || !vmi) return '';
    try {
      return readFileSync(consoleLogPath(node.pid, pod.metadata.uid ?? '', vmi.metadata.uid ?? ''), 'utf8');
    } catch (err) {
      // QEMU makes it when it starts.
      if ((err as NodeJS.ErrnoException).code === 'ENOENT') return '';
      throw err;
    }
  }

  async delete(name: string, timeoutMs: number): Promise<void> {
    const seen = this.#of(name);
    seen.moments.deleteAsked = Date.now();
    const key = `${NAMESPACE}/${name}`;
    await this.client.delete(VIRTUAL_MACHINES, key);
    const isGone = () =>
      !this.#vms.store.get(key) && !this.#vmis.store.get(key) && !this.#pods.store.list().some((pod) => vmOfPod(pod) === name);
    await this.#until(`${name} to be gone`, timeoutMs, isGone, seen);
    seen.moments.deleted = Date.now();
  }

  timeline(name: string): Timeline {
    return { ...this.#of(name).moments };
  }

  pod(name: string): Pod {
    const { pod } = this.#of(name);
    if (!pod) throw new KvError('NotFound', `${name} has no pod`);
    return pod;
  }

  #of(name: string): Seen {
    const seen = this.#seen.get(name);
    if (!seen) throw new KvError('Internal', `${name} was not created by this benchmark`);
    return seen;
  }

  async #until(what: string, timeoutMs: number, done: () => boolean, seen?: Seen): Promise<void> {
    const deadline = Date.now() + timeoutMs;
    while (!done()) {
      if (Date.now() > deadline) {
        const state = seen ? `; its VMI: ${JSON.stringify(seen.vmi?.status ?? 'none')}` : '';
        throw new KvError('Timeout', `waited ${timeoutMs / 1000} s for ${what}${state}`);
      }
      await sleep(POLL_MS);
    }
  }
}
