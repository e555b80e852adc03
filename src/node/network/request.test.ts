import { describe, expect, it } from 'vitest';
import { nodeVmi } from '../../../test/builders/node-vm.js';
import { networkRequest, queuesOf } from './request.js';
import { toPodNamespace } from './setup.js';

const NOW = { links: [], routes: [] };
const settings = { portRangesGate: false, preferredFamily: 4 as const, ownerId: 107 };

describe('networkRequest', () => {
  it.each([
    ['a new launcher', {}, { istio: false, legacyMigrationPorts: false, portRangesGate: false }],
    ['a mesh', { annotations: { 'sidecar.istio.io/inject': 'true' } }, { istio: true, legacyMigrationPorts: false, portRangesGate: false }],
  ])('%s', (_title, metadata, nat) => {
    expect(networkRequest(nodeVmi({ metadata }), NOW, new Map(), settings).nat).toEqual(nat);
  });

  it('keeps migration ports of a launcher that migrates over TCP', () => {
    expect(networkRequest(nodeVmi({ status: { migrationTransport: '' } }), NOW, new Map(), settings).nat.legacyMigrationPorts).toBe(true);
  });

  it('carries the journal, known MACs and the name of the primary link', () => {
    const vmi = nodeVmi({
      status: {
        interfaces: [
          { name: 'default', mac: 'm', podInterfaceName: 'ens3' },
          { infoSource: 'guest-agent', mac: 'x' },
        ],
      },
    });
    const entries = new Map([['default', { iface: 'ens3', podIP: '', podIPs: [], networkState: 2 as const }]]);
    const request = networkRequest(vmi, NOW, entries, settings);
    expect(request.primaryName).toBe('ens3');
    expect([...request.states]).toEqual([['default', 2]]);
    expect([...(request.statusMacs ?? [])]).toEqual([['default', 'm']]);
  });
});

describe('queuesOf', () => {
  it.each([
    [undefined, { cores: 4 }, 0],
    [true, { cores: 2, sockets: 2, threads: 2 }, 8],
    [true, {}, 1],
    [true, { cores: 512 }, 256],
  ])('multiqueue %s, %j → %d', (networkInterfaceMultiqueue, cpu, expected) => {
    const devices = networkInterfaceMultiqueue === undefined ? {} : { networkInterfaceMultiqueue };
    expect(queuesOf(nodeVmi({ spec: { domain: { devices, cpu } } }))).toBe(expected);
  });
});

describe('toPodNamespace', () => {
  it('spells routes as CIDRs', () => {
    const route = (destination: string) => ({ destination, device: 'eth0' });
    const { routes } = toPodNamespace({ links: [], routes: [route('default'), route('10.0.0.1'), route('10.0.0.0/8')] });
    expect(routes.map(({ destination }) => destination)).toEqual(['0.0.0.0/0', '10.0.0.1/32', '10.0.0.0/8']);
  });
});
