// Wires the VMI controller to a manager: informers, indexes, expectations, queue. Called by virt-controller's main.
import {
  controllerOf,
  isDeleting,
  keyOf,
  LABEL,
  type ObjectKey,
  type PersistentVolumeClaim,
  type Pod,
  type VirtualMachine,
  type VirtualMachineInstance,
} from '../../api/index.js';
import {
  DATA_VOLUMES,
  PERSISTENT_VOLUME_CLAIMS,
  PODS,
  RESOURCE_QUOTAS,
  STORAGE_CLASSES,
  VIRTUAL_MACHINE_INSTANCES,
  VIRTUAL_MACHINES,
} from '../../runtime/resources.js';
import { StaleGuard } from '../../runtime/stale-guard.js';
import type { Controller, Expectations, InformerHandler, Manager, Resource } from '../../runtime/types.js';
import type { DataVolume } from '../data-volumes.js';
import { givesRoom, MAX_RETRY_MS } from '../refusals.js';
import { claimsOf, vmiKeyOfAttachment } from './attachments.js';
import { ATTACHMENTS_BY_VMI, PODS_BY_OWNER, reconcileVmi, STATE_CLAIMS, type VmiDeps, vmiKeysOfPod } from './reconciler.js';

const VMIS_BY_CLAIM = 'claim';
const REFUSED_VMIS = 'refused';
const REFUSED: ReadonlySet<string> = new Set(['FailedCreate', 'FailedBackendStorageCreate']);

export interface VmiControllerOptions
  extends Pick<
    VmiDeps,
    'launcherImage' | 'config' | 'renderPod' | 'renderTemporary' | 'renderNetworks' | 'renderAttachment' | 'renderTrigger'
  > {
  readonly workers?: number;
}

/** Launcher and hotplug pods only: a cluster's other pods are none of our business. */
export const VIRT_PODS = { labelSelector: 'kubevirt.io in (virt-launcher,hotplug-disk)' } as const;

/** Key of the VMI whose state a claim keeps. */
function stateKeys({ metadata }: PersistentVolumeClaim): ObjectKey[] {
  const name = metadata.labels?.[LABEL.stateOf];
  return name === undefined ? [] : [`${metadata.namespace}/${name}`];
}

/** Namespaces in which something of the VMI was refused. */
function refusedIn({ metadata: { namespace = '' }, status }: VirtualMachineInstance): string[] {
  const conditions = status?.conditions?.map(({ reason }) => reason) ?? [];
  const volumes = status?.volumeStatus?.map(({ reason }) => reason) ?? [];
  return [...conditions, ...volumes].some((reason) => reason !== undefined && REFUSED.has(reason)) ? [namespace] : [];
}

/** Settles what was expected of pods. */
function observing(expectations: Expectations, stalePods: StaleGuard): InformerHandler<Pod> {
  const gone = (pod: Pod): void => {
    for (const key of vmiKeysOfPod(pod)) expectations.observedDeletion(key, pod.metadata.uid ?? '');
  };
  return {
    added: (pod) => {
      for (const key of vmiKeysOfPod(pod)) expectations.observedCreation(key, pod.metadata.name ?? '');
    },
    updated: (pod) => {
      if (isDeleting(pod)) gone(pod);
    },
    deleted: (pod) => {
      gone(pod);
      stalePods.forget(keyOf(pod));
    },
  };
}

export function startVmiController(manager: Manager, { workers = 10, ...options }: VmiControllerOptions): Controller {
  const vmis = manager.informer(VIRTUAL_MACHINE_INSTANCES);
  const vms = manager.informer(VIRTUAL_MACHINES);
  const pods = manager.informer(PODS, VIRT_PODS);
  const pvcs = manager.informer(PERSISTENT_VOLUME_CLAIMS);
  const dataVolumes = manager.informer(DATA_VOLUMES as Resource<DataVolume>, { whenServed: true });
  const classes = manager.informer(STORAGE_CLASSES);
  const quotas = manager.informer(RESOURCE_QUOTAS);
  const expectations = manager.newExpectations();
  const stalePods = new StaleGuard();

  pods.addIndex(PODS_BY_OWNER, (pod) => {
    const owner = controllerOf(pod);
    return owner ? [owner.uid] : [];
  });
  pods.addIndex(ATTACHMENTS_BY_VMI, (pod) => [vmiKeyOfAttachment(pod)].filter((key) => key !== undefined));
  vmis.addIndex(VMIS_BY_CLAIM, (vmi) => claimsOf(vmi).map((name) => `${vmi.metadata.namespace}/${name}`));
  vmis.addIndex(REFUSED_VMIS, refusedIn);
  pvcs.addIndex(STATE_CLAIMS, stateKeys);
  pods.on(observing(expectations, stalePods));
  return manager.controller({
    name: 'virt-controller-vmi',
    workers,
    maxDelayMs: MAX_RETRY_MS,
    reconcile: reconcileVmi({
      ...options,
      vmis: vmis.store,
      vms: vms.store,
      pods: pods.store,
      pvcs: pvcs.store,
      classes: classes.store,
      dataVolumes: dataVolumes.store,
      client: manager.client,
      events: manager.events('virtualmachine-controller'),
      expectations,
      stale: new StaleGuard(),
      stalePods,
    }),
    sources: [
      { informer: vmis, keys: (vmi: VirtualMachineInstance) => [keyOf(vmi)] },
      { informer: pods, keys: vmiKeysOfPod },
      // A VM that goes leaves its VMI's last finalizer to us; both have one name.
      { informer: vms, keys: (vm: VirtualMachine) => (isDeleting(vm) ? [keyOf(vm)] : []) },
      { informer: dataVolumes, keys: (volume) => vmis.store.byIndex(VMIS_BY_CLAIM, keyOf(volume)).map(keyOf) },
      { informer: pvcs, keys: (pvc) => [...vmis.store.byIndex(VMIS_BY_CLAIM, keyOf(pvc)).map(keyOf), ...stateKeys(pvc)] },
      {
        informer: quotas,
        keys: (quota, old) => (givesRoom(quota, old) ? vmis.store.byIndex(REFUSED_VMIS, quota.metadata.namespace ?? '').map(keyOf) : []),
      },
    ],
  });
}
