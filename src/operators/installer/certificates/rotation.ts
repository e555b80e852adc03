// When a certificate is to be replaced, and which authorities are still trusted. Pure: time and texts come in.
import { isMatchingPair, isSignedBy, type KeyPair, readCertificate, splitBundle } from '../../../base/crypto/certificates.js';
import type { Lifetime, Lifetimes } from './specs.js';

/** `why` is for the log; `until` is when to look again. */
export type Verdict = { readonly renew: true; readonly why: string } | { readonly renew: false; readonly until: number };

const MAX_BUNDLE = 50;

export function judgeAuthority(pair: KeyPair | undefined, lifetime: Lifetime, now: number): Verdict {
  if (!pair) return { renew: true, why: 'there is none' };
  const facts = readCertificate(pair.certPem);
  if (!facts || !isMatchingPair(pair)) return { renew: true, why: 'it is damaged' };
  const until = renewalTime(facts.notBefore, facts.notAfter, lifetime);
  return now >= until ? { renew: true, why: 'its time is over' } : { renew: false, until };
}

export interface LeafInput {
  readonly pair: KeyPair | undefined;
  readonly authorityPem: string;
  readonly commonName: string;
  readonly lifetimes: Lifetimes;
}

/** A leaf must end before its authority's successor takes over: half of the overlap is left for the exchange. */
export function judgeLeaf({ pair, authorityPem, commonName, lifetimes }: LeafInput, now: number): Verdict {
  if (!pair) return { renew: true, why: 'there is none' };
  const [facts, authority] = [readCertificate(pair.certPem), readCertificate(authorityPem)];
  if (!facts || !authority || !isMatchingPair(pair)) return { renew: true, why: 'it is damaged' };
  if (facts.commonName !== commonName) return { renew: true, why: `it names ${facts.commonName}` };
  if (!isSignedBy(pair.certPem, authorityPem)) return { renew: true, why: 'its authority was replaced' };
  const own = renewalTime(facts.notBefore, facts.notAfter, lifetimes.server);
  const until = Math.min(own, authority.notAfter - lifetimes.ca.renewBeforeMs / 2);
  return now >= until ? { renew: true, why: 'its time is over' } : { renew: false, until };
}

/** A certificate that was made for a longer life than is wanted now is replaced as if it had been made for the shorter one. */
function renewalTime(notBefore: number, notAfter: number, { durationMs, renewBeforeMs }: Lifetime): number {
  return Math.min(notAfter, notBefore + durationMs) - renewBeforeMs;
}

/**
 * The bundle with the current authority first. A predecessor is trusted until the overlap after its successor's start is over,
 * so that leaves signed by it stay valid while they are exchanged.
 */
export function mergeBundle(currentPem: string, bundle: string | undefined, overlapMs: number, now: number): string {
  const current = currentPem.trim();
  const known = [current, ...splitBundle(bundle ?? '').map((pem) => pem.trim())].filter((pem, at, all) => all.indexOf(pem) === at);
  const dated = known
    .map((pem) => ({ pem, facts: readCertificate(pem) }))
    .filter(({ facts }) => facts !== undefined)
    .sort((a, b) => (b.facts?.notBefore ?? 0) - (a.facts?.notBefore ?? 0));
  const kept = dated.filter(({ pem, facts }, at) => {
    if (pem === current) return true;
    const successor = dated[at - 1]?.facts;
    if (!facts || facts.notAfter <= now) return false;
    return successor === undefined || now < successor.notBefore + overlapMs;
  });
  const ordered = [current, ...kept.map(({ pem }) => pem).filter((pem) => pem !== current)];
  return `${ordered.slice(0, MAX_BUNDLE).join('\n')}\n`;
}

/** When the bundle loses a member, if it has more than the current one. */
export function bundleChangesAt(bundle: string, overlapMs: number): number | undefined {
  const [current, ...older] = splitBundle(bundle);
  const facts = readCertificate(current ?? '');
  return older.length > 0 && facts ? facts.notBefore + overlapMs : undefined;
}
