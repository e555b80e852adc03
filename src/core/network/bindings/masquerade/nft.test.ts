import { describe, expect, it } from 'vitest';
import { type MasqueradeFacts, masqueradeRules } from './nft.js';

const v4 = { family: 4, gateway: '10.0.2.1', pod: '10.244.1.7' } as const;
const v6 = { family: 6, gateway: 'fd10:0:2::1', pod: 'fd00::7' } as const;
const plain: MasqueradeFacts = {
  podInterface: 'eth0',
  bridge: 'k6t-eth0',
  ports: [],
  portRanges: [],
  istio: false,
  legacyMigrationPorts: false,
};
/** The commands after the ten that every masquerade interface has. */
const rest = (facts: Partial<MasqueradeFacts>, addresses: typeof v4 | typeof v6 = v4): string[] =>
  masqueradeRules(addresses, { ...plain, ...facts }).slice(10);

describe('address translation', () => {
  it('starts with tables, chains and the guest’s way out', () => {
    expect(masqueradeRules(v6, plain).slice(0, 10)).toEqual([
      'add table ip6 nat',
      'add chain ip6 nat prerouting { type nat hook prerouting priority -100; }',
      'add chain ip6 nat input { type nat hook input priority 100; }',
      'add chain ip6 nat output { type nat hook output priority -100; }',
      'add chain ip6 nat postrouting { type nat hook postrouting priority 100; }',
      'add chain ip6 nat KUBEVIRT_PREINBOUND',
      'add chain ip6 nat KUBEVIRT_POSTINBOUND',
      'add rule ip6 nat postrouting ip6 saddr fd10:0:2::2 counter masquerade',
      'add rule ip6 nat prerouting iifname eth0 counter jump KUBEVIRT_PREINBOUND',
      'add rule ip6 nat postrouting oifname k6t-eth0 counter jump KUBEVIRT_POSTINBOUND',
    ]);
  });

  it.each([
    [
      'every port',
      {},
      [
        'PREINBOUND counter dnat to 10.0.2.2',
        'POSTINBOUND ip saddr { 127.0.0.1 } counter snat to 10.0.2.1',
        'output ip daddr { 127.0.0.1 } counter dnat to 10.0.2.2',
      ],
    ],
    [
      'a listed port, TCP unless it says otherwise',
      { ports: [{ port: 80 }] },
      [
        'PREINBOUND tcp dport { 80 } counter dnat to 10.0.2.2',
        'POSTINBOUND tcp dport 80 ip saddr { 127.0.0.1 } counter snat to 10.0.2.1',
        'output ip daddr { 127.0.0.1 } tcp dport 80 counter dnat to 10.0.2.2',
      ],
    ],
    [
      'a range',
      { portRanges: [{ start: 80, end: 90, protocol: 'UDP' }] },
      [
        'PREINBOUND udp dport 80-90 counter dnat to 10.0.2.2',
        'POSTINBOUND udp dport 80-90 ip saddr { 127.0.0.1 } counter snat to 10.0.2.1',
        'output ip daddr { 127.0.0.1 } udp dport 80-90 counter dnat to 10.0.2.2',
      ],
    ],
    [
      'under Istio only SSH from outside',
      { istio: true, portRanges: [{ start: 20, end: 25, protocol: 'TCP' }] },
      [
        'PREINBOUND tcp dport { 22 } counter dnat to 10.0.2.2',
        'POSTINBOUND tcp dport 20-25 ip saddr { 127.0.0.1, 127.0.0.6 } counter snat to 10.0.2.1',
        'output ip daddr { 127.0.0.1, 10.244.1.7 } tcp dport 20-25 counter dnat to 10.0.2.2',
      ],
    ],
    [
      'not the ports that migration uses in this pod',
      { legacyMigrationPorts: true, ports: [{ port: 53, protocol: 'UDP' }] },
      [
        'output tcp dport { 49152, 49153 } ip saddr 127.0.0.1 counter return',
        'POSTINBOUND tcp dport { 49152, 49153 } ip saddr 127.0.0.1 counter return',
        'PREINBOUND udp dport { 53 } counter dnat to 10.0.2.2',
        'POSTINBOUND udp dport 53 ip saddr { 127.0.0.1 } counter snat to 10.0.2.1',
        'output ip daddr { 127.0.0.1 } udp dport 53 counter dnat to 10.0.2.2',
      ],
    ],
  ])('forwards %s', (_, facts, expected) => {
    expect(rest(facts).map((line) => line.replace('add rule ip nat ', '').replace('KUBEVIRT_', ''))).toEqual(expected);
  });

  it('keeps Istio’s own ports in the pod when every port is forwarded', () => {
    const [skip] = rest({ istio: true }, v6);
    expect(skip).toBe(
      'add rule ip6 nat output tcp dport { 15000, 15001, 15004, 15006, 15008, 15009, 15020, 15021, 15053, 15090 } ip6 saddr ::1 counter return',
    );
  });
});
