// Host devices as pure matching: what the pod was given against what the VMI asks for.
export * from './device-env.js';
export * from './host-devices.js';
export * from './mediated-types.js';
export * from './pci-address.js';
export * from './permitted.js';
