// Which authorities and leaf certificates an installation has, and how long they live. Pure.
import type { KubeVirtSpec } from '../../../api/index.js';
import { parseDuration } from '../../../core/duration.js';
import { AUTHORITY, SECRET, SERVICE } from '../manifests/names.js';

export interface AuthoritySpec {
  /** Name of the Secret and of the ConfigMap with the bundle. */
  readonly name: string;
  readonly commonName: string;
}

export interface LeafSpec {
  readonly secret: string;
  readonly commonName: string;
  readonly dnsNames: readonly string[];
  readonly usages: readonly ('server' | 'client')[];
}

export interface Lifetime {
  readonly durationMs: number;
  readonly renewBeforeMs: number;
}

export interface Lifetimes {
  readonly ca: Lifetime;
  readonly server: Lifetime;
}

export const AUTHORITIES: readonly AuthoritySpec[] = [
  { name: AUTHORITY.main, commonName: 'kubevirt.io' },
  { name: AUTHORITY.export, commonName: 'export.kubevirt.io' },
  { name: AUTHORITY.backup, commonName: 'backup.kubevirt.io' },
];

const service = (namespace: string, secret: string, name: string): LeafSpec => ({
  secret,
  commonName: `${name}.${namespace}.pod.cluster.local`,
  dnsNames: [name, `${name}.${namespace}`, `${name}.${namespace}.svc`, `${name}.${namespace}.svc.cluster.local`],
  usages: ['server'],
});

const subject = (secret: string, commonName: string, ...usages: LeafSpec['usages']): LeafSpec => ({
  secret,
  commonName,
  dnsNames: [commonName],
  usages,
});

/** All are signed by the main authority. */
export function leafSpecs(namespace: string): LeafSpec[] {
  return [
    service(namespace, SECRET.operator, SERVICE.operatorWebhook),
    service(namespace, SECRET.api, SERVICE.api),
    service(namespace, SECRET.controller, 'virt-controller'),
    subject(SECRET.handlerServer, 'kubevirt.io:system:node:virt-handler', 'server', 'client'),
    subject(SECRET.handlerClient, 'kubevirt.io:system:client:virt-handler', 'client'),
    // The same pair serves and dials in a migration: source and target are peers.
    subject(SECRET.migrationClient, 'kubevirt.io:system:client:migration', 'client', 'server'),
    subject(SECRET.vsockClient, 'kubevirt.io:system:client:vsock', 'client'),
    subject(SECRET.monitoringClient, 'kubevirt.io:system:client:monitoring', 'client'),
  ];
}

const HOUR_MS = 3_600_000;
const DEFAULT_CA_MS = 168 * HOUR_MS;
const DEFAULT_SERVER_MS = 24 * HOUR_MS;
const RENEW_SHARE = 0.2;

function lifetime(duration: string | undefined, renewBefore: string | undefined, fallbackMs: number): Lifetime {
  const durationMs = parseDuration(duration) ?? fallbackMs;
  return { durationMs, renewBeforeMs: parseDuration(renewBefore) ?? durationMs * RENEW_SHARE };
}

/** The deprecated settings win where both are given, so that an installation that still has them keeps its rhythm. */
export function lifetimes(spec: Pick<KubeVirtSpec, 'certificateRotateStrategy'>): Lifetimes {
  const own = spec.certificateRotateStrategy?.selfSigned ?? {};
  return {
    ca: lifetime(own.caRotateInterval ?? own.ca?.duration, own.caOverlapInterval ?? own.ca?.renewBefore, DEFAULT_CA_MS),
    server: lifetime(own.certRotateInterval ?? own.server?.duration, own.server?.renewBefore, DEFAULT_SERVER_MS),
  };
}
