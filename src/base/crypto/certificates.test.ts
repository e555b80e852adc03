// What is made can be read, is signed by whom it says, and is accepted by Node's TLS.
import { connect, createServer } from 'node:tls';
import { describe, expect, it } from 'vitest';
import { createAuthority, createLeaf, isMatchingPair, isSignedBy, readCertificate, splitBundle } from './certificates.js';

const HOUR = 3_600_000;
const now = Math.floor(Date.now() / 1000) * 1000;
const validity = { notBefore: now - HOUR, notAfter: now + HOUR };

describe('certificates', () => {
  it('signs leaves that only their authority vouches for', async () => {
    const [ours, other] = [await createAuthority('ours', validity), await createAuthority('ours', validity)];
    const leaf = await createLeaf(ours, { ...validity, commonName: 'kubevirt.io:system:node:virt-handler', usages: ['server'] });
    expect(readCertificate(leaf.certPem)).toEqual({ ...validity, commonName: 'kubevirt.io:system:node:virt-handler' });
    expect([isSignedBy(leaf.certPem, ours.certPem), isSignedBy(leaf.certPem, other.certPem)]).toEqual([true, false]);
    expect([isMatchingPair(leaf), isMatchingPair({ ...leaf, keyPem: ours.keyPem })]).toEqual([true, false]);
    expect(splitBundle(`${ours.certPem}\n${other.certPem}\n`).map((pem) => readCertificate(pem)?.commonName)).toEqual(['ours', 'ours']);
  });

  it('takes damaged texts for no certificates', () => {
    expect(readCertificate('-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----')).toBeUndefined();
    expect(isMatchingPair({ certPem: '', keyPem: '' })).toBe(false);
    expect(isSignedBy('', '')).toBe(false);
  });

  it('makes pairs that TLS accepts in both directions', async () => {
    const authority = await createAuthority('ca', validity);
    const server = await createLeaf(authority, { ...validity, commonName: 'api', dnsNames: ['virt-api.kubevirt.svc'], usages: ['server'] });
    const client = await createLeaf(authority, { ...validity, commonName: 'client', usages: ['client'] });
    const listener = createServer({ cert: server.certPem, key: server.keyPem, ca: authority.certPem, requestCert: true }, (socket) => {
      socket.end(`${socket.authorized} ${socket.getPeerCertificate().subject.CN}`);
    });
    await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
    const { port } = listener.address() as { port: number };
    const answer = await new Promise<string>((resolve, reject) => {
      const tls = { ca: authority.certPem, cert: client.certPem, key: client.keyPem, servername: 'virt-api.kubevirt.svc' };
      const socket = connect({ port, host: '127.0.0.1', ...tls });
      socket.on('data', (data) => resolve(data.toString()));
      socket.on('error', reject);
    });
    listener.close();
    expect(answer).toBe('true client');
  });
});
