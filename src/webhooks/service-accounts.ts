// The user names of KubeVirt's own components: they may set what users may not. Pure.

const NAMES = ['kubevirt-apiserver', 'kubevirt-controller', 'kubevirt-handler', 'kubevirt-synchronization-controller'] as const;
const prefix = (namespace: string): string => `system:serviceaccount:${namespace}:`;

export const isOwnAccount = (user: string, installNamespace: string): boolean =>
  NAMES.some((name) => user === `${prefix(installNamespace)}${name}`);

export const isNodeAgent = (user: string, installNamespace: string): boolean => user === `${prefix(installNamespace)}kubevirt-handler`;

export const isController = (user: string, installNamespace: string): boolean => user === `${prefix(installNamespace)}kubevirt-controller`;
