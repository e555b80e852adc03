// What keeps the bundles small. Two facts that esbuild cannot see: which modules do nothing but define what they export, and which
// parts of a dependency our code never reaches. Used by bundle.ts only.
import { dirname } from 'node:path';
import type { OnResolveArgs, OnResolveResult, Plugin, PluginBuild } from 'esbuild';

/** Modules that may be left out when nobody uses their exports. Their own top level only defines things. */
const DEFINITIONS_ONLY = /\/node_modules\/(@kubernetes\/client-node|class-validator|class-transformer)\/|\/src\/(api|core|rpc|http)\//;

/**
 * The operator package's base class: we use its construction and life cycle (src/runtime/operator-base.ts). What its other methods
 * call is replaced by stand-ins that name themselves should that ever change.
 */
const BASE_CLASS_PACKAGE = /\/node_modules\/@dot-i\/k8s-operator\//;
const STAND_INS: Readonly<Record<string, string>> = {
  '@kubernetes/client-node': [
    `export { KubeConfig } from '@kubernetes/client-node';`,
    'export class CoreV1Api {}',
    `const unused = (name) => { throw new Error(name + ' of the operator package is not part of the bundle: see tools/bundle-plugins.ts'); };`,
    `export const loadYaml = () => unused('loadYaml');`,
    `export class ApiextensionsV1Api { constructor() { unused('ApiextensionsV1Api'); } }`,
    `export class Watch { constructor() { unused('Watch'); } }`,
  ].join('\n'),
  gaxios: `export const request = () => { throw new Error('gaxios is not part of the bundle: see tools/bundle-plugins.ts'); };`,
};

const SEEN = Symbol('resolved once');

async function resolveAgain(build: PluginBuild, args: OnResolveArgs): Promise<OnResolveResult | undefined> {
  if (args.pluginData === SEEN) return undefined;
  const { path, errors, external } = await build.resolve(args.path, {
    resolveDir: args.resolveDir,
    kind: args.kind,
    importer: args.importer,
    pluginData: SEEN,
  });
  if (errors.length > 0 || external || !DEFINITIONS_ONLY.test(path)) return undefined;
  return { path, sideEffects: false };
}

export const leaveOutUnused: Plugin = {
  name: 'leave-out-unused',
  setup(build) {
    build.onResolve({ filter: /^[^/]/ }, (args) => resolveAgain(build, args));
  },
};

export const standIns: Plugin = {
  name: 'stand-ins',
  setup(build) {
    build.onResolve({ filter: /^(@kubernetes\/client-node|gaxios)$/ }, ({ path, importer }) =>
      BASE_CLASS_PACKAGE.test(importer) ? { path, namespace: 'stand-in', pluginData: dirname(importer) } : undefined,
    );
    build.onLoad({ filter: /.*/, namespace: 'stand-in' }, ({ path, pluginData }) => ({
      contents: STAND_INS[path] ?? '',
      resolveDir: String(pluginData),
    }));
  },
};
