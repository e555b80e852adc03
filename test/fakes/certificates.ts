// Throw-away certificates for tests of servers and clients, made by the openssl command. One CA a call; leaf certificates carry a
// common name and are valid for 127.0.0.1. Used by unit tests only.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { scratchDir } from './scratch.js';

export interface TestCertificate {
  readonly certFile: string;
  readonly keyFile: string;
}

export interface TestCa {
  readonly pem: string;
  issue(commonName: string): TestCertificate;
}

const openssl = (...args: readonly string[]): void => {
  execFileSync('openssl', args, { stdio: ['ignore', 'ignore', 'pipe'] });
};

const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

export function testCa(commonName = 'test-ca'): TestCa {
  const dir = scratchDir();
  const caKey = join(dir, 'ca.key');
  const caCert = join(dir, 'ca.crt');
  openssl('req', '-x509', ...newKey, '-keyout', caKey, '-out', caCert, '-subj', `/CN=${commonName}`, '-days', '1');
  let serial = 0;
  return {
    pem: readFileSync(caCert, 'utf8'),
    issue(name) {
      const base = join(dir, `leaf${serial++}`);
      const [keyFile, csr, certFile, ext] = [`${base}.key`, `${base}.csr`, `${base}.crt`, `${base}.ext`];
      writeFileSync(ext, 'subjectAltName=IP:127.0.0.1,DNS:localhost\n');
      openssl('req', ...newKey, '-keyout', keyFile, '-out', csr, '-subj', `/CN=${name}`);
      openssl(
        'x509',
        '-req',
        '-in',
        csr,
        '-CA',
        caCert,
        '-CAkey',
        caKey,
        '-CAcreateserial',
        '-out',
        certFile,
        '-days',
        '1',
        '-extfile',
        ext,
      );
      return { certFile, keyFile };
    },
  };
}
