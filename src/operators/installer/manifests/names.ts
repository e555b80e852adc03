// The names by which the installed parts find each other: service accounts, services, secrets, certificate subjects.

export const ACCOUNT = {
  api: 'kubevirt-apiserver',
  controller: 'kubevirt-controller',
  handler: 'kubevirt-handler',
  operator: 'kubevirt-operator',
} as const;

export const SERVICE = {
  api: 'virt-api',
  operatorWebhook: 'kubevirt-operator-webhook',
  metrics: 'kubevirt-prometheus-metrics',
} as const;

export const SECRET = {
  operator: 'kubevirt-operator-certs',
  api: 'kubevirt-virt-api-certs',
  controller: 'kubevirt-controller-certs',
  handlerServer: 'kubevirt-virt-handler-server-certs',
  handlerClient: 'kubevirt-virt-handler-certs',
  migrationClient: 'kubevirt-virt-handler-migration-client-certs',
  vsockClient: 'kubevirt-virt-handler-vsock-client-certs',
  monitoringClient: 'kubevirt-virt-handler-monitoring-client-certs',
} as const;

/** Each authority is a Secret with the key and a ConfigMap of the same name with the certificates to trust. */
export const AUTHORITY = {
  main: 'kubevirt-ca',
  export: 'kubevirt-export-ca',
  backup: 'kubevirt-backup-ca',
} as const;

export const CA_BUNDLE_KEY = 'ca-bundle';

export const OPERATOR_NAME = 'virt-operator';
