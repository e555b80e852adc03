// Where the API server is and who we are: a kubeconfig file, or the service account of the pod. client-node parses these (every
// kind of authentication it knows works); this file turns the result into credentials that are read again every few seconds,
// because service account tokens and CA files are replaced while we run.
import type http from 'node:http';
import type { RequestOptions } from 'node:https';
import { KubeConfig } from '@kubernetes/client-node';
import { type Clock, ticks } from '../base/clock.js';
import { KvError, messageOf } from '../base/errors.js';
import { type CredentialSource, type Credentials, HttpTransport, type TlsMaterial } from './http-transport.js';

const FRESH_MS = 10_000;

/** `path` undefined: $KUBECONFIG, ~/.kube/config or the pod's service account, in this order. */
export function loadKubeConfig(path?: string): KubeConfig {
  const config = new KubeConfig();
  try {
    if (path === undefined) config.loadFromDefault();
    else config.loadFromFile(path);
  } catch (err) {
    throw new KvError('Invalid', `cannot read the kubeconfig ${path ?? '(default)'}: ${messageOf(err)}`, { cause: err });
  }
  if (!config.getCurrentCluster()) {
    throw new KvError(
      'Invalid',
      `the kubeconfig ${path ?? '(default)'} has no current context; choose one with kubectl config use-context`,
    );
  }
  return config;
}

/** The namespace of the current context; in a pod: the pod's own. */
export function currentNamespace(config: KubeConfig): string | undefined {
  return config.getContextObject(config.getCurrentContext())?.namespace;
}

export class KubeConfigCredentials implements CredentialSource {
  readonly server: string;
  readonly #config: KubeConfig;
  readonly #clock: Clock;
  #cached: { readonly at: number; readonly value: Promise<Credentials> } | undefined;

  constructor(config: KubeConfig, clock: Clock) {
    const server = config.getCurrentCluster()?.server;
    if (!server) throw new KvError('Invalid', 'the kubeconfig names no server for its current context');
    this.server = server;
    this.#config = config;
    this.#clock = clock;
  }

  current(): Promise<Credentials> {
    const now = ticks(this.#clock);
    if (this.#cached && now - this.#cached.at < FRESH_MS) return this.#cached.value;
    const value = this.#read();
    this.#cached = { at: now, value };
    // A failed read must not be remembered; the caller gets the error itself.
    value.catch(() => this.refresh());
    return value;
  }

  refresh(): void {
    this.#cached = undefined;
  }

  async #read(): Promise<Credentials> {
    const options: RequestOptions = { headers: {} };
    try {
      await this.#config.applyToHTTPSOptions(options);
    } catch (err) {
      throw new KvError('Unavailable', `cannot read the credentials for ${this.server}: ${messageOf(err)}`, { cause: err });
    }
    const headers = Object.fromEntries(Object.entries(options.headers ?? {}).map(([name, value]) => [name, String(value)]));
    if (options.auth) headers.authorization = `Basic ${Buffer.from(options.auth).toString('base64')}`;
    const proxied = this.#config.getCurrentCluster()?.proxyUrl !== undefined;
    return { headers, tls: tlsOf(options), ...(proxied && options.agent ? { agent: options.agent as http.Agent } : {}) };
  }
}

const tlsOf = ({ ca, cert, key, servername, rejectUnauthorized }: RequestOptions): TlsMaterial => ({
  ...(ca ? { ca } : {}),
  ...(cert ? { cert } : {}),
  ...(key ? { key } : {}),
  ...(servername === undefined ? {} : { servername }),
  ...(rejectUnauthorized === undefined ? {} : { rejectUnauthorized }),
});

export function kubeTransport(config: KubeConfig, clock: Clock): HttpTransport {
  return new HttpTransport(new KubeConfigCredentials(config, clock));
}
