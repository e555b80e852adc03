// The certificates as other programs see them: signed by the right authority, with the names that clients ask for.
import { createPublicKey, X509Certificate } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { scratchDir } from '../fakes/scratch.js';
import { clusterConfig } from './config.js';
import { ensurePki } from './pki.js';

const dir = scratchDir();
const config = clusterConfig({ KUBEVIRT_TS_CLUSTER_DIR: dir });
const read = (file: string) => readFileSync(join(config.pkiDir, file));
const cert = (file: string) => new X509Certificate(read(`${file}.crt`));

beforeAll(() => ensurePki(config));

it.each([
  ['apiserver', 'ca'],
  ['admin', 'ca'],
  ['node1', 'ca'],
  ['front-proxy-client', 'front-proxy-ca'],
  ['etcd', 'etcd-ca'],
])('%s is signed by %s and by no other', (file, authority) => {
  const signers = ['ca', 'front-proxy-ca', 'etcd-ca'].filter((name) => cert(file).verify(cert(name).publicKey));
  expect(signers).toEqual([authority]);
  expect(cert(authority).ca).toBe(true);
  expect(cert(file).ca).toBe(false);
});

it('the API server answers to its address and its service name', () => {
  expect(cert('apiserver').checkIP(config.hostIp)).toBe(config.hostIp);
  expect(cert('apiserver').checkHost('kubernetes.default.svc')).toBe('kubernetes.default.svc');
});

it('the keys of tokens belong together', () => {
  const derived = createPublicKey(read('sa.key')).export({ type: 'spki', format: 'pem' });
  expect(derived).toBe(read('sa.pub').toString());
});

it('keys and kubeconfigs are for root alone', () => {
  for (const file of ['ca.key', 'admin.key', 'sa.key', 'admin.conf']) expect(statSync(join(config.pkiDir, file)).mode & 0o077).toBe(0);
});

it('a second call keeps what is there', async () => {
  const before = read('ca.crt');
  await ensurePki(config);
  expect(read('ca.crt').equals(before)).toBe(true);
});
