// The cluster-wide preferences that KubeVirt brings along: one row a guest system, made of traits. Names and values are those of the
// common-instancetypes release of common-instancetypes.ts. Pure.
import type { VirtualMachineClusterPreference } from '../../../api/index.js';
import { COMMON_PREFIX, COMMON_VERSION, prefixed } from './common-instancetypes.js';

type Spec = VirtualMachineClusterPreference['spec'];

/** Devices and boot are merged over those of the system; a trait never takes anything away. */
const TRAITS = {
  virtio: { devices: { preferredDiskBus: 'virtio', preferredInterfaceModel: 'virtio' } },
  rng: { devices: { preferredRng: {} } },
  sata: { devices: { preferredDiskBus: 'sata' } },
  e1000: { devices: { preferredInterfaceModel: 'e1000' } },
  e1000e: { devices: { preferredInterfaceModel: 'e1000e' } },
  rtl8139: { devices: { preferredInterfaceModel: 'rtl8139' } },
  ioThread: { devices: { preferredDiskDedicatedIoThread: true } },
  input: { devices: { preferredAutoattachInputDevice: true } },
  tablet: { devices: { preferredAutoattachInputDevice: true, preferredInputBus: 'virtio', preferredInputType: 'tablet' } },
  video: { devices: { preferredVideoType: 'virtio' } },
  tpm: { devices: { preferredTPM: { persistent: true } } },
  transitional: { devices: { preferredUseVirtioTransitional: true } },
  efi: { firmware: { preferredEfi: { secureBoot: false } } },
  secureBoot: { firmware: { preferredEfi: { secureBoot: true } }, features: { preferredSmm: {} } },
  keptEfi: { firmware: { preferredEfi: { persistent: true, secureBoot: true } }, features: { preferredSmm: {} } },
  oldPci: { annotations: { 'kubevirt.io/disablePCIHole64': 'true' } },
  dpdk: {
    cpu: { preferredCPUTopology: 'spread', spreadOptions: { across: 'SocketsCoresThreads', ratio: 4 } },
    devices: { preferredNetworkInterfaceMultiQueue: true },
  },
  realtime: {
    cpu: { preferredCPUTopology: 'spread', spreadOptions: { across: 'SocketsCoresThreads' } },
    devices: {
      preferredAutoattachGraphicsDevice: false,
      preferredAutoattachMemBalloon: false,
      preferredAutoattachSerialConsole: true,
      preferredNetworkInterfaceMultiQueue: true,
    },
  },
  windows: {
    clock: {
      preferredClockOffset: { utc: {} },
      preferredTimer: { hpet: { present: false }, hyperv: {}, pit: { tickPolicy: 'delay' }, rtc: { tickPolicy: 'catchup' } },
    },
    cpu: { preferredCPUTopology: 'sockets' },
    features: {
      preferredAcpi: {},
      preferredApic: {},
      preferredHyperv: {
        ...Object.fromEntries(
          'frequencies ipi reenlightenment relaxed reset runtime synic tlbflush vapic vpindex'.split(' ').map((name) => [name, {}]),
        ),
        spinlocks: { spinlocks: 8191 },
        synictimer: { direct: {} },
      },
    },
    preferredTerminationGracePeriodSeconds: 3600,
  },
} as const satisfies Record<string, Spec>;

type Trait = keyof typeof TRAITS;

interface Row {
  readonly name: string;
  readonly display: string;
  readonly icon: string;
  readonly tags: string;
  readonly os: 'linux' | 'windows' | 'legacy';
  readonly traits: readonly Trait[];
  /** `CPUs:memory` at least. */
  readonly needs?: string;
  readonly arch?: string;
}

const LINUX: readonly Trait[] = ['virtio', 'rng'];
const IO_LINUX: readonly Trait[] = [...LINUX, 'ioThread'];

const linux = (name: string, display: string, row: Partial<Row> = {}): Row => ({
  name,
  display,
  icon: name.replace(/\./g, '-'),
  tags: name,
  os: 'linux',
  traits: LINUX,
  ...row,
});

const generic = (name: string, display: string, tags: string, ...traits: readonly Trait[]): Row =>
  linux(name, display, { icon: 'linux', tags, traits: [...LINUX, ...traits] });

const centos = (name: string, display: string, row: Partial<Row> = {}): Row =>
  linux(`centos.${name}`, display, { icon: 'centos', tags: 'linux,centos-stream', traits: IO_LINUX, needs: '1:1536Mi', ...row });

