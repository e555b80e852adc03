// The public face of the folder: libvirt's documents in, node labels out.
export * from './capabilities.js';
export * from './labels.js';
