// The base class of our long-running control-plane processes, on top of @dot-i/k8s-operator. Only its construction and life cycle
// are used: the package's watches end the process after a quiet half minute and its status and finalizer helpers swallow errors,
// so each of those is replaced by ours. The only file that loads the package.
import * as dotI from '@dot-i/k8s-operator';
import type { KubeConfig } from '@kubernetes/client-node';
import { KvError } from '../base/errors.js';
import type { Logger } from '../base/logger.js';
import type { Manager } from './types.js';

type OperatorClass = typeof dotI.default.default;
// Node's import of this CommonJS package gives { default: { default: Operator } }, bundlers and vitest the class itself.
const found = dotI.default as unknown as OperatorClass | { readonly default: OperatorClass };
const Operator: OperatorClass = 'default' in found ? found.default : found;

export interface ProcessOptions {
  readonly kubeConfig: KubeConfig;
  readonly log: Logger;
  readonly manager: Manager;
}

/** Subclasses register their controllers with the manager in init(). */
export abstract class ControllerProcess extends Operator {
  protected readonly manager: Manager;
  readonly #stop = new AbortController();

  constructor({ kubeConfig, log, manager }: ProcessOptions) {
    const line = (level: 'debug' | 'info' | 'warn' | 'error') => (message: string) => log[level]({}, message);
    super({ debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') });
    this.kubeConfig = kubeConfig;
    this.manager = manager;
  }

  /** Resolves after stop(); rejects when the lease is lost. The caller ends the process. */
  override async start(): Promise<void> {
    await this.init();
    await this.manager.run(this.#stop.signal);
  }

  override stop(): void {
    this.#stop.abort();
  }

  protected override getCustomResourceApiUri(group: string, version: string, plural: string, namespace?: string): string {
    const server = this.kubeConfig.getCurrentCluster()?.server ?? '';
    return `${server}/apis/${group}/${version}/${namespace ? `namespaces/${namespace}/` : ''}${plural}`;
  }

  protected override registerCustomResourceDefinition(): Promise<never> {
    return refuse('registerCustomResourceDefinition', 'the installer applies the CRDs');
  }

  protected override watchResource(): Promise<never> {
    return refuse('watchResource', 'use manager.informer() and manager.controller()');
  }

  protected override setResourceStatus(): Promise<never> {
    return refuse('setResourceStatus', 'use writeStatus()');
  }

  protected override patchResourceStatus(): Promise<never> {
    return refuse('patchResourceStatus', 'use KubeClient.jsonPatch()');
  }

  protected override handleResourceFinalizer(): Promise<never> {
    return refuse('handleResourceFinalizer', 'use changeFinalizers()');
  }

  protected override setResourceFinalizers(): Promise<never> {
    return refuse('setResourceFinalizers', 'use changeFinalizers()');
  }
}

function refuse(method: string, instead: string): Promise<never> {
  return Promise.reject(new KvError('Internal', `${method} of the base package is not to be used: ${instead}`));
}