/** Systems with an image for each architecture; only amd64 boots securely. */
function byArchitecture(base: Row, architectures: readonly string[], secure: readonly Trait[] = ['secureBoot']): Row[] {
  return architectures.map((arch) => ({
    ...base,
    name: arch === 'amd64' ? base.name : `${base.name}.${arch}`,
    display: `${base.display} (${arch})`,
    traits: arch === 'amd64' ? [...base.traits, ...secure] : base.traits,
    arch,
  }));
}

const ALL_ARCHITECTURES = ['amd64', 'arm64', 's390x'];
const AMD64 = ['amd64'];

const rhel = (name: string, title: string, row: Partial<Row> = {}): Row =>
  linux(`rhel.${name}`, `Red Hat Enterprise Linux ${title}`, { icon: 'rhel', tags: 'linux,rhel', needs: '1:1536Mi', ...row });

const RHEL: readonly Row[] = [
  rhel('7', '7', { needs: '1:1Gi' }),
  rhel('7.desktop', '7', { needs: '1:1Gi', traits: [...LINUX, 'tablet'] }),
  rhel('8', '8'),
  rhel('8.desktop', '8', { traits: [...LINUX, 'tablet'] }),
  rhel('8.dpdk', '8', { needs: '8:1536Mi', tags: 'linux,rhel,dpdk', traits: [...LINUX, 'dpdk'] }),
  ...byArchitecture(rhel('9', '9', { traits: IO_LINUX }), ALL_ARCHITECTURES),
  ...byArchitecture(rhel('9.desktop', '9 Desktop', { traits: [...IO_LINUX, 'tablet'] }), AMD64),
  ...byArchitecture(rhel('9.dpdk', '9 DPDK', { needs: '8:1536Mi', tags: 'linux,rhel,dpdk', traits: [...IO_LINUX, 'dpdk'] }), AMD64),
  ...byArchitecture(
    rhel('9.realtime', '9 Realtime', { needs: '4:4Gi', tags: 'linux,rhel,realtime', traits: [...IO_LINUX, 'realtime'] }),
    AMD64,
  ),
  ...byArchitecture(rhel('10', '10', { traits: IO_LINUX }), ALL_ARCHITECTURES),
];

interface WindowsRow {
  readonly name: string;
  readonly display: string;
  readonly needs: string;
  readonly traits?: readonly Trait[];
  /** Network card without drivers of ours. */
  readonly nic?: Trait;
  /** Too old for virtio. */
  readonly plainOnly?: true;
}

const WINDOWS: readonly WindowsRow[] = [
  { name: 'xp', display: 'XP', needs: '1:128Mi', traits: ['oldPci'], plainOnly: true },
  { name: '7', display: '7', needs: '1:2Gi' },
  { name: '10', display: '10', needs: '1:2Gi', traits: ['secureBoot'] },
  { name: '11', display: '11', needs: '2:4Gi', traits: ['keptEfi', 'tpm'] },
  { name: '2k3', display: 'Server 2003', needs: '1:256Mi', traits: ['oldPci'], nic: 'rtl8139', plainOnly: true },
  { name: '2k8', display: 'Server 2008/2008 R2', needs: '1:512Mi', nic: 'e1000' },
  { name: '2k12', display: 'Server 2012/2012 R2', needs: '1:512Mi' },
  { name: '2k16', display: 'Server 2016', needs: '1:2Gi', traits: ['secureBoot'] },
  { name: '2k19', display: 'Server 2019', needs: '1:2Gi', traits: ['secureBoot'] },
  { name: '2k22', display: 'Server 2022', needs: '1:2Gi', traits: ['keptEfi', 'tpm'] },
  { name: '2k25', display: 'Server 2025', needs: '1:2Gi', traits: ['keptEfi', 'tpm'] },
];

function windows({ name, display, needs, traits = [], nic = 'e1000e', plainOnly }: WindowsRow): Row[] {
  const base = { icon: 'windows', tags: 'windows', os: 'windows', needs } as const;
  const title = `Microsoft Windows ${display}`;
  const plain: Row = { ...base, name: `windows.${name}`, display: title, traits: ['windows', 'input', 'sata', nic, ...traits] };
  if (plainOnly) return [plain];
  const drivers: readonly Trait[] = ['windows', 'tablet', 'video', 'virtio', ...traits];
  return [plain, { ...base, name: `windows.${name}.virtio`, display: `${title} (virtio)`, traits: drivers }];
}

