// Creates the DataVolumes of a VM's templates: follows a reference to a DataSource, asks whether the guest's account may clone what it leads to,
// and creates once. What to create is decided in data-volumes.ts.
import type { DataVolumeSpec, DataVolumeTemplateSpec, KubeObject, VirtualMachine } from '../../api/index.js';
import { hasCode, isKvError, KvError } from '../../base/errors.js';
import { DATA_SOURCES, DATA_VOLUMES, SUBJECT_ACCESS_REVIEWS } from '../../runtime/resources.js';
import type { EventRecorder, KubeClient, Resource } from '../../runtime/types.js';
import type { DataVolume } from '../data-volumes.js';
import { explained, withWords } from '../refusals.js';
import { cloningAccount, type DataVolumeStep, dataVolumeOf } from './data-volumes.js';
import { text } from './text.js';
import { controllerRefOf } from './vmi-from-vm.js';

type Source = NonNullable<DataVolumeSpec['source']>;
type Reference = NonNullable<DataVolumeSpec['sourceRef']>;

interface DataSource extends KubeObject {
  spec?: { source?: Source & { dataSource?: Reference } };
  /** What `spec` leads to in the end, where CDI tells it. */
  status?: { source?: Source };
}

/** It has been told. */
const UNAUTHORIZED = 'UnauthorizedDataVolumeCreate';
const isUnauthorized = (err: unknown): boolean => isKvError(err) && err.reason === UNAUTHORIZED;

export interface DataVolumeDeps {
  readonly client: KubeClient;
  readonly events: EventRecorder;
  /** True when the claim `namespace/name` exists. */
  readonly hasClaim: (key: string) => boolean;
}

export const performDataVolume = (d: DataVolumeDeps, vm: VirtualMachine, step: DataVolumeStep): Promise<void> =>
  step.do === 'createDataVolume' ? createDataVolume(d, vm, step.template) : adoptDataVolume(d, vm, step.volume);

export async function createDataVolume(d: DataVolumeDeps, vm: VirtualMachine, template: DataVolumeTemplateSpec): Promise<void> {
  const name = template.metadata?.name ?? '';
  try {
    const resolved = await resolve(d, vm, template);
    const source = resolved ?? template.spec.source;
    if (source) await authorize(d, vm, name, source);
    await d.client.create(DATA_VOLUMES, dataVolumeOf(vm, template, resolved));
    warnOfMissingSource(d, vm, name, source);
  } catch (err) {
    // Made a moment ago, and the watch has not told yet; or somebody else's, which the guest then uses.
    if (hasCode(err, 'AlreadyExists')) return;
    if (isUnauthorized(err)) throw err;
    const message = text.dataVolumeFailed(name, explained(err, vm.metadata.namespace ?? ''));
    d.events.event(vm, 'Warning', 'FailedDataVolumeCreate', message);
    throw withWords(err, message);
  }
  d.events.event(vm, 'Normal', 'SuccessfulDataVolumeCreate', text.dataVolumeCreated(name));
}

/** Other owners stay. Refused when somebody else was faster: the next look sees what became of it. */
async function adoptDataVolume({ client }: Pick<DataVolumeDeps, 'client'>, vm: VirtualMachine, { metadata }: DataVolume): Promise<void> {
  const { name = '', namespace = '', resourceVersion, ownerReferences = [] } = metadata;
  await client.mergePatch(DATA_VOLUMES, `${namespace}/${name}`, {
    metadata: { resourceVersion, ownerReferences: [...ownerReferences, controllerRefOf(vm)] },
  });
}

/** DataSources change which image they stand for: the DataVolume gets the one of this moment. */
async function resolve(d: DataVolumeDeps, vm: VirtualMachine, { spec }: DataVolumeTemplateSpec): Promise<Source | undefined> {
  const { sourceRef } = spec;
  if (sourceRef?.kind !== 'DataSource') return undefined;
  const key = `${sourceRef.namespace ?? vm.metadata.namespace}/${sourceRef.name}`;
  const found = await d.client.find(DATA_SOURCES as Resource<DataSource>, key);
  if (!found) throw new KvError('NotReady', text.noDataSource(key));
  const { dataSource: _, ...own } = found.spec?.source ?? {};
  const source = found.status?.source ?? own;
  if (!source.pvc && !source.snapshot) throw new KvError('NotReady', text.emptyDataSource(key));
  return source;
}

/** Cloning out of another namespace needs its leave: for DataVolumes, or for pods there, which could read the claim as well. */
async function authorize(d: DataVolumeDeps, vm: VirtualMachine, name: string, { pvc, snapshot }: Source): Promise<void> {
  const origin = pvc ?? snapshot;
  const home = vm.metadata.namespace ?? '';
  if (!origin || origin.namespace === home) return;
  const user = `system:serviceaccount:${home}:${cloningAccount(vm)}`;
  const { namespace } = origin;
  const isAllowed = async (group: string, resource: string, subresource?: string): Promise<boolean> => {
    const attributes = { namespace, name: origin.name, verb: 'create', group, resource, ...(subresource ? { subresource } : {}) };
    const review = await d.client.create(SUBJECT_ACCESS_REVIEWS, {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      metadata: {},
      spec: { user, resourceAttributes: attributes },
    });
    return review.status?.allowed === true;
  };
  if (await isAllowed('cdi.kubevirt.io', 'datavolumes', 'source')) return;
  if ((await isAllowed('', 'pods')) && (pvc || (await isAllowed('', 'persistentvolumeclaims')))) return;
  const message = text.mayNotClone(name, user, `${namespace}/${origin.name}`);
  d.events.event(vm, 'Warning', UNAUTHORIZED, message);
  throw new KvError('Forbidden', message, { reason: UNAUTHORIZED, retry: 'backoff' });
}

/** The name of this reason is misspelled wherever it is matched. */
function warnOfMissingSource(d: DataVolumeDeps, vm: VirtualMachine, name: string, source: Source | undefined): void {
  const pvc = source?.pvc;
  if (!pvc || d.hasClaim(`${pvc.namespace}/${pvc.name}`)) return;
  d.events.event(vm, 'Warning', 'SourcePVCNotAvailabe', text.sourceMissing(pvc.name, name));
}
