// Server certificates that come from mounted files and change while the process runs. Polls the files (a mounted Secret is a chain of
// symlinks, which file-system events miss) and hands each complete, matching pair to the server. Never ends a process, never serves a half-written pair.
import { readFileSync, statSync } from 'node:fs';
import { createSecureContext, type SecureVersion } from 'node:tls';
import type { Clock } from '../base/clock.js';
import { KvError, messageOf } from '../base/errors.js';
import type { Logger } from '../base/logger.js';

export interface ServerTls {
  readonly certFile: string;
  readonly keyFile: string;
  /** PEM bundle that client certificates are checked against; read again on every poll. Absent: clients are not asked for a certificate. */
  readonly clientCa?: () => string | undefined;
  /** 'required': a client without a valid certificate is cut off in the handshake. Default 'optional': see Peer.authorized. */
  readonly clientCert?: 'optional' | 'required';
  readonly minVersion?: SecureVersion;
  /** OpenSSL names, joined by colons; TLS 1.2 and below only. */
  readonly ciphers?: string;
}

export interface SecureFiles {
  readonly cert: string;
  readonly key: string;
  /** Empty: nobody is trusted. */
  readonly ca?: string | string[];
}

const POLL_MS = 5_000;

const stamp = (file: string): string => {
  const { mtimeMs, ino, size } = statSync(file);
  return `${mtimeMs}:${ino}:${size}`;
};

/** Reads and checks the pair. Throws a KvError NotReady that names the files. */
export function readServerTls(tls: ServerTls): SecureFiles {
  const { certFile, keyFile } = tls;
  try {
    // Without a list of its own a server trusts every public authority: as long as the bundle is not known, nobody is trusted.
    const ca = tls.clientCa && { ca: tls.clientCa() || [] };
    const files = { cert: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8'), ...ca };
    createSecureContext(files);
    return files;
  } catch (cause) {
    throw new KvError(
      'NotReady',
      `cannot load the server certificate from ${certFile} and ${keyFile}: check that the Secret is mounted and holds a matching tls.crt and tls.key`,
      { cause },
    );
  }
}

/** Calls `apply` with every new valid pair until `signal` aborts. */
export function watchServerTls(
  tls: ServerTls,
  apply: (files: SecureFiles) => void,
  deps: { readonly clock: Clock; readonly log: Logger; readonly signal: AbortSignal; readonly pollMs?: number },
): void {
  const seen = (): string => `${stamp(tls.certFile)} ${stamp(tls.keyFile)} ${tls.clientCa?.() ?? ''}`;
  let last = seen();
  let cancel = (): void => undefined;
  const poll = (): void => {
    try {
      const now = seen();
      if (now !== last) {
        apply(readServerTls(tls));
        last = now;
        deps.log.info({ certFile: tls.certFile }, 'Reloaded the server certificate');
      }
    } catch (err) {
      // The old pair stays in use; the next poll tries again.
      deps.log.warn({ err: messageOf(err), certFile: tls.certFile }, 'Keeping the old server certificate');
    }
    cancel = deps.clock.after(deps.pollMs ?? POLL_MS, poll);
  };
  cancel = deps.clock.after(deps.pollMs ?? POLL_MS, poll);
  deps.signal.addEventListener('abort', () => cancel(), { once: true });
}
