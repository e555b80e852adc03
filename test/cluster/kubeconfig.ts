// Renders a kubeconfig with everything embedded, so that the file works wherever it is copied on this machine. Pure.
import { stringify } from 'yaml';

export interface KubeconfigParts {
  readonly server: string;
  /** PEM texts. */
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

export const CONTEXT = 'kubevirt-ts';

export function renderKubeconfig(parts: KubeconfigParts): string {
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: CONTEXT, cluster: { server: parts.server, 'certificate-authority-data': base64(parts.ca) } }],
    users: [{ name: CONTEXT, user: { 'client-certificate-data': base64(parts.cert), 'client-key-data': base64(parts.key) } }],
    contexts: [{ name: CONTEXT, context: { cluster: CONTEXT, user: CONTEXT } }],
    'current-context': CONTEXT,
  });
}

function base64(pem: string): string {
  return Buffer.from(pem.endsWith('\n') ? pem : `${pem}\n`).toString('base64');
}
