// Storage as pure decisions: where things lie, what must be made of which volume, the files of the cloud-init ISO.
export * from './cloud-init.js';
export * from './disk-growth.js';
export * from './disk-images.js';
export * from './filesystem-overhead.js';
export * from './paths.js';
export * from './prepared-disks.js';
