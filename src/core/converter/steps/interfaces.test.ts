import { describe, expect, it } from 'vitest';
import { factsOf, type GuestParts, guest, rendered } from '../../../../test/builders/domain.js';
import type { Interface } from '../../../api/index.js';
import type { DomainFacts } from '../facts.js';
import { interfaces } from './interfaces.js';

const MODEL = '<model type="virtio-non-transitional"/>';
const ROM = '<rom enabled="no"/>';
const ALIAS = '<alias name="ua-default"/>';
const ethernet = (inner: string): string => `<interface type="ethernet">${inner}</interface>`;

const one = (iface: Partial<Interface>, facts: Partial<DomainFacts> = {}, parts: GuestParts = {}): string[] =>
  rendered(
    interfaces,
    guest({ ...parts, devices: { ...parts.devices, interfaces: [{ name: 'default', masquerade: {}, ...iface }] } }),
    factsOf(facts),
  );

describe('tap interfaces', () => {
  it.each<[string, Partial<Interface>, Partial<DomainFacts>, GuestParts, string]>([
    ['before phase 2', {}, {}, {}, ethernet(`${ROM}${MODEL}${ALIAS}`)],
    [
      'after phase 2',
      {},
      { links: { default: { tap: 'tap0', mac: '02:00:00:00:00:01', mtu: 1450 } } },
      {},
      ethernet(`<mac address="02:00:00:00:00:01"/><target dev="tap0" managed="no"/>${ROM}<mtu size="1450"/>${MODEL}${ALIAS}`),
    ],
    [
      'the VMI’s MAC before the pod’s',
      { macAddress: 'de:ad:00:00:be:ef' },
      { links: { default: { mac: '02:00:00:00:00:01' } } },
      {},
      ethernet(`<mac address="de:ad:00:00:be:ef"/>${ROM}${MODEL}${ALIAS}`),
    ],
    ['boot order keeps the ROM', { bootOrder: 1 }, {}, {}, ethernet(`<boot order="1"/>${MODEL}${ALIAS}`)],
    [
      'no ROM in encrypted guests',
      { bootOrder: 1 },
      {},
      { domain: { launchSecurity: { snp: {} } } },
      ethernet(`<boot order="1"/>${ROM}${MODEL}<driver name="vhost" iommu="on"/>${ALIAS}`),
    ],
    ['no ROM to switch off on s390x', {}, { hostArch: 's390x' }, {}, ethernet(`<model type="virtio"/>${ALIAS}`)],
    [
      'another model',
      { model: 'e1000e' },
      {},
      { devices: { networkInterfaceMultiqueue: true } },
      ethernet(`${ROM}<model type="e1000e"/>${ALIAS}`),
    ],
    [
      'a queue for each vCPU',
      {},
      {},
      { devices: { networkInterfaceMultiqueue: true }, domain: { cpu: { cores: 4 } } },
      ethernet(`${ROM}${MODEL}<driver name="vhost" queues="4"/>${ALIAS}`),
    ],
    [
      'no more queues than a tap has',
      {},
      {},
      { devices: { networkInterfaceMultiqueue: true }, domain: { cpu: { cores: 300 } } },
      ethernet(`${ROM}${MODEL}<driver name="vhost" queues="256"/>${ALIAS}`),
    ],
    [
      'address, index, link down',
      { pciAddress: '0000:81:01.0', acpiIndex: 7, state: 'down' },
      {},
      {},
      ethernet(
        `${ROM}<link state="down"/>${MODEL}${ALIAS}<address type="pci" domain="0x0000" bus="0x81" slot="0x01" function="0x0"/><acpi index="7"/>`,
      ),
    ],
  ])('%s', (_title, iface, facts, parts, want) => {
    expect(one(iface, facts, parts)).toEqual([want]);
  });
});

describe('interfaces that are not rendered here', () => {
  it.each<[string, Partial<Interface>]>([
    ['absent', { state: 'absent' }],
    ['SR-IOV', { sriov: {} }],
    ['a plugin without a tap', { binding: { name: 'vhost' } }],
  ])('%s', (_title, iface) => {
    expect(one(iface, { interfaceAttachments: {} })).toEqual([]);
  });

  it('but a plugin with a tap is', () => {
    expect(one({ binding: { name: 'tapping' } })).toEqual([ethernet(`${ROM}${MODEL}${ALIAS}`)]);
  });
});

describe('passt', () => {
  const passt = { passtBinding: {} };
  const status: GuestParts = { status: { interfaces: [{ name: 'default', podInterfaceName: 'eth0' }] } };
  const HEAD = '<source dev="eth0"/><backend type="passt" logFile="/var/run/kubevirt/passt.log"/>';

  it.each<[string, Partial<Interface>, GuestParts, string]>([
    ['all ports', passt, status, '<portForward proto="tcp"/><portForward proto="udp"/>'],
    [
      'listed ports',
      { ...passt, ports: [{ port: 80 }, { port: 53, protocol: 'UDP' }, { port: 22, protocol: 'tcp' }, { port: 9, protocol: 'sctp' }] },
      status,
      '<portForward proto="tcp"><range start="80"/><range start="22"/></portForward><portForward proto="udp"><range start="53"/></portForward>',
    ],
    [
      'not Istio’s',
      { ...passt, ports: [{ port: 80 }] },
      { ...status, annotations: { 'sidecar.istio.io/inject': 'true' } },
      `<portForward proto="tcp">${[15000, 15001, 15004, 15006, 15008, 15009, 15020, 15021, 15053, 15090]
        .map((port) => `<range start="${port}" exclude="yes"/>`)
        .join('')}<range start="80"/></portForward>`,
    ],
  ])('%s', (_title, iface, parts, forwards) => {
    expect(one(iface, { interfaceAttachments: {} }, parts)).toEqual([
      `<interface type="vhostuser">${HEAD}${forwards}${MODEL}${ALIAS}</interface>`,
    ]);
  });

  it('waits for the pod interface', () => {
    expect(() => one(passt, { interfaceAttachments: {} })).toThrow('pod interface name not found in vmi vm status, for interface default');
  });
});

describe('mistakes', () => {
  it.each<[string, Partial<Interface>, string]>([
    ['no network', { name: 'lost' }, 'failed to find network lost'],
    ['half an address', { pciAddress: '81:01.0' }, 'failed to configure interface default: failed to parse pci address 81:01.0'],
  ])('%s', (_title, iface, message) => {
    expect(() => one(iface)).toThrow(message);
  });
});
