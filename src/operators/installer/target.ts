// Names a rendered installation: version, registry, a hash that changes with its content, and by which order it is rolled out.
// Pure.
import type { KubeVirt, KubeVirtStatus } from '../../api/index.js';
import type { InstallInput } from './install.js';
import { type InstallContext, registryOf } from './install-context.js';
import { deploymentId, type InstallSet } from './manifests/index.js';
import type { Target } from './status.js';

export function targetOf(context: InstallContext, set: InstallSet): Target {
  const registry = registryOf(context.operatorImage);
  const id = deploymentId(set);
  const { namespace, version, operatorImage, apiImage, controllerImage, handlerImage, launcherImage, imagePullPolicy } = context;
  const config = {
    id,
    namespace,
    registry,
    kubeVirtVersion: version,
    virtOperatorImage: operatorImage,
    virtApiImage: apiImage,
    virtControllerImage: controllerImage,
    virtHandlerImage: handlerImage,
    virtLauncherImage: launcherImage,
    additionalProperties: { ImagePullPolicy: imagePullPolicy },
  };
  return { version, registry, id, config: JSON.stringify(config) };
}

/** Numbers in a version, most significant first: v1.10.0-rc1 → [1, 10, 0, 1]. */
const numbers = (version: string): number[] => (version.match(/\d+/g) ?? []).map(Number);

export function isNewer(version: string, than: string): boolean {
  const [a, b] = [numbers(version), numbers(than)];
  for (let at = 0; at < Math.max(a.length, b.length); at++) {
    const difference = (a[at] ?? 0) - (b[at] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return false;
}

export function rolloutOrder(status: KubeVirtStatus, target: Target): InstallInput['order'] {
  if (status.observedDeploymentID === target.id) return 'steady';
  const observed = status.observedKubeVirtVersion;
  return observed && isNewer(target.version, observed) ? 'update' : 'fresh';
}

/** Of several KubeVirt CRs only the oldest in the operator's namespace counts. */
export function activeKubeVirt(all: readonly KubeVirt[], namespace: string): KubeVirt | undefined {
  const age = ({ metadata }: KubeVirt): string => `${metadata.creationTimestamp} ${metadata.uid}`;
  return all.filter(({ metadata }) => metadata.namespace === namespace).sort((a, b) => (age(a) < age(b) ? -1 : 1))[0];
}

const LABEL_VALUE = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;

/** Labels that the CR's owner wants on everything; what cannot be a label's value is left out. */
export function productLabels({ spec }: KubeVirt, version: string): Record<string, string> {
  const valid = (text: string | undefined): string => (text !== undefined && LABEL_VALUE.test(text) ? text : '');
  const [component, name] = [valid(spec.productComponent), valid(spec.productName)];
  return {
    'app.kubernetes.io/component': component || 'kubevirt',
    'app.kubernetes.io/version': valid(spec.productVersion) || valid(version),
    ...(name ? { 'app.kubernetes.io/part-of': name } : {}),
  };
}
