// Wires the VM controller to a manager: informers, indexes, expectations, queue. Called by virt-controller's main.
import { controllerOf, isDeleting, keyOf, type ObjectKey, type VirtualMachine } from '../../api/index.js';
import type { ClusterConfig } from '../../core/config/cluster-config.js';
import {
  CONTROLLER_REVISIONS,
  DATA_VOLUMES,
  PERSISTENT_VOLUME_CLAIMS,
  RESOURCE_QUOTAS,
  VIRTUAL_MACHINE_INSTANCES,
  VIRTUAL_MACHINES,
} from '../../runtime/resources.js';
import { StaleGuard } from '../../runtime/stale-guard.js';
import type { Controller, Manager, Resource } from '../../runtime/types.js';
import { type DataVolume, dataVolumeNameOf } from '../data-volumes.js';
import { givesRoom, MAX_RETRY_MS } from '../refusals.js';
import { REVISIONS_BY_OWNER, reconcileVm, vmKeysOfVmi } from './reconciler.js';

/** Index of the VM store: VMs by the `namespace/name` of each claim that their template names. */
const VMS_BY_CLAIM = 'claim';
const REFUSED_VMS = 'refused';
const REFUSED: ReadonlySet<string> = new Set(['FailedCreate', 'FailedDataVolumeCreate']);

function claimsOf(vm: VirtualMachine): string[] {
  const volumes = (vm.spec.template.spec?.volumes ?? []).map((v) => dataVolumeNameOf(v) ?? v.memoryDump?.claimName);
  const names = new Set([...volumes, ...(vm.spec.dataVolumeTemplates ?? []).map(({ metadata }) => metadata?.name)]);
  return [...names].filter((name) => name !== undefined).map((name) => `${vm.metadata.namespace}/${name}`);
}

/** Namespaces in which something of the VM was refused. */
function refusedIn({ metadata: { namespace = '' }, status }: VirtualMachine): string[] {
  const failure = status?.conditions?.find(({ type }) => type === 'Failure');
  return REFUSED.has(failure?.reason ?? '') ? [namespace] : [];
}

export interface VmControllerOptions {
  /** [0, 1) */
  readonly random: () => number;
  readonly config: () => ClusterConfig;
  readonly workers?: number;
}

export function startVmController(manager: Manager, { random, config, workers = 3 }: VmControllerOptions): Controller {
  const vms = manager.informer(VIRTUAL_MACHINES);
  const vmis = manager.informer(VIRTUAL_MACHINE_INSTANCES);
  const revisions = manager.informer(CONTROLLER_REVISIONS);
  const pvcs = manager.informer(PERSISTENT_VOLUME_CLAIMS);
  const dataVolumes = manager.informer(DATA_VOLUMES as Resource<DataVolume>, { whenServed: true });
  const quotas = manager.informer(RESOURCE_QUOTAS);
  const expectations = manager.newExpectations();

  vms.addIndex(VMS_BY_CLAIM, claimsOf);
  vms.addIndex(REFUSED_VMS, refusedIn);
  revisions.addIndex(REVISIONS_BY_OWNER, (r) => {
    const owner = controllerOf(r);
    return owner?.kind === 'VirtualMachine' ? [owner.uid] : [];
  });
  const observed = (key: ObjectKey, uid: string | undefined): void => expectations.observedDeletion(key, uid ?? '');
  vmis.on({
    added: (vmi) => {
      for (const key of vmKeysOfVmi(vmi)) expectations.observedCreation(key, vmi.metadata.name ?? '');
    },
    updated: (vmi) => {
      if (isDeleting(vmi)) for (const key of vmKeysOfVmi(vmi)) observed(key, vmi.metadata.uid);
    },
    deleted: (vmi) => {
      for (const key of vmKeysOfVmi(vmi)) observed(key, vmi.metadata.uid);
    },
  });
  return manager.controller({
    name: 'virt-controller-vm',
    workers,
    maxDelayMs: MAX_RETRY_MS,
    reconcile: reconcileVm({
      vms: vms.store,
      vmis: vmis.store,
      revisions: revisions.store,
      pvcs: pvcs.store,
      dataVolumes: dataVolumes.store,
      hasCdi: () => dataVolumes.hasSynced(),
      client: manager.client,
      events: manager.events('virtualmachine-controller'),
      expectations,
      stale: new StaleGuard(),
      staleVmis: new StaleGuard(),
      config,
      random,
    }),
    sources: [
      { informer: vms, keys: (vm: VirtualMachine) => [keyOf(vm)] },
      { informer: vmis, keys: vmKeysOfVmi },
      { informer: dataVolumes, keys: (volume) => vms.store.byIndex(VMS_BY_CLAIM, keyOf(volume)).map(keyOf) },
      { informer: pvcs, keys: (pvc) => vms.store.byIndex(VMS_BY_CLAIM, keyOf(pvc)).map(keyOf) },
      {
        informer: quotas,
        keys: (quota, old) => (givesRoom(quota, old) ? vms.store.byIndex(REFUSED_VMS, quota.metadata.namespace ?? '').map(keyOf) : []),
      },
    ],
  });
}
