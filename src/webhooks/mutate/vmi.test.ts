// What becomes of the status that comes with an update of a VMI.
import { expect, it } from 'vitest';
import type { VirtualMachineInstance } from '../../api/index.js';
import { mutateVmiUpdate } from './vmi.js';

const vmi = (status?: object): VirtualMachineInstance =>
  ({ metadata: { name: 'test' }, spec: { domain: { devices: {} } }, ...(status ? { status } : {}) }) as VirtualMachineInstance;

it.each<[string, object | undefined, object | undefined, boolean, object | undefined]>([
  ['KubeVirt changes it', { phase: 'Failed' }, { phase: 'Running' }, true, { phase: 'Failed' }],
  ['nobody changes it', { phase: 'Running' }, { phase: 'Running' }, false, { phase: 'Running' }],
  ['a user changes it', { phase: 'Failed' }, { phase: 'Running', runtimeUser: 107 }, false, { phase: 'Running', runtimeUser: 107 }],
  [
    'a user changes it, of a guest that runs as root',
    { phase: 'Failed' },
    { phase: 'Running' },
    false,
    { phase: 'Running', runtimeUser: 0 },
  ],
])('%s', (_title, next, old, isOwnAccount, expected) => {
  expect(mutateVmiUpdate(vmi(next), vmi(old), isOwnAccount)).toMatchObject({ object: { status: expected } });
});
