// When certificates are due, and who stays in the bundle.
import { beforeAll, describe, expect, it } from 'vitest';
import { createAuthority, createLeaf, type KeyPair, splitBundle } from '../../../base/crypto/certificates.js';
import { parseDuration } from '../../../core/duration.js';
import { bundleChangesAt, judgeAuthority, judgeLeaf, mergeBundle } from './rotation.js';
import { leafSpecs, lifetimes } from './specs.js';

const HOUR = 3_600_000;
const START = Date.UTC(2026, 0, 1);
const defaults = lifetimes({});
const at = (hours: number): number => START + hours * HOUR;

let ca: KeyPair;
let next: KeyPair;
let leaf: KeyPair;

beforeAll(async () => {
  ca = await createAuthority('kubevirt.io', { notBefore: START, notAfter: at(168) });
  next = await createAuthority('kubevirt.io', { notBefore: at(134), notAfter: at(302) });
  leaf = await createLeaf(ca, { commonName: 'me', usages: ['server'], notBefore: START, notAfter: at(24) });
});

describe('durations', () => {
  it.each([
    ['168h', 168 * HOUR],
    ['4h48m0s', 4.8 * HOUR],
    ['1.5h', 1.5 * HOUR],
    ['300ms', 300],
    ['10', undefined],
    ['0', 0],
    ['-1h', -HOUR],
    ['1h30m', 1.5 * HOUR],
    ['500us', 0.5],
    ['1h-30m', undefined],
    ['ten hours', undefined],
    ['', undefined],
  ])('%s', (text, expected) => {
    expect(parseDuration(text)).toBe(expected);
  });

  it('takes defaults, own values and the deprecated ones', () => {
    expect(defaults).toEqual({
      ca: { durationMs: 168 * HOUR, renewBeforeMs: 33.6 * HOUR },
      server: { durationMs: 24 * HOUR, renewBeforeMs: 4.8 * HOUR },
    });
    const own = { selfSigned: { ca: { duration: '48h', renewBefore: '12h' }, server: { duration: '10h' } } };
    expect(lifetimes({ certificateRotateStrategy: own })).toEqual({
      ca: { durationMs: 48 * HOUR, renewBeforeMs: 12 * HOUR },
      server: { durationMs: 10 * HOUR, renewBeforeMs: 2 * HOUR },
    });
    const old = { selfSigned: { caRotateInterval: '100h', caOverlapInterval: '10h', certRotateInterval: '50h' } };
    expect(lifetimes({ certificateRotateStrategy: old })).toEqual({
      ca: { durationMs: 100 * HOUR, renewBeforeMs: 10 * HOUR },
      server: { durationMs: 50 * HOUR, renewBeforeMs: 10 * HOUR },
    });
  });
});

describe('judgements', () => {
  it('renews an authority a fifth of its life before its end, or when it is missing or damaged', () => {
    expect(judgeAuthority(ca, defaults.ca, at(1))).toEqual({ renew: false, until: at(168 - 33.6) });
    expect(judgeAuthority(ca, defaults.ca, at(168 - 33.6)).renew).toBe(true);
    expect(judgeAuthority(undefined, defaults.ca, at(1)).renew).toBe(true);
    expect(judgeAuthority({ ...ca, keyPem: next.keyPem }, defaults.ca, at(1)).renew).toBe(true);
    const shorter = { durationMs: 10 * HOUR, renewBeforeMs: 2 * HOUR };
    expect(judgeAuthority(ca, shorter, at(9))).toMatchObject({ renew: true });
  });

  it.each<[string, () => Partial<Parameters<typeof judgeLeaf>[0]>, number, boolean]>([
    ['fresh', () => ({}), 1, false],
    ['due', () => ({}), 24 - 4.8, true],
    ['missing', () => ({ pair: undefined }), 1, true],
    ['another name', () => ({ commonName: 'you' }), 1, true],
    ['a new authority', () => ({ authorityPem: next.certPem }), 1, true],
    ['damaged', () => ({ pair: { certPem: 'x', keyPem: 'y' } }), 1, true],
  ])('leaf: %s', (_title, change, hours, expected) => {
    const input = { pair: leaf, authorityPem: ca.certPem, commonName: 'me', lifetimes: defaults, ...change() };
    expect(judgeLeaf(input, at(hours)).renew).toBe(expected);
  });

  it('lets no leaf outlive the change of its authority', () => {
    const ending = { ...defaults, ca: { durationMs: 30 * HOUR, renewBeforeMs: 310 * HOUR } };
    expect(judgeLeaf({ pair: leaf, authorityPem: ca.certPem, commonName: 'me', lifetimes: ending }, at(1))).toEqual({
      renew: false,
      until: at(168 - 155),
    });
  });
});

describe('bundle', () => {
  it('puts the current authority first and keeps its predecessor for the overlap', () => {
    const both = mergeBundle(next.certPem, ca.certPem, 33 * HOUR, at(135));
    expect(splitBundle(both)).toEqual([next.certPem.trim(), ca.certPem.trim()]);
    expect(bundleChangesAt(both, 33 * HOUR)).toBe(at(134 + 33));
    const one = mergeBundle(next.certPem, both, 33 * HOUR, at(134 + 33));
    expect(splitBundle(one)).toEqual([next.certPem.trim()]);
    expect(bundleChangesAt(one, 33 * HOUR)).toBeUndefined();
  });

  it('drops what is over or no certificate, and repeats nothing', () => {
    expect(splitBundle(mergeBundle(next.certPem, ca.certPem, 500 * HOUR, at(169)))).toHaveLength(1);
    expect(splitBundle(mergeBundle(ca.certPem, `${ca.certPem}\ngarbage\n${ca.certPem}`, HOUR, at(1)))).toHaveLength(1);
  });
});

it('names every service as it is called', () => {
  const api = leafSpecs('ns').find(({ secret }) => secret === 'kubevirt-virt-api-certs');
  expect(api?.dnsNames).toContain('virt-api.ns.svc');
  expect(api?.commonName).toBe('virt-api.ns.pod.cluster.local');
});
