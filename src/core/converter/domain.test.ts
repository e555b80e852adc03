// What the compiler refuses. Each @ts-expect-error fails the type check when its line compiles; the suite itself has nothing to run but that the
// values exist.
import { expect, it } from 'vitest';
import type { CpuTune, Domain } from './domain.js';
import type { DomainDisk } from './domain-devices.js';
import type { ItemOf } from './domain-fields.js';
import { renderDevice } from './domain-xml.js';

const some: boolean = Math.hypot(0) === 0;

it('a misspelt element, attribute or word does not compile', () => {
  const wrong: readonly (Domain | DomainDisk)[] = [
    // @ts-expect-error: the element is called devices
    { device: {} } satisfies Domain,
    // @ts-expect-error: elements of devices are called as libvirt calls them
    { devices: { disks: [] } } satisfies Domain,
    // @ts-expect-error: an attribute deep in the tree
    { devices: { disk: [{ driver: { cach: 'none' } }] } } satisfies Domain,
    // @ts-expect-error: a word that libvirt does not know
    { devices: { disk: [{ type: 'blok' }] } } satisfies Domain,
    // @ts-expect-error: a list where there is one
    { devices: { memballoon: [{}] } } satisfies Domain,
    // @ts-expect-error: one where there are several
    { devices: { disk: {} } } satisfies Domain,
    // @ts-expect-error: text where there is a number
    { vcpu: { value: '2' } } satisfies Domain,
    // @ts-expect-error: a number where sizes are
    { memory: { unit: 'b', value: 1024 } } satisfies Domain,
    // @ts-expect-error: a unit that libvirt does not know
    { memory: { unit: 'kb', value: 1024n } } satisfies Domain,
    // @ts-expect-error: words where yes and no are
    { iommufd: { enabled: 'yes' } } satisfies Domain,
    // @ts-expect-error: an attribute of another element
    { devices: { interface: [{ driver: { cache: 'none' } }] } } satisfies Domain,
    // @ts-expect-error: of a choice, too
    { os: some ? { loader: { readOnly: true } } : undefined } satisfies Domain,
    // @ts-expect-error: of a list that is made
    { cputune: { vcpupin: [1].map((vcpu): ItemOf<CpuTune['vcpupin']> => ({ vcpu, cpu: '1' })) } } satisfies Domain,
    // @ts-expect-error: and beside what is kept of another
    { ...({} as DomainDisk), sources: {} } satisfies DomainDisk,
  ];
  expect(wrong).toHaveLength(14);
});

it('what is read is typed as well', () => {
  const domain: Domain = { devices: { disk: [{ type: 'file', readonly: true }] } };
  const [disk] = domain.devices?.disk ?? [];
  // @ts-expect-error: never so
  expect(disk?.type === 'files').toBe(false);
  // @ts-expect-error: no such attribute
  expect(disk?.target?.device).toBeUndefined();
  // @ts-expect-error: a disk is no interface
  expect(() => renderDevice('interface', disk ?? {})).toThrow('no field readonly');
});
