// What keeps the bundles small and quick to make: the parts of a dependency that our code never reaches are not even read.
// Each is replaced by a stand-in that names itself should that ever change. Used by bundle.ts only.
import { dirname, join } from 'node:path';
import type { Plugin } from 'esbuild';

const unused = (what: string): string => `() => { throw new Error('${what} is not part of the bundle: see tools/bundle-plugins.ts'); }`;

/**
 * Of client-node only KubeConfig is used; its thousand generated files serve a typed client that we do not have. The operator
 * package's base class (src/runtime/operator-base.ts) names a few more, in methods that we replace.
 */
const CLIENT_NODE = '@kubernetes/client-node';
const clientNode = (config: string): string =>
  [
    `export { KubeConfig } from '${config}';`,
    'export class CoreV1Api {}',
    `export const loadYaml = ${unused('loadYaml')};`,
    `export class ApiextensionsV1Api { constructor() { (${unused('ApiextensionsV1Api')})(); } }`,
    `export class Watch { constructor() { (${unused('Watch')})(); } }`,
  ].join('\n');

/** What KubeConfig itself names of the generated files, for makeApiClient: the base class makes a client that nobody uses. */
const GENERATED = 'export const createConfiguration = (parameters) => parameters; export class ServerConfiguration {}';

const GAXIOS = `export const request = ${unused('gaxios')};`;

/** pino writes to files by a package that makes one check, and to threads, which we have none of: what they load costs each launcher's start. */
const ASSERT = 'module.exports = (isRight, message) => { if (!isRight) throw new Error(message); };';
const THREAD_STREAM = `module.exports = ${unused('thread-stream')};`;
const INSIDE_SONIC_BOOM = /\/node_modules\/sonic-boom\//;

const PLAIN: Readonly<Record<string, string>> = { gaxios: GAXIOS, assert: ASSERT, 'thread-stream': THREAD_STREAM };

const NAMESPACE = 'stand-in';
const INSIDE_CLIENT_NODE = /\/node_modules\/@kubernetes\/client-node\/dist\//;

export const standIns: Plugin = {
  name: 'stand-ins',
  setup(build) {
    build.onResolve({ filter: /^@kubernetes\/client-node$/ }, ({ path, importer, pluginData }) =>
      pluginData === NAMESPACE ? undefined : { path, namespace: NAMESPACE, pluginData: dirname(importer) },
    );
    build.onResolve({ filter: /^(gaxios|thread-stream)$/ }, ({ path, importer }) => ({
      path,
      namespace: NAMESPACE,
      pluginData: dirname(importer),
    }));
    build.onResolve({ filter: /^assert$/ }, ({ path, importer }) =>
      INSIDE_SONIC_BOOM.test(importer) ? { path, namespace: NAMESPACE, pluginData: dirname(importer) } : undefined,
    );
    build.onResolve({ filter: /\/gen\/index\.js$/ }, ({ path, importer }) =>
      INSIDE_CLIENT_NODE.test(importer) ? { path, namespace: NAMESPACE, pluginData: dirname(importer) } : undefined,
    );
    build.onLoad({ filter: /.*/, namespace: NAMESPACE }, async ({ path, pluginData }) => {
      const resolveDir = String(pluginData);
      const plain = PLAIN[path];
      if (plain !== undefined) return { contents: plain, resolveDir };
      if (path !== CLIENT_NODE) return { contents: GENERATED, resolveDir };
      const found = await build.resolve(CLIENT_NODE, { resolveDir, kind: 'import-statement', pluginData: NAMESPACE });
      return { contents: clientNode(join(dirname(found.path), 'config.js')), resolveDir };
    });
  },
};
