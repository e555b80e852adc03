// What an installation depends on, as one value: the KubeVirt CR's wishes, the operator's own environment and the size of the
// cluster. Every manifest is rendered from it and from nothing else.
import type { KubeVirt, KubeVirtSpec } from '../../api/index.js';

/** From the operator's environment; the same for the whole life of a process. */
export interface InstallEnv {
  readonly namespace: string;
  readonly version: string;
  readonly operatorImage: string;
  readonly apiImage: string;
  readonly controllerImage: string;
  readonly handlerImage: string;
  readonly launcherImage: string;
  /** Handed on to every component: KV_IO_EXTRA_ENV_<NAME> of the operator, without the prefix. */
  readonly extraEnv: Readonly<Record<string, string>>;
}

export interface InstallContext extends InstallEnv {
  readonly spec: KubeVirtSpec;
  readonly imagePullPolicy: string;
  /** Nodes that take pods; decides how many virt-api there are. */
  readonly schedulableNodes: number;
}

export function installContext(kv: KubeVirt, env: InstallEnv, schedulableNodes: number): InstallContext {
  return { ...env, spec: kv.spec, imagePullPolicy: kv.spec.imagePullPolicy || 'IfNotPresent', schedulableNodes };
}

/** `registry.example/kubevirt` of `registry.example/kubevirt/virt-operator:v1`. */
export function registryOf(image: string): string {
  const at = image.lastIndexOf('/');
  return at < 0 ? '' : image.slice(0, at);
}
