// The package entry `kubevirt-ts/api`: every type of the API, and what a client needs beside them at run time. It carries no decorators and
// no dependency; tools/build-api.ts makes dist/api from it. The processes import from index.ts and its neighbours instead.
export * from './conditions.js';
export type * from './index.js';
export * from './labels.js';
export { controllerOf, isDeleting, keyOf, splitKey } from './meta.js';
export * from './quantity.js';
export * from './reasons.js';
export { crds, schemaOf } from './schema/crds.js';
export { KINDS, type KindRow, type ResourceName, resourceOf } from './schema/kinds/index.js';
export type { Schema } from './schema/resolve.js';
