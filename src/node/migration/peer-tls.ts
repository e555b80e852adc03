// How the node agents of two nodes recognise each other: mutual TLS with the migration certificates, whose names end in one of the known kinds.
// Files are read for every connection or listener, so that a renewed certificate needs no restart.
import { readFileSync } from 'node:fs';
import type { ConnectionOptions, PeerCertificate, TlsOptions } from 'node:tls';
import { KvError } from '../../base/errors.js';

export interface PeerTls {
  readonly certFile: string;
  readonly keyFile: string;
  /** PEM bundle that the peer's certificate must be signed by. */
  readonly ca: () => string | undefined;
  /** --migration-cn-types: what a peer's name may end in. */
  readonly kinds: readonly string[];
}

const PREFIX = 'kubevirt.io:system:';

/** What is wrong with the peer's name; undefined when nothing is. */
export function nameFault(kinds: readonly string[], cert: Pick<PeerCertificate, 'subject'> | undefined): string | undefined {
  const name = cert?.subject?.CN;
  const kind = typeof name === 'string' && name.startsWith(PREFIX) ? name.slice(name.lastIndexOf(':') + 1) : undefined;
  return kind !== undefined && kinds.includes(kind) ? undefined : `the peer's certificate names ${String(name)}, no node agent`;
}

function files({ certFile, keyFile, ca }: PeerTls): { cert: string; key: string; ca: string } {
  const bundle = ca();
  if (!bundle) throw new KvError('NotReady', 'the CA bundle of the install namespace is not known yet: check the ConfigMap kubevirt-ca');
  try {
    return { cert: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8'), ca: bundle };
  } catch (cause) {
    throw new KvError('NotReady', `cannot read the migration certificate from ${certFile} and ${keyFile}: is its Secret mounted?`, {
      cause,
    });
  }
}

export const serverOptions = (tls: PeerTls): TlsOptions => ({
  ...files(tls),
  minVersion: 'TLSv1.3',
  requestCert: true,
  rejectUnauthorized: true,
});

export const clientOptions = (tls: PeerTls): ConnectionOptions => ({
  ...files(tls),
  minVersion: 'TLSv1.3',
  // Nodes are dialled by address; the name in the certificate tells what the peer is.
  checkServerIdentity: (_host: string, cert: PeerCertificate) => {
    const fault = nameFault(tls.kinds, cert);
    return fault === undefined ? undefined : new Error(fault);
  },
});
