// Makes and reads X.509 certificates (ECDSA P-256): certificate authorities, and leaves signed by them. Called by the installer for
// every component's Secret and by processes that serve before they have one. Decides nothing about when to renew.
import 'reflect-metadata'; // @peculiar/x509 needs it loaded first
import { createPrivateKey, randomBytes, webcrypto, X509Certificate } from 'node:crypto';
import * as x509 from '@peculiar/x509';

export interface KeyPair {
  readonly certPem: string;
  readonly keyPem: string;
}

export interface Validity {
  /** Milliseconds since the epoch. */
  readonly notBefore: number;
  readonly notAfter: number;
}

export interface LeafRequest extends Validity {
  readonly commonName: string;
  readonly dnsNames?: readonly string[];
  readonly usages: readonly ('server' | 'client')[];
}

export interface CertificateFacts extends Validity {
  readonly commonName: string;
}

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const USAGE = { server: x509.ExtendedKeyUsage.serverAuth, client: x509.ExtendedKeyUsage.clientAuth } as const;

const newKeys = (): Promise<webcrypto.CryptoKeyPair> =>
  webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']) as Promise<webcrypto.CryptoKeyPair>;

// 63 random bits: positive, as RFC 5280 asks.
function serialNumber(): string {
  const bytes = randomBytes(8);
  bytes[0] = (bytes[0] ?? 0) & 0x7f;
  return bytes.toString('hex');
}

async function keyToPem(key: webcrypto.CryptoKey): Promise<string> {
  return x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY');
}

const name = (commonName: string): x509.Name => new x509.Name([{ CN: [commonName] }]);
const dates = ({ notBefore, notAfter }: Validity): { notBefore: Date; notAfter: Date } => ({
  notBefore: new Date(notBefore),
  notAfter: new Date(notAfter),
});

export async function createAuthority(commonName: string, validity: Validity): Promise<KeyPair> {
  const keys = await newKeys();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: name(commonName).toString(),
    ...dates(validity),
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.digitalSignature | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { certPem: certificate.toString('pem'), keyPem: await keyToPem(keys.privateKey) };
}

export async function createLeaf(authority: KeyPair, request: LeafRequest): Promise<KeyPair> {
  const keys = await newKeys();
  const issuer = new x509.X509Certificate(authority.certPem);
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject: name(request.commonName).toString(),
    issuer: issuer.subject,
    ...dates(request),
    signingAlgorithm: ALGORITHM,
    publicKey: keys.publicKey,
    signingKey: await importKey(authority.keyPem),
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature | x509.KeyUsageFlags.keyEncipherment, true),
      new x509.ExtendedKeyUsageExtension(request.usages.map((usage) => USAGE[usage])),
      ...(request.dnsNames?.length
        ? [new x509.SubjectAlternativeNameExtension(request.dnsNames.map((value) => ({ type: 'dns' as const, value })))]
        : []),
      await x509.AuthorityKeyIdentifierExtension.create(issuer),
    ],
  });
  return { certPem: certificate.toString('pem'), keyPem: await keyToPem(keys.privateKey) };
}

async function importKey(pem: string): Promise<webcrypto.CryptoKey> {
  const der = createPrivateKey(pem).export({ format: 'der', type: 'pkcs8' });
  return await webcrypto.subtle.importKey('pkcs8', der, ALGORITHM, false, ['sign']);
}

/** undefined when the text is no certificate. */
export function readCertificate(pem: string): CertificateFacts | undefined {
  const parsed = parse(pem);
  if (!parsed) return undefined;
  const commonName = /^CN=(.*)$/m.exec(parsed.subject)?.[1] ?? '';
  return { commonName, notBefore: parsed.validFromDate.getTime(), notAfter: parsed.validToDate.getTime() };
}

export function isSignedBy(pem: string, authorityPem: string): boolean {
  const [leaf, authority] = [parse(pem), parse(authorityPem)];
  return leaf !== undefined && authority !== undefined && leaf.checkIssued(authority) && leaf.verify(authority.publicKey);
}

export function isMatchingPair({ certPem, keyPem }: KeyPair): boolean {
  const certificate = parse(certPem);
  try {
    return certificate?.checkPrivateKey(createPrivateKey(keyPem)) === true;
  } catch {
    return false; // no key at all: the pair is as good as absent
  }
}

/** The certificates of a bundle, one PEM text each. */
export function splitBundle(bundle: string): string[] {
  return bundle.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
}

function parse(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem);
  } catch {
    return undefined; // damaged or empty: the caller replaces it
  }
}
