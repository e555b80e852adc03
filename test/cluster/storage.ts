// Storage of the cluster: two classes and the processes that make their volumes. Pure; control-plane.ts starts the processes, up.ts writes
// the files, objects.ts applies the objects.
//   local-path   (default) folders of a node, by the provisioner of the same name, which works through a short-lived pod on that node
//   local-block  loop devices over sparse files of a node, by the program of go/storage
// Both bind a claim when its first pod is scheduled. Everything lies below the nodes' own folders, which `down` takes away.
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { ClusterConfig } from './config.js';
import type { Applied } from './objects.js';
import type { Daemon } from './processes.js';

export const FILESYSTEM_CLASS = 'local-path';
export const BLOCK_CLASS = 'local-block';
/** Folder of the block volumes' files in a node's folder. */
export const BLOCK_DIR = 'block-volumes';

const FILESYSTEM_DIR = 'volumes';
const NAMESPACE = 'local-path-storage';
const ACCOUNT = 'local-path-helper';
const SCRIPTS = 'local-path-config';
const FILESYSTEM_PROVISIONER = 'rancher.io/local-path';
const BLOCK_PROVISIONER = 'kubevirt-ts/loop';
export const STORAGE_USER = 'system:storage-provisioner';

const kubeconfig = (config: ClusterConfig): string => join(config.pkiDir, 'storage.conf');
const configFile = (config: ClusterConfig): string => join(config.stateDir, 'local-path.json');
const helperFile = (config: ClusterConfig): string => join(config.stateDir, 'local-path-helper.yaml');

export function storageDaemons(config: ClusterConfig): Daemon[] {
  const filesystem = [
    'start',
    `--kubeconfig=${kubeconfig(config)}`,
    `--provisioner-name=${FILESYSTEM_PROVISIONER}`,
    `--namespace=${NAMESPACE}`,
    `--service-account-name=${ACCOUNT}`,
    `--configmap-name=${SCRIPTS}`,
    `--config=${configFile(config)}`,
    `--helper-pod-file=${helperFile(config)}`,
    `--helper-image=${config.toolImage}`,
  ];
  const block = [
    `--kubeconfig=${kubeconfig(config)}`,
    `--provisioner=${BLOCK_PROVISIONER}`,
    `--folder=${config.stateDir}`,
    `--below=${BLOCK_DIR}`,
  ];
  return [
    { name: 'local-path-provisioner', command: [join(config.binDir, 'local-path-provisioner'), ...filesystem] },
    { name: 'loop-provisioner', command: [join(config.binDir, 'loop-provisioner'), ...block] },
  ];
}

/** Path → content. */
export function storageFiles(config: ClusterConfig): Readonly<Record<string, string>> {
  const nodePathMap = config.nodes.map((node) => ({ node: node.name, paths: [join(node.dir, FILESYSTEM_DIR)] }));
  return {
    [configFile(config)]: JSON.stringify({ nodePathMap }),
    [helperFile(config)]: stringify({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'helper-pod' },
      spec: {
        terminationGracePeriodSeconds: 0,
        containers: [{ name: 'helper-pod', image: config.toolImage, imagePullPolicy: 'IfNotPresent' }],
      },
    }),
  };
}

export function storageObjects(): Applied[] {
  return [
    {
      collection: '/api/v1/namespaces',
      object: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } },
    },
    {
      collection: `/api/v1/namespaces/${NAMESPACE}/serviceaccounts`,
      object: { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: ACCOUNT, namespace: NAMESPACE } },
    },
    {
      collection: `/api/v1/namespaces/${NAMESPACE}/configmaps`,
      object: {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: SCRIPTS, namespace: NAMESPACE },
        data: { setup: '#!/bin/sh\nmkdir -m 0777 -p "$VOL_DIR"\n', teardown: '#!/bin/sh\nrm -rf "$VOL_DIR"\n' },
      },
    },
    ...access(),
    // Volumes of kind `local` are owned by the group of their pod, as those of most storage are.
    storageClass(FILESYSTEM_CLASS, FILESYSTEM_PROVISIONER, {
      'storageclass.kubernetes.io/is-default-class': 'true',
      defaultVolumeType: 'local',
    }),
    storageClass(BLOCK_CLASS, BLOCK_PROVISIONER, {}),
  ];
}

function access(): Applied[] {
  const metadata = { name: STORAGE_USER };
  const read = ['get', 'list', 'watch'];
  const rbac = { apiVersion: 'rbac.authorization.k8s.io/v1', metadata };
  const rules = [
    { apiGroups: [''], resources: ['nodes', 'persistentvolumeclaims', 'configmaps'], verbs: read },
    { apiGroups: [''], resources: ['persistentvolumes'], verbs: [...read, 'create', 'patch', 'update', 'delete'] },
    { apiGroups: [''], resources: ['pods'], verbs: [...read, 'create', 'delete'] },
    { apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] },
    { apiGroups: ['storage.k8s.io'], resources: ['storageclasses'], verbs: read },
  ];
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: STORAGE_USER };
  const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: STORAGE_USER }];
  const path = '/apis/rbac.authorization.k8s.io/v1';
  return [
    { collection: `${path}/clusterroles`, object: { ...rbac, kind: 'ClusterRole', rules } },
    { collection: `${path}/clusterrolebindings`, object: { ...rbac, kind: 'ClusterRoleBinding', roleRef, subjects } },
  ];
}

function storageClass(name: string, provisioner: string, annotations: Readonly<Record<string, string>>): Applied {
  return {
    collection: '/apis/storage.k8s.io/v1/storageclasses',
    object: {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'StorageClass',
      metadata: { name, annotations },
      provisioner,
      volumeBindingMode: 'WaitForFirstConsumer',
      reclaimPolicy: 'Delete',
    },
  };
}
