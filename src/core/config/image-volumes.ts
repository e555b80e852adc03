// Can this cluster mount an image as a volume? Decides between the two ways of containerDisk; never assumed from the gate alone. Pure.

export interface ImageVolumeFacts {
  /** Feature gate ImageVolume of the KubeVirt CR. */
  readonly isGateOn: boolean;
  /** e.g. v1.36.3 */
  readonly kubernetesVersion: string;
  /** status.nodeInfo.containerRuntimeVersion of the nodes that can run guests, e.g. containerd://2.2.9. */
  readonly runtimes: readonly string[];
}

/** First release that serves image volumes without a gate of its own, by runtime. */
const SINCE: Readonly<Record<string, readonly [number, number]>> = { containerd: [2, 1], 'cri-o': [1, 33] };
const KUBERNETES: readonly [number, number] = [1, 35];

function isAtLeast(version: string, [major, minor]: readonly [number, number]): boolean {
  const found = /^v?(\d+)\.(\d+)/.exec(version);
  if (!found) return false;
  const [a, b] = [Number(found[1]), Number(found[2])];
  return a > major || (a === major && b >= minor);
}

function runtimeServes(runtime: string): boolean {
  const [name = '', version = ''] = runtime.split('://');
  const since = SINCE[name];
  return since !== undefined && isAtLeast(version, since);
}

/** All nodes that can run guests must serve them: a pod is rendered before its node is chosen. */
export function servesImageVolumes({ isGateOn, kubernetesVersion, runtimes }: ImageVolumeFacts): boolean {
  return isGateOn && isAtLeast(kubernetesVersion, KUBERNETES) && runtimes.length > 0 && runtimes.every(runtimeServes);
}
