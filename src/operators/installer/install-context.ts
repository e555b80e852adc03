// What an installation depends on, as one value: the KubeVirt CR's wishes, the operator's own environment and the size of the
// cluster. Every manifest is rendered from it and from nothing else. Pure.
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

/** Where Prometheus was found. */
export interface MonitoringSite {
  readonly account: string;
  /** Of Prometheus' account. */
  readonly namespace: string;
  /** Where it looks for ServiceMonitors. */
  readonly monitorNamespace: string;
}

export interface InstallContext extends InstallEnv {
  readonly spec: KubeVirtSpec;
  readonly imagePullPolicy: string;
  /** Nodes that take pods; decides how many virt-api there are. */
  readonly schedulableNodes: number;
  readonly monitoring?: MonitoringSite;
}

/** What was seen of the cluster. */
export interface ClusterFacts {
  readonly schedulableNodes: number;
  readonly monitoring?: MonitoringSite | undefined;
}

export function installContext(kv: KubeVirt, env: InstallEnv, { schedulableNodes, monitoring }: ClusterFacts): InstallContext {
  const { spec } = kv;
  return {
    ...env,
    ...chosenImages(spec, env),
    spec,
    imagePullPolicy: spec.imagePullPolicy || 'IfNotPresent',
    schedulableNodes,
    ...(monitoring ? { monitoring } : {}),
  };
}

type Images = Pick<InstallEnv, 'apiImage' | 'controllerImage' | 'handlerImage' | 'launcherImage'>;

/** The CR's registry and tag replace those of each image; a tag is also the version that is installed. */
function chosenImages({ imageRegistry, imageTag }: KubeVirtSpec, env: InstallEnv): Images & Pick<InstallEnv, 'version' | 'operatorImage'> {
  const moved = (image: string): string => movedImage(image, imageRegistry ?? '', imageTag ?? '');
  return {
    version: imageTag || env.version,
    operatorImage: moved(env.operatorImage),
    apiImage: moved(env.apiImage),
    controllerImage: moved(env.controllerImage),
    handlerImage: moved(env.handlerImage),
    launcherImage: moved(env.launcherImage),
  };
}

/** Empty `registry` or `tag`: as the image has it. A digest belongs to its tag and goes with it. */
export function movedImage(image: string, registry: string, tag: string): string {
  const name = image.slice(image.lastIndexOf('/') + 1);
  const end = name.search(/[:@]/);
  const [base, version] = end < 0 ? [name, ''] : [name.slice(0, end), name.slice(end)];
  const place = registry.replace(/\/+$/, '') || registryOf(image);
  return `${place ? `${place}/` : ''}${base}${tag ? `:${tag}` : version}`;
}

/** `registry.example/kubevirt` of `registry.example/kubevirt/virt-operator:v1`. */
export function registryOf(image: string): string {
  const at = image.lastIndexOf('/');
  return at < 0 ? '' : image.slice(0, at);
}
