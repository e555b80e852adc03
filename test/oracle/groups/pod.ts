// Recorded launcher and attachment pods, answered by operators/pod-template. Looks up in the recording what controllers look up in stores.
import type { KubeVirtConfiguration, PersistentVolumeClaim, Pod, VirtualMachineInstance } from '../../../src/api/index.js';
import { clusterConfigOf } from '../../../src/core/config/cluster-config.js';
import {
  type PodContext,
  renderHotplugPod,
  renderHotplugTriggerPod,
  renderLauncherPod,
  renderMigrationTargetPod,
  renderTemporaryPod,
} from '../../../src/operators/pod-template/index.js';
import type { OracleCase } from '../oracle-case.js';

interface EnvObject {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
  };
  readonly spec?: { readonly hard?: Record<string, string> };
  readonly data?: Record<string, string>;
}

interface PodParams {
  readonly sourcePod?: Pod;
  readonly volumes?: readonly string[];
  readonly tempPod?: boolean;
  readonly migration?: { readonly status?: { readonly migrationState?: { readonly targetPersistentStatePVCName?: string } } };
}

const RESOURCE_NAME = 'k8s.v1.cni.cncf.io/resourceName';
const STATE_LABEL = 'persistent-state-for';

function configuration({ config, gates, disabledGates, arch }: OracleCase) {
  const given = (config ?? {}) as KubeVirtConfiguration;
  const developerConfiguration = {
    ...given.developerConfiguration,
    ...(gates ? { featureGates: gates as string[] } : {}),
    ...(disabledGates ? { disabledFeatureGates: disabledGates as string[] } : {}),
  };
  return clusterConfigOf({ ...given, developerConfiguration }, { defaultArchitecture: String(arch ?? 'amd64') });
}

function context(testCase: OracleCase, vmi: VirtualMachineInstance): PodContext {
  const env = (testCase.env ?? []) as readonly EnvObject[];
  const ofKind = (kind: string): readonly EnvObject[] => env.filter((object) => object.kind === kind);
  const config = configuration(testCase);
  const claims = ofKind('PersistentVolumeClaim');
  const params = (testCase.params ?? {}) as PodParams;
  const state =
    params.migration?.status?.migrationState?.targetPersistentStatePVCName ??
    claims.find(({ metadata }) => metadata.labels?.[STATE_LABEL] === vmi.metadata.name)?.metadata.name;
  const attachments = ofKind('NetworkAttachmentDefinition').map(({ metadata }): [string, string] => [
    `${metadata.namespace}/${metadata.name}`,
    metadata.annotations?.[RESOURCE_NAME] ?? '',
  ]);
  return {
    config,
    launcherImage: 'registry.example/kubevirt/virt-launcher:v0.0.0',
    imageVolumes: config.isEnabled('ImageVolume'),
    qemuTimeoutSeconds: 240,
    pvcs: new Map(claims.map((claim) => [claim.metadata.name, claim as unknown as PersistentVolumeClaim])),
    namespaceLabels: ofKind('Namespace')[0]?.metadata.labels ?? {},
    quotaResources: new Set(ofKind('ResourceQuota').flatMap(({ spec }) => Object.keys(spec?.hard ?? {}))),
    networkResources: new Map(attachments.filter(([, resource]) => resource !== '')),
    configMaps: new Map(ofKind('ConfigMap').map(({ metadata, data }) => [metadata.name, new Set(Object.keys(data ?? {}))])),
    ...(state ? { backendStorageClaim: state } : {}),
    defaultSeccomp: 'none',
  };
}

function render(testCase: OracleCase): Pod {
  const vmi = testCase.object as VirtualMachineInstance;
  const ctx = context(testCase, vmi);
  const { sourcePod, volumes = [], tempPod = false } = (testCase.params ?? {}) as PodParams;
  if (testCase.op === 'launcher') return renderLauncherPod(vmi, ctx);
  if (testCase.op === 'launcher-novm') return renderTemporaryPod(vmi, ctx);
  if (!sourcePod) throw new Error(`${testCase.id} has no source pod`);
  if (testCase.op === 'migration') return renderMigrationTargetPod(vmi, sourcePod, ctx);
  if (testCase.op === 'hotplug') return renderHotplugPod(vmi, sourcePod, volumes, ctx);
  return renderHotplugTriggerPod(vmi, sourcePod, volumes[0] ?? '', { ...ctx, ends: tempPod });
}

export function answer(testCase: OracleCase): unknown {
  const { metadata, spec } = render(testCase);
  // The recording's pods have no namespace yet: the client's request carries it.
  const { namespace: _namespace, ...recorded } = metadata;
  return { pod: { metadata: recorded, spec } };
}
