// VMI and facts in, libvirt domain out. Called by the launcher to define its guest, by the oracle, and by tests; touches nothing.
import type { VirtualMachineInstance } from '../../api/index.js';
import { buildDomain } from './assemble.js';
import { renderDomain } from './domain-xml.js';
import type { DomainFacts } from './facts.js';

export { buildDomain } from './assemble.js';
export { type DescribedDisk, type DescribedDomain, type DescribedInterface, describeDomain, reportDevices } from './describe.js';
export type { Domain as DomainModel } from './domain.js';
export type { DomainDisk, DomainHostDevice, DomainInterface } from './domain-devices.js';
export { domainFromXml, domainToXml, readDomain, renderDevice, renderDomain } from './domain-xml.js';
export * from './facts.js';
export type { HostCell, HostCpu, HostTopology } from './host-topology.js';
export { type CopiedDisk, type Destination, destinationDomain, disksToCopy } from './live/destination.js';
export { type DeviceChange, planDeviceChanges, planHostDevices, withLink } from './live/device-changes.js';
export { describeLive, type LiveDomain, sourcePath } from './live/live-domain.js';
export { type MemoryChange, planMemory } from './live/memory-device.js';
export { parseXml } from './parse-xml.js';
export { deviceName } from './steps/device.js';
export { childOf, childrenOf, renderXml, type XmlNode } from './xml.js';

/** The domain XML for virDomainDefineXML. Throws KvError: 'Invalid' for what no retry can mend, 'NotReady' for facts that are not there yet. */
export const renderDomainXml = (vmi: VirtualMachineInstance, facts: DomainFacts): string => `${renderDomain(buildDomain(vmi, facts))}\n`;
