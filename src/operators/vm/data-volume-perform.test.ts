// What is asked and created for a DataVolume template, against a scripted API server.
import { describe, expect, it } from 'vitest';
import { vm } from '../../../test/builders/objects.js';
import type { DataVolumeTemplateSpec, KubeObject, SubjectAccessReview } from '../../api/index.js';
import { KvError } from '../../base/errors.js';
import type { KubeClient, Resource } from '../../runtime/types.js';
import type { DataVolume } from '../data-volumes.js';
import { createDataVolume } from './data-volume-perform.js';

const template = (spec: DataVolumeTemplateSpec['spec']): DataVolumeTemplateSpec => ({ metadata: { name: 'root' }, spec });
const CLONE = template({ source: { pvc: { namespace: 'images', name: 'debian' } }, storage: {} });
const REFERENCE = template({ sourceRef: { kind: 'DataSource', namespace: 'images', name: 'newest' }, storage: {} });

interface World {
  /** `resource[/subresource]` that the account may create in the other namespace. */
  readonly allowed?: readonly string[];
  readonly dataSource?: object;
  readonly refusal?: KvError;
  readonly hasClaim?: boolean;
}

async function create(spec: DataVolumeTemplateSpec, { allowed = [], dataSource, refusal, hasClaim = true }: World = {}) {
  const made: KubeObject[] = [];
  const asked: string[] = [];
  const events: string[] = [];
  const client = {
    find: async () => dataSource,
    create: async (resource: Resource<KubeObject>, object: KubeObject) => {
      if (resource.kind !== 'SubjectAccessReview') {
        if (refusal) throw refusal;
        made.push(object);
        return object;
      }
      const { user, resourceAttributes: at } = (object as SubjectAccessReview).spec;
      const what = [at?.resource, at?.subresource].filter(Boolean).join('/');
      asked.push(`${user} ${at?.verb} ${what} ${at?.namespace}`);
      return { ...object, status: { allowed: allowed.includes(what) } };
    },
  } as unknown as KubeClient;
  const deps = {
    client,
    events: {
      event: (_object: KubeObject, type: string, reason: string, message: string) => void events.push(`${type} ${reason}: ${message}`),
    },
    hasClaim: () => hasClaim,
  };
  const error = await createDataVolume(deps as Parameters<typeof createDataVolume>[0], vm(), spec).catch((err: unknown) => err);
  return { made: made as DataVolume[], asked, events, error };
}

describe('a DataVolume', () => {
  it('is made and told', async () => {
    const { made, asked, events } = await create(template({ source: { blank: {} }, storage: {} }));
    expect([made.length, asked, events]).toEqual([1, [], ['Normal SuccessfulDataVolumeCreate: Created DataVolume root']]);
  });

  it.each([
    ['the right to clone', ['datavolumes/source'], 1],
    ['the right to read by a pod', ['pods'], 1],
    ['no right', [], 0],
  ])('is cloned out of another namespace with %s', async (_, allowed, count) => {
    const { made, asked, events, error } = await create(CLONE, { allowed });
    expect(made).toHaveLength(count);
    expect(asked[0]).toBe('system:serviceaccount:shop:default create datavolumes/source images');
    if (count > 0) return;
    expect(events).toEqual([expect.stringMatching(/^Warning UnauthorizedDataVolumeCreate: Not authorized to create DataVolume root: /)]);
    expect(error).toMatchObject({ code: 'Forbidden', retry: 'backoff' });
  });

  it('is made although its source is still to come', async () => {
    const { events } = await create(CLONE, { allowed: ['datavolumes/source'], hasClaim: false });
    expect(events[0]).toContain('Warning SourcePVCNotAvailabe: Source PVC debian not available: Target PVC root will remain unpopulated');
  });

  it.each([
    [
      'what its status leads to',
      { spec: { source: { dataSource: { name: 'x' } } }, status: { source: { pvc: { namespace: 'images', name: 'd13' } } } },
    ],
    ['its claim', { spec: { source: { pvc: { namespace: 'images', name: 'd13' } } } }],
  ])('of a DataSource is filled from %s', async (_, dataSource) => {
    const { made } = await create(REFERENCE, { dataSource, allowed: ['datavolumes/source'] });
    expect(made[0]?.spec?.source).toEqual({ pvc: { namespace: 'images', name: 'd13' } });
  });

  it.each([
    ['is not there', undefined, 'DataSource images/newest does not exist, waiting for it to appear'],
    ['is empty', { spec: {} }, 'DataSource images/newest refers to no claim or snapshot yet'],
  ])('is not made while its DataSource %s', async (_, dataSource, message) => {
    const { made, events, error } = await create(REFERENCE, dataSource === undefined ? {} : { dataSource });
    expect(made).toEqual([]);
    expect([(error as Error).message, events.join()]).toEqual([
      expect.stringContaining(message),
      expect.stringContaining('FailedDataVolumeCreate'),
    ]);
  });

  it('that was made a moment ago is no news', async () => {
    const { events, error } = await create(template({ source: { blank: {} } }), { refusal: new KvError('AlreadyExists', 'there') });
    expect([events, error]).toEqual([[], undefined]);
  });
});
