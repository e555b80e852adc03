import { describe, expect, it } from 'vitest';
import { nodeDomain, nodeVmi } from '../../../test/builders/node-vm.js';
import type { DomainReport } from '../../api/domain-report.js';
import { networksToChange } from './networks-to-change.js';

type Case = readonly [
  title: string,
  state: 'absent' | undefined,
  source: string | undefined,
  inGuest: boolean,
  has: string[],
  expected: string[] | undefined,
];

const inDomain = (name: string): DomainReport['spec']['interfaces'][number] => ({ name, mac: '02:00:00:00:00:01' });

describe('networks to change in a running guest', () => {
  it.each<Case>([
    ['none while the pod has not got the new one', undefined, undefined, false, ['default'], undefined],
    ['the new one once the pod has it', undefined, 'multus-status', false, ['default'], ['default', 'blue']],
    ['none when all is there', undefined, 'domain, multus-status', true, ['default', 'blue'], undefined],
    ['none while the guest holds on to what is to go', 'absent', 'domain, multus-status', true, ['default', 'blue'], undefined],
    ['what is to go once the guest has let go', 'absent', 'multus-status', false, ['default', 'blue'], ['default', 'blue']],
    ['none when it is gone', 'absent', undefined, false, ['default'], undefined],
  ])('%s', (_title, state, source, inGuest, has, expected) => {
    const vmi = nodeVmi({
      spec: {
        domain: {
          devices: {
            interfaces: [
              { name: 'default', masquerade: {} },
              { name: 'blue', bridge: {}, ...(state ? { state } : {}) },
            ],
          },
        },
      },
      status: {
        interfaces: [
          { name: 'default', infoSource: 'domain' },
          { name: 'blue', ...(source ? { infoSource: source } : {}) },
        ],
      },
    });
    const domain = nodeDomain('Running', { spec: { interfaces: [inDomain('default'), ...(inGuest ? [inDomain('blue')] : [])] } });
    const changed = networksToChange(vmi, new Map(has.map((name) => [name, {}])), domain);
    expect(changed?.spec.domain.devices.interfaces?.map(({ name }) => name)).toEqual(expected);
  });
});
