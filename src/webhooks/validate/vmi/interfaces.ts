// Fields of single network interfaces: name, model, MAC and PCI address, forwarded ports and ranges, DHCP options. Pure.
import { isIP } from 'node:net';
import { type FieldPath, field } from '../../../api/field-path.js';
import type { Interface, Network, Port, PortRange, VirtualMachineInstanceSpec } from '../../../api/index.js';
import type { ClusterConfig } from '../../../core/config/cluster-config.js';
import { gateOff } from '../gate-off.js';
import { portNameProblems } from '../kubernetes/names.js';
import { type Causes, duplicate, invalid, notSupported, type Rule, required } from '../rule.js';
import { isPciAddress } from './disks.js';

const NAME = /^[A-Za-z0-9\-_]+$/;
const MODELS = ['e1000', 'e1000e', 'igb', 'ne2k_pci', 'pcnet', 'rtl8139', 'virtio'];
const PROTOCOLS = ['TCP', 'UDP'];
const PORT_END = 65536;
const MOST_RANGES = 10;

/** The lengths that the usual notations of hardware addresses allow: 6, 8 or 20 bytes; undefined for anything else. */
function macBytes(text: string): number | undefined {
  const byColon = /^[0-9a-f]{2}([:-])[0-9a-f]{2}(\1[0-9a-f]{2})+$/i.test(text) ? text.split(/[:-]/).length : 0;
  const byDot = /^[0-9a-f]{4}(\.[0-9a-f]{4})+$/i.test(text) ? text.split('.').length * 2 : 0;
  const length = byColon || byDot;
  return [6, 8, 20].includes(length) ? length : undefined;
}

/** What is wrong with a hardware address, as an adjective. */
export function macFault(text: string): 'malformed' | 'too long' | undefined {
  const length = macBytes(text);
  if (length === undefined) return 'malformed';
  return length > 6 ? 'too long' : undefined;
}

function* addresses(iface: Interface, at: FieldPath): Causes {
  const name = field(at, 'name');
  if (!NAME.test(iface.name)) {
    yield invalid(name, `interface name "${iface.name}" has a character that none may have: use letters, digits, '-' and '_'`);
  }
  if (iface.model && !MODELS.includes(iface.model)) {
    yield notSupported(field(at, 'model'), `interface "${iface.name}" has the model ${iface.model}: use one of ${MODELS.join(', ')}`);
  }
  if (iface.macAddress) {
    const fault = macFault(iface.macAddress);
    if (fault)
      yield invalid(
        field(at, 'macAddress'),
        `interface "${iface.name}" has the ${fault} MAC address ${iface.macAddress}: write six bytes, as 02:00:00:12:34:56`,
      );
  }
  if (iface.pciAddress && !isPciAddress(iface.pciAddress)) {
    yield invalid(
      field(at, 'pciAddress'),
      `interface "${iface.name}" has the malformed PCI address ${iface.pciAddress}: write it as 0000:81:01.0`,
    );
  }
}

function* portCauses({ port, protocol }: Port, at: FieldPath): Causes {
  if (port === 0 || port === undefined) yield required(field(at, 'port'), 'a port has no number: set port, from 1 to 65535');
  else if (port < 0 || port >= PORT_END) yield invalid(field(at, 'port'), `port ${port} does not exist: use 1 to 65535`);
  if (protocol && !PROTOCOLS.includes(protocol))
    yield invalid(field(at, 'protocol'), `protocol ${protocol} is not forwarded: use TCP or UDP`);
}

function* ports(list: readonly Port[], at: FieldPath): Causes {
  const seen = new Set<string>();
  for (const [i, { name }] of list.entries()) {
    if (!name) continue;
    if (seen.has(name)) yield duplicate(field(at, i, 'name'), `port name ${name} is given twice: rename one`);
    const problems = portNameProblems(name);
    if (problems.length > 0) yield invalid(field(at, i, 'name'), `port name "${name}" ${problems.join(', ')}`);
    seen.add(name);
  }
  for (const [i, port] of list.entries()) yield* portCauses(port, field(at, i));
}

