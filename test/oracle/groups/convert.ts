// Group convert: VMI → domain XML. Turns the recorded context into DomainFacts; what is not recorded is the reference's plain node.
import type { VirtualMachineInstance } from '../../../src/api/index.js';
import {
  buildDomain,
  type DomainFacts,
  domainToXml,
  type HostTopology,
  PLAIN_FACTS,
  renderXml,
  type Smbios,
} from '../../../src/core/converter/index.js';
import type { OracleCase } from '../oracle-case.js';
import { asRecorded } from './convert-spelling.js';

interface ConvertParams {
  readonly allowEmulation?: boolean;
  readonly hypervisorDeviceAvailable?: boolean;
  readonly hypervisorName?: string;
  readonly allowCrossArchEmulation?: boolean;
  readonly cpuSet?: readonly number[];
  readonly numaCells?: readonly (readonly number[])[];
  readonly numaThreads?: boolean;
  readonly smbios?: Smbios;
  readonly memBalloonStatsPeriod?: number;
  readonly freePageReporting?: boolean;
  readonly serialConsoleLog?: boolean;
  readonly bochsForEFIGuests?: boolean;
  readonly firmwareAutoSelection?: boolean;
  readonly iommufd?: boolean;
  readonly env?: Readonly<Record<string, string>>;
  readonly sriovPCI?: Readonly<Record<string, string>>;
  readonly applyCBT?: Readonly<Record<string, string>>;
  readonly disksInfo?: Readonly<Record<string, { readonly format: string }>>;
}

const FIRMWARE_DIR = '/usr/share/OVMF';
const FIRMWARE = [
  'OVMF_CODE.fd',
  'OVMF_VARS.fd',
  'OVMF_CODE.secboot.fd',
  'OVMF_VARS.secboot.fd',
  'OVMF_CODE.cc.fd',
  'OVMF.amdsev.fd',
  'OVMF.inteltdx.fd',
  'OVMF.inteltdx.secboot.fd',
  'AAVMF_CODE.fd',
  'AAVMF_VARS.fd',
];
const EMULATORS = ['x86_64', 'aarch64', 's390x'].map((arch) => `/usr/bin/qemu-system-${arch}`);

export function answer(testCase: OracleCase): unknown {
  const vmi = testCase.object as VirtualMachineInstance;
  return { xml: renderXml(asRecorded(domainToXml(buildDomain(vmi, factsOf(vmi, testCase))), vmi)) };
}

export function factsOf(vmi: VirtualMachineInstance, testCase: OracleCase): DomainFacts {
  const params: ConvertParams = testCase.params ?? {};
  const topology = topologyOf(params);
  return {
    ...PLAIN_FACTS,
    // Guests of other architectures were recorded on an amd64 node.
    hostArch: (params.allowCrossArchEmulation ? 'amd64' : (testCase.arch ?? 'amd64')) as DomainFacts['hostArch'],
    crossArchEmulation: params.allowCrossArchEmulation ?? false,
    emulators: new Set(EMULATORS),
    hypervisor: params.hypervisorName === 'hyperv-direct' ? 'hyperv-direct' : 'kvm',
    hypervisorDevicePresent: params.hypervisorDeviceAvailable ?? true,
    allowEmulation: params.allowEmulation ?? false,
    cpuSet: params.cpuSet ?? [],
    ...(topology ? { topology } : {}),
    smbios: params.smbios ?? { manufacturer: 'KubeVirt', product: 'None', family: 'KubeVirt' },
    memBalloonStatsPeriod: params.memBalloonStatsPeriod ?? 10,
    freePageReportingDisabled: params.freePageReporting === false,
    serialConsoleLogDisabled: params.serialConsoleLog === false,
    bochsForEfiGuests: params.bochsForEFIGuests ?? true,
    interfaceAttachments: attachmentsOf(vmi),
    ...volumesOf(vmi, params),
    firmwareFiles: new Set(FIRMWARE.map((name) => `${FIRMWARE_DIR}/${name}`)),
    firmwareDir: FIRMWARE_DIR,
    firmwareAutoSelection: params.firmwareAutoSelection ?? false,
    env: params.env ?? {},
    sriovAddresses: params.sriovPCI ?? {},
    iommufd: params.iommufd ?? false,
  };
}

function attachmentsOf(vmi: VirtualMachineInstance): Record<string, string> {
  const tapped = (vmi.spec.domain.devices.interfaces ?? []).filter(({ bridge, masquerade }) => bridge ?? masquerade);
  return Object.fromEntries(tapped.map(({ name }) => [name, 'tap']));
}

/** The recording tells block devices by their name and formats every container disk as qcow2. */
function volumesOf(vmi: VirtualMachineInstance, params: ConvertParams) {
  const names = (vmi.spec.volumes ?? []).map(({ name }) => name);
  return {
    blockVolumes: new Set(names.filter((name) => name.includes('block'))),
    containerDiskFormats: Object.fromEntries(names.map((name) => [name, params.disksInfo?.[name]?.format ?? 'qcow2'])),
    changedBlockOverlays: params.applyCBT ?? {},
    // No volume existed where the recording was made.
    blockSizes: {},
  };
}

function topologyOf({ numaCells, numaThreads }: ConvertParams): HostTopology | undefined {
  if (!numaCells) return undefined;
  const cells = numaCells.map((cpus, id) => ({
    id,
    cpus: cpus.map((cpu, i) => ({ id: cpu, siblings: numaThreads ? cpus.slice(i - (i % 2), i - (i % 2) + 2) : [] })),
    distances: numaCells.map((_, other) => ({ id: other, value: other === id ? 10 : 20 })),
  }));
  return { cells };
}
