// Lets the plugin run on Node 20: the kubeconfig library loads an HTTP client that takes hold of functions which Node has only since 22.
// They are never called here (requests go through node:https), so a stand-in that says so is enough. Must be imported before anything else.
import workerThreads from 'node:worker_threads';
import zlib from 'node:zlib';

const missing = (name: string) => (): never => {
  throw new Error(`${name} needs Node 22 or later`);
};

const functions = zlib as unknown as Record<string, unknown>;
for (const name of ['createZstdDecompress', 'createZstdCompress']) functions[name] ??= missing(name);
// Only a hint to the engine about objects that nobody clones.
(workerThreads as unknown as Record<string, unknown>).markAsUncloneable ??= () => undefined;