const isPort = (port: number): boolean => port > 0 && port < PORT_END;

function rangeFault({ protocol, start, end }: PortRange): readonly [string, string] | undefined {
  if (!PROTOCOLS.includes(protocol)) return ['protocol', `protocol ${protocol} is not forwarded: use TCP or UDP`];
  if (!isPort(start)) return ['start', `port ${start} does not exist: use 1 to 65535`];
  if (!isPort(end)) return ['end', `port ${end} does not exist: use 1 to 65535`];
  return start > end ? ['start', `the range ends at ${end}, before its start ${start}: swap them`] : undefined;
}

function* rangeCauses(list: readonly PortRange[], at: FieldPath): Causes {
  if (list.length > MOST_RANGES) {
    yield invalid(at, `there are ${list.length} port ranges: ${MOST_RANGES} are the most; join some`);
    return;
  }
  const sound: PortRange[] = [];
  for (const [i, range] of list.entries()) {
    const fault = rangeFault(range);
    if (fault) yield invalid(field(at, i, fault[0]), fault[1]);
    else sound.push(range);
  }
  for (const protocol of PROTOCOLS) {
    const sorted = sound.filter((r) => r.protocol === protocol).sort((a, b) => a.start - b.start || a.end - b.end);
    for (const [i, range] of sorted.entries()) {
      const before = sorted[i - 1];
      if (before && range.start <= before.end) {
        yield invalid(
          at,
          `${protocol} port ranges ${before.start}-${before.end} and ${range.start}-${range.end} overlap: join or cut them`,
        );
      }
    }
  }
}

function* portRanges(iface: Interface, network: Network | undefined, at: FieldPath, config: ClusterConfig): Causes {
  if (!iface.portRanges) return;
  const name = field(at, 'name');
  if (!config.isEnabled('PortRangesSpec')) {
    yield invalid(name, gateOff('PortRangesSpec', field(at, 'portRanges')));
    return;
  }
  if (!network?.pod) return;
  if (iface.ports) yield invalid(name, `interface "${iface.name}" has ports and portRanges: keep one`);
  if (!iface.masquerade)
    yield invalid(name, `interface "${iface.name}" has portRanges, which need the masquerade binding: use it, or take them out`);
  yield* rangeCauses(iface.portRanges, field(at, 'portRanges'));
}

/** Private options are reported at the spec, as they always have been. */
function* dhcp(iface: Interface, at: FieldPath, specPath: FieldPath): Causes {
  const { privateOptions = [], ntpServers = [] } = iface.dhcpOptions ?? {};
  if (new Set(privateOptions.map((o) => o.option)).size < privateOptions.length) {
    yield invalid(specPath, 'an option of dhcpOptions.privateOptions is given twice: keep one');
  }
  for (const { option } of privateOptions) {
    if (option < 224 || option > 254) {
      yield invalid(specPath, `DHCP option ${option} is not private: use 224 to 254`);
    }
  }
  for (const [i, server] of ntpServers.entries()) {
    const isV4 = isIP(server) === 4 || (isIP(server) === 6 && /^::ffff:[0-9.]+$/i.test(server));
    if (!isV4)
      yield invalid(field(at, 'dhcpOptions', 'ntpServers', i), `NTP server "${server}" is no IPv4 address: DHCP can name no others`);
  }
}

export const interfaceFields: Rule<VirtualMachineInstanceSpec> = function* (spec, base, config) {
  const byName = new Map((spec.networks ?? []).map((n) => [n.name, n]));
  for (const [i, iface] of (spec.domain.devices.interfaces ?? []).entries()) {
    const at = field(base, 'domain', 'devices', 'interfaces', i);
    const network = byName.get(iface.name);
    yield* addresses(iface, at);
    if (network?.pod && iface.ports) yield* ports(iface.ports, field(at, 'ports'));
    yield* portRanges(iface, network, at, config);
    yield* dhcp(iface, at, base);
  }
};
