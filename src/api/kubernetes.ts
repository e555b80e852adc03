// Kubernetes' own kinds as plain JSON: client-node's types with dates as the strings they are on the wire.
import type {
  AdmissionregistrationV1WebhookClientConfig,
  CoreV1Event,
  V1APIService,
  V1ClusterRole,
  V1ClusterRoleBinding,
  V1ConfigMap,
  V1Container,
  V1ControllerRevision,
  V1CustomResourceDefinition,
  V1DaemonSet,
  V1Deployment,
  V1Endpoints,
  V1Job,
  V1Lease,
  V1LimitRange,
  V1MutatingWebhookConfiguration,
  V1Namespace,
  V1Node,
  V1PersistentVolumeClaim,
  V1Pod,
  V1PodDisruptionBudget,
  V1PodSpec,
  V1PriorityClass,
  V1ResourceQuota,
  V1Role,
  V1RoleBinding,
  V1Secret,
  V1Service,
  V1ServiceAccount,
  V1StorageClass,
  V1SubjectAccessReview,
  V1ValidatingAdmissionPolicy,
  V1ValidatingAdmissionPolicyBinding,
  V1ValidatingWebhookConfiguration,
  V1Volume,
} from '@kubernetes/client-node';
import type { ObjectMeta } from './meta.js';

type Plain<T> = T extends Date ? string : T extends (infer U)[] ? Plain<U>[] : T extends object ? { [K in keyof T]: Plain<T[K]> } : T;
type Kind<T> = Omit<Plain<T>, 'metadata'> & { metadata: ObjectMeta };

export type Pod = Kind<V1Pod>;
export type PodSpec = Plain<V1PodSpec>;
export type Container = Plain<V1Container>;
export type PodVolume = Plain<V1Volume>;
export type Node = Kind<V1Node>;
export type Namespace = Kind<V1Namespace>;
export type Service = Kind<V1Service>;
export type Endpoints = Kind<V1Endpoints>;
export type Secret = Kind<V1Secret>;
export type ConfigMap = Kind<V1ConfigMap>;
export type ServiceAccount = Kind<V1ServiceAccount>;
export type PersistentVolumeClaim = Kind<V1PersistentVolumeClaim>;
export type StorageClass = Kind<V1StorageClass>;
export type ResourceQuota = Kind<V1ResourceQuota>;
export type LimitRange = Kind<V1LimitRange>;
export type ControllerRevision = Kind<V1ControllerRevision>;
export type Deployment = Kind<V1Deployment>;
export type DaemonSet = Kind<V1DaemonSet>;
export type Job = Kind<V1Job>;
export type Lease = Kind<V1Lease>;
export type CoreEvent = Kind<CoreV1Event>;
export type PriorityClass = Kind<V1PriorityClass>;
export type PodDisruptionBudget = Kind<V1PodDisruptionBudget>;
export type Role = Kind<V1Role>;
export type RoleBinding = Kind<V1RoleBinding>;
export type ClusterRole = Kind<V1ClusterRole>;
export type ClusterRoleBinding = Kind<V1ClusterRoleBinding>;
export type CustomResourceDefinition = Kind<V1CustomResourceDefinition>;
export type APIService = Kind<V1APIService>;
export type ValidatingWebhookConfiguration = Kind<V1ValidatingWebhookConfiguration>;
export type MutatingWebhookConfiguration = Kind<V1MutatingWebhookConfiguration>;
export type WebhookClientConfig = Plain<AdmissionregistrationV1WebhookClientConfig>;
export type ValidatingAdmissionPolicy = Kind<V1ValidatingAdmissionPolicy>;
export type ValidatingAdmissionPolicyBinding = Kind<V1ValidatingAdmissionPolicyBinding>;
export type SubjectAccessReview = Kind<V1SubjectAccessReview>;