const ROWS: readonly Row[] = [
  linux('alpine', 'Alpine', { needs: '1:512Mi' }),
  centos('stream9', 'CentOS Stream 9'),
  centos('stream9.desktop', 'CentOS Stream 9', { traits: [...IO_LINUX, 'tablet'] }),
  centos('stream9.dpdk', 'CentOS Stream 9', { tags: 'linux,centos-stream,dpdk', needs: '8:1536Mi', traits: [...IO_LINUX, 'dpdk'] }),
  centos('stream10', 'CentOS Stream 10'),
  centos('stream10.desktop', 'CentOS Stream 10', { traits: [...IO_LINUX, 'tablet'] }),
  linux('cirros', 'Cirros', { needs: '1:256Mi' }),
  linux('debian', 'Debian', { needs: '1:512Mi', traits: [...LINUX, 'efi'] }),
  ...byArchitecture(linux('fedora', 'Fedora', { needs: '1:2Gi' }), ALL_ARCHITECTURES),
  { name: 'legacy', display: 'Legacy Guest', icon: 'other', tags: 'legacy', os: 'legacy', traits: ['sata', 'e1000'] },
  generic('linux', 'Linux Guest', 'linux'),
  generic('linux.efi', 'Linux EFI Guest', 'linux-efi', 'efi'),
  generic('linux.virtiotransitional', 'Linux Virtio Transitional Guest', 'linux-virtio-transitional', 'transitional'),
  linux('opensuse.leap', 'OpenSUSE Leap', { needs: '1:2Gi' }),
  linux('opensuse.tumbleweed', 'OpenSUSE Tumbleweed', { needs: '1:2Gi' }),
  linux('oraclelinux', 'Oracle Linux', { icon: 'oracle', needs: '2:4Gi', traits: [...LINUX, 'efi'] }),
  ...RHEL,
  linux('sles', 'SUSE Linux Enterprise Server', { needs: '1:2Gi' }),
  linux('ubuntu', 'Ubuntu', { needs: '1:2Gi' }),
  ...WINDOWS.flatMap(windows),
];

const PROJECT = 'https://github.com/kubevirt/common-instancetypes';
/** With the quotes and the line's end that the release has inside these values: clients compare them as they are. */
const quoted = (url: string): string => `"${url}"\n`;

export const commonPreferences = (): VirtualMachineClusterPreference[] => ROWS.map(preference);

function preference(row: Row): VirtualMachineClusterPreference {
  return {
    apiVersion: `${COMMON_PREFIX}/v1beta1`,
    kind: 'VirtualMachineClusterPreference',
    metadata: {
      name: row.name,
      labels: labels(row),
      annotations: {
        iconClass: `icon-${row.icon}`,
        'openshift.io/display-name': row.display,
        'openshift.io/documentation-url': quoted(PROJECT),
        'openshift.io/provider-display-name': 'KubeVirt',
        'openshift.io/support-url': quoted(`${PROJECT}/issues`),
        tags: `hidden,kubevirt,${row.tags}`,
      },
    },
    spec: spec(row),
  };
}

function labels({ os, arch, needs }: Row): Record<string, string> {
  const [cpus, memory] = needs?.split(':') ?? [];
  return prefixed({
    arch,
    'common-instancetypes-version': COMMON_VERSION,
    'os-type': os,
    'preferred-architecture': arch,
    'required-architecture': arch,
    'required-cpu': cpus,
    'required-memory': memory?.replace('1536Mi', '1.5Gi'),
    vendor: 'kubevirt.io',
  });
}

function spec({ os, arch, needs, traits }: Row): Spec {
  const own = traits.map((trait): Spec => TRAITS[trait]);
  const [cpus, memory] = needs?.split(':') ?? [];
  const joined: Spec = {};
  for (const trait of own) {
    for (const [key, value] of Object.entries(trait)) {
      const field = key as keyof Spec;
      const merged = typeof value === 'object' ? { ...(joined[field] as object | undefined), ...value } : value;
      Object.assign(joined, { [field]: merged });
    }
  }
  return {
    ...joined,
    annotations: { ...joined.annotations, 'vm.kubevirt.io/os': os },
    ...(arch ? { preferredArchitecture: arch } : {}),
    ...(cpus && memory
      ? { requirements: { ...(arch ? { architecture: arch } : {}), cpu: { guest: Number(cpus) }, memory: { guest: memory } } }
      : {}),
  };
}
