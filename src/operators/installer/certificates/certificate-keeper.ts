// Keeps authorities, trust bundles and leaf certificates: makes what is missing or due, tells when to look again. Called in every
// pass of the installer; what is still good is left alone.
import type { ConfigMap, Secret } from '../../../api/index.js';
import type { Ctx } from '../../../base/context.js';
import { createAuthority, createLeaf, type KeyPair } from '../../../base/crypto/certificates.js';
import { type Applier, allDone } from '../apply.js';
import type { ManagedKinds } from '../managed.js';
import { AUTHORITY, CA_BUNDLE_KEY } from '../manifests/names.js';
import { bundleChangesAt, judgeAuthority, judgeLeaf, mergeBundle, type Verdict } from './rotation.js';
import { AUTHORITIES, type AuthoritySpec, type LeafSpec, type Lifetimes, leafSpecs } from './specs.js';

export interface Trust {
  readonly authority: KeyPair;
  /** PEM: what others must trust. */
  readonly bundle: string;
}

// Clocks of nodes differ a little; a certificate must not be too young for any of them.
const BACKDATE_MS = 60_000;

/** Makes certificates: real ones by default; tests keep their clock still meanwhile. */
export interface Certifier {
  readonly createAuthority: typeof createAuthority;
  readonly createLeaf: typeof createLeaf;
}

export const CERTIFIER: Certifier = { createAuthority, createLeaf };

export interface KeeperInput {
  readonly certifier: Certifier;
  readonly namespace: string;
  readonly lifetimes: Lifetimes;
  readonly kinds: ManagedKinds;
  readonly applier: Applier;
}

export class CertificateKeeper {
  readonly #input: KeeperInput;
  #nextAt = Number.POSITIVE_INFINITY;

  constructor(input: KeeperInput) {
    this.#input = input;
  }

  /** When the next certificate is due; ms since the epoch. */
  get nextAt(): number {
    return this.#nextAt;
  }

  /** Authorities and bundles, and the leaves, which the main one signs; returns that. */
  async keepAll(ctx: Ctx): Promise<Trust> {
    const kept = await allDone(AUTHORITIES.map((spec) => this.#keepAuthority(spec, ctx)));
    const main = kept[AUTHORITIES.findIndex(({ name }) => name === AUTHORITY.main)] as Trust;
    await allDone(leafSpecs(this.#input.namespace).map((spec) => this.#keepLeaf(spec, main.authority, ctx)));
    return main;
  }

  async #keepAuthority({ name, commonName }: AuthoritySpec, ctx: Ctx): Promise<Trust> {
    const { lifetimes, namespace, applier } = this.#input;
    const now = ctx.now();
    const old = this.#pair(name);
    const verdict = judgeAuthority(old, lifetimes.ca, now);
    let authority = old as KeyPair;
    if (verdict.renew) {
      ctx.log.info({ secret: name, why: verdict.why }, 'Making a certificate authority');
      authority = await this.#input.certifier.createAuthority(commonName, validity(now, lifetimes.ca.durationMs));
    }
    await this.#store(name, authority, ctx);
    const overlapMs = lifetimes.ca.renewBeforeMs;
    const bundle = mergeBundle(authority.certPem, this.#bundle(name), overlapMs, now);
    const configMap: ConfigMap = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace },
      data: { [CA_BUNDLE_KEY]: bundle },
    };
    await applier.apply(configMap, ctx);
    this.#lookAgain(verdict.renew ? judgeAuthority(authority, lifetimes.ca, now) : verdict);
    this.#nextAt = Math.min(this.#nextAt, bundleChangesAt(bundle, overlapMs) ?? Number.POSITIVE_INFINITY);
    return { authority, bundle };
  }

  async #keepLeaf(spec: LeafSpec, authority: KeyPair, ctx: Ctx): Promise<void> {
    const { lifetimes, certifier } = this.#input;
    const now = ctx.now();
    const input = { authorityPem: authority.certPem, commonName: spec.commonName, lifetimes };
    const old = this.#pair(spec.secret);
    const verdict = judgeLeaf({ ...input, pair: old }, now);
    let pair = old as KeyPair;
    if (verdict.renew) {
      ctx.log.info({ secret: spec.secret, why: verdict.why }, 'Making a certificate');
      pair = await certifier.createLeaf(authority, { ...spec, ...validity(now, lifetimes.server.durationMs) });
    }
    await this.#store(spec.secret, pair, ctx);
    this.#lookAgain(verdict.renew ? judgeLeaf({ ...input, pair }, now) : verdict);
  }

  #lookAgain(verdict: Verdict): void {
    if (!verdict.renew) this.#nextAt = Math.min(this.#nextAt, verdict.until);
  }

  async #store(name: string, { certPem, keyPem }: KeyPair, ctx: Ctx): Promise<void> {
    const secret: Secret = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name, namespace: this.#input.namespace },
      type: 'kubernetes.io/tls',
      data: { 'tls.crt': encode(certPem), 'tls.key': encode(keyPem) },
    };
    await this.#input.applier.apply(secret, ctx);
  }

  #pair(name: string): KeyPair | undefined {
    const secret = this.#cached<Secret>('Secret', name);
    const [cert, key] = [secret?.data?.['tls.crt'], secret?.data?.['tls.key']];
    return cert && key ? { certPem: decode(cert), keyPem: decode(key) } : undefined;
  }

  #bundle(name: string): string | undefined {
    return this.#cached<ConfigMap>('ConfigMap', name)?.data?.[CA_BUNDLE_KEY];
  }

  #cached<T>(kind: string, name: string): T | undefined {
    const { kinds, namespace } = this.#input;
    return kinds.of({ kind, metadata: {} }).store.get(`${namespace}/${name}`) as T | undefined;
  }
}

const validity = (now: number, durationMs: number): { notBefore: number; notAfter: number } => ({
  notBefore: now - BACKDATE_MS,
  notAfter: now + durationMs,
});
const encode = (text: string): string => Buffer.from(text).toString('base64');
const decode = (text: string): string => Buffer.from(text, 'base64').toString();
