// The cluster's certificates: one authority each for the API, the front proxy and etcd, and one certificate an identity.
// Made once for each life of the cluster; the keys never leave the state folder, which only root can read.
import 'reflect-metadata';
import { createPrivateKey, createPublicKey, webcrypto } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as x509 from '@peculiar/x509';
import { apiUrl, type ClusterConfig } from './config.js';
import { renderKubeconfig } from './kubeconfig.js';
import { STORAGE_USER } from './storage.js';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const DAY_MS = 86_400_000;
const LIFE_MS = 365 * DAY_MS;
// The clock of a machine that was just resumed may step back a little.
const BACKDATE_MS = 3_600_000;

interface Authority {
  readonly keys: webcrypto.CryptoKeyPair;
  readonly cert: x509.X509Certificate;
}

export interface Identity {
  readonly file: string;
  readonly subject: string;
  readonly dns?: readonly string[];
  readonly ips?: readonly string[];
  /** Writes <file>.conf, a kubeconfig, too. */
  readonly kubeconfig?: boolean;
}

export function identities(config: ClusterConfig): Identity[] {
  return [
    {
      file: 'apiserver',
      subject: 'CN=kube-apiserver',
      dns: ['kubernetes', 'kubernetes.default', 'kubernetes.default.svc', `kubernetes.default.svc.${config.domain}`, 'localhost'],
      ips: [config.apiServiceIp, config.hostIp, '127.0.0.1'],
    },
    { file: 'admin', subject: 'O=system:masters, CN=admin', kubeconfig: true },
    { file: 'controller-manager', subject: 'CN=system:kube-controller-manager', kubeconfig: true },
    { file: 'scheduler', subject: 'CN=system:kube-scheduler', kubeconfig: true },
    { file: 'proxy', subject: 'CN=system:kube-proxy', kubeconfig: true },
    { file: 'coredns', subject: 'CN=system:coredns', kubeconfig: true },
    { file: 'storage', subject: `CN=${STORAGE_USER}`, kubeconfig: true },
    { file: 'kubelet-client', subject: 'O=system:masters, CN=kube-apiserver-kubelet-client' },
    ...config.nodes.map((node) => ({
      file: node.name,
      subject: `O=system:nodes, CN=system:node:${node.name}`,
      dns: [node.name],
      ips: [node.ip],
      kubeconfig: true,
    })),
  ];
}

/** Makes whatever is missing; a folder made by an interrupted run is made anew. */
export async function ensurePki(config: ClusterConfig): Promise<void> {
  const done = join(config.pkiDir, 'complete');
  if (existsSync(done)) return;
  mkdirSync(config.pkiDir, { recursive: true, mode: 0o700 });
  x509.cryptoProvider.set(webcrypto as unknown as Parameters<typeof x509.cryptoProvider.set>[0]);
  const main = await makeAuthority(config, 'ca', 'CN=kubernetes-ca');
  const front = await makeAuthority(config, 'front-proxy-ca', 'CN=front-proxy-ca');
  const etcd = await makeAuthority(config, 'etcd-ca', 'CN=etcd-ca');
  await Promise.all([
    ...identities(config).map((identity) => makeIdentity(config, main, identity)),
    makeIdentity(config, front, { file: 'front-proxy-client', subject: 'CN=front-proxy-client' }),
    makeIdentity(config, etcd, { file: 'etcd', subject: 'CN=etcd', dns: ['localhost'], ips: ['127.0.0.1'] }),
    makeIdentity(config, etcd, { file: 'etcd-client', subject: 'CN=kube-apiserver' }),
  ]);
  await makeServiceAccountKey(config);
  writeFileSync(config.kubeconfig, readFileSync(join(config.pkiDir, 'admin.conf')), { mode: 0o600 });
  writeFileSync(done, '');
}

async function makeAuthority(config: ClusterConfig, file: string, name: string): Promise<Authority> {
  const keys = await newKeys();
  const cert = await x509.X509CertificateGenerator.createSelfSigned({
    name,
    keys,
    ...validity(),
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign | x509.KeyUsageFlags.digitalSignature, true),
    ],
  });
  await writePair(config, file, cert, keys.privateKey);
  return { keys, cert };
}

async function makeIdentity(config: ClusterConfig, authority: Authority, identity: Identity): Promise<void> {
  const keys = await newKeys();
  const names: x509.JsonGeneralNames = [
    ...(identity.dns ?? []).map((value) => ({ type: 'dns' as const, value })),
    ...(identity.ips ?? []).map((value) => ({ type: 'ip' as const, value })),
  ];
  const cert = await x509.X509CertificateGenerator.create({
    subject: identity.subject,
    issuer: authority.cert.subject,
    publicKey: keys.publicKey,
    signingKey: authority.keys.privateKey,
    signingAlgorithm: ALGORITHM,
    ...validity(),
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth, x509.ExtendedKeyUsage.clientAuth]),
      ...(names.length > 0 ? [new x509.SubjectAlternativeNameExtension(names)] : []),
    ],
  });
  const key = await writePair(config, identity.file, cert, keys.privateKey);
  if (!identity.kubeconfig) return;
  const text = renderKubeconfig({ server: apiUrl(config), ca: authority.cert.toString('pem'), cert: cert.toString('pem'), key });
  writeFileSync(join(config.pkiDir, `${identity.file}.conf`), text, { mode: 0o600 });
}

async function makeServiceAccountKey(config: ClusterConfig): Promise<void> {
  const keys = await newKeys();
  const key = await privatePem(keys.privateKey);
  writeFileSync(join(config.pkiDir, 'sa.key'), key, { mode: 0o600 });
  writeFileSync(join(config.pkiDir, 'sa.pub'), createPublicKey(createPrivateKey(key)).export({ type: 'spki', format: 'pem' }));
}

async function newKeys(): Promise<webcrypto.CryptoKeyPair> {
  return (await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])) as webcrypto.CryptoKeyPair;
}

function validity(): { notBefore: Date; notAfter: Date } {
  const now = Date.now();
  return { notBefore: new Date(now - BACKDATE_MS), notAfter: new Date(now + LIFE_MS) };
}

async function privatePem(key: webcrypto.CryptoKey): Promise<string> {
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', key));
  // SEC 1, the form ("EC PRIVATE KEY") that all of the components read.
  return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }).export({ type: 'sec1', format: 'pem' }) as string;
}

async function writePair(config: ClusterConfig, file: string, cert: x509.X509Certificate, key: webcrypto.CryptoKey): Promise<string> {
  const pem = await privatePem(key);
  writeFileSync(join(config.pkiDir, `${file}.crt`), `${cert.toString('pem')}\n`);
  writeFileSync(join(config.pkiDir, `${file}.key`), pem, { mode: 0o600 });
  return pem;
}
