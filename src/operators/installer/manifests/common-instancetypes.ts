// The cluster-wide instance types that KubeVirt brings along, by series: a row of features and a list of sizes. Names and values are
// those of the common-instancetypes release named below, so that manifests which refer to them work unchanged. Pure.
import type { VirtualMachineClusterInstancetype } from '../../../api/index.js';

export const COMMON_VERSION = 'v1.7.0';
export const COMMON_PREFIX = 'instancetype.kubevirt.io';

type Spec = VirtualMachineClusterInstancetype['spec'];

interface Series {
  readonly displayName: string;
  readonly class: string;
  readonly icon: string;
  readonly description: string;
  readonly dedicated?: true;
  readonly numa?: true;
  readonly realtime?: true;
  /** As many sockets as CPUs at most: hot-plug room would have to be reserved on the node. */
  readonly fixedSockets?: true;
  readonly ioThreads?: true;
  /** The runtime shall not disturb these CPUs. */
  readonly quietCpus?: true;
  readonly overcommitPercent?: number;
  readonly hugepages?: '1Gi' | 'both';
  /** `name:CPUs:memory`; a size of a series with `both` page sizes exists twice. */
  readonly sizes: string;
}

const UNIVERSAL = 'micro:1:1Gi small:1:2Gi medium:1:4Gi large:2:8Gi xlarge:4:16Gi 2xlarge:8:32Gi 4xlarge:16:64Gi 8xlarge:32:128Gi';
const FLEXIBLE = `nano:1:512Mi ${UNIVERSAL}`;

const SERIES: Readonly<Record<string, Series>> = {
  cx1: {
    displayName: 'Compute Exclusive',
    class: 'compute.exclusive',
    icon: 'pficon-registry',
    description:
      'CX (Compute Exclusive): every vCPU has a core of its own, the guest sees the NUMA layout of these cores, and further cores carry its I/O. ' +
      'CPUs cannot be added later. Needs nodes with the CPU manager and huge pages.',
    dedicated: true,
    numa: true,
    fixedSockets: true,
    ioThreads: true,
    hugepages: 'both',
    sizes: 'medium:1:2Gi large:2:4Gi xlarge:4:8Gi 2xlarge:8:16Gi 4xlarge:16:32Gi 8xlarge:32:64Gi',
  },
  d1: {
    displayName: 'Dedicated vCPU',
    class: 'dedicated.vcpu',
    icon: 'pficon-server-group',
    description: 'D (Dedicated): general purpose with steady speed, because no other machine runs on the cores of its vCPUs.',
    dedicated: true,
    ioThreads: true,
    sizes: `${FLEXIBLE} 2xmedium:2:4Gi`,
  },
  m1: {
    displayName: 'Memory Intensive',
    class: 'memory.intensive',
    icon: 'fa-memory',
    description: 'M (Memory): much memory for each vCPU, in huge pages.',
    hugepages: 'both',
    sizes: 'large:2:16Gi xlarge:4:32Gi 2xlarge:8:64Gi 4xlarge:16:128Gi 8xlarge:32:256Gi',
  },
  n1: {
    displayName: 'Network',
    class: 'network',
    icon: 'pficon-network',
    description:
      'N (Network): for packet processing in user space (DPDK). Needs nodes that are set up for it and carry the label ' +
      'node-role.kubevirt.io/worker-dpdk.',
    dedicated: true,
    quietCpus: true,
    hugepages: '1Gi',
    sizes: 'medium:4:4Gi large:4:8Gi xlarge:8:16Gi 2xlarge:16:32Gi 4xlarge:32:64Gi 8xlarge:64:128Gi',
  },
  o1: {
    displayName: 'Overcommitted',
    class: 'overcommitted',
    icon: 'pficon-virtual-machine',
    description: 'O (Overcommitted): the sizes of the U series, but only half of the memory is requested from the node.',
    overcommitPercent: 50,
    sizes: FLEXIBLE,
  },
  rt1: {
    displayName: 'Realtime',
    class: 'realtime',
    icon: 'pficon-server-group',
    description: 'RT (Realtime): for guests with hard deadlines. Needs nodes that are set up for realtime work.',
    dedicated: true,
    numa: true,
    realtime: true,
    quietCpus: true,
    hugepages: '1Gi',
    sizes: UNIVERSAL,
  },
  u1: {
    displayName: 'General Purpose',
    class: 'general.purpose',
    icon: 'pficon-server-group',
    description: 'U (Universal): for most machines. They share the cores of their node with others by time slices.',
    sizes: `${FLEXIBLE} 2xmedium:2:4Gi`,
  },
};

const QUIET_CPUS = {
  'cpu-load-balancing.crio.io': 'disable',
  'cpu-quota.crio.io': 'disable',
  'irq-load-balancing.crio.io': 'disable',
};

export function commonInstancetypes(): VirtualMachineClusterInstancetype[] {
  return Object.entries(SERIES).flatMap(([name, series]) =>
    series.sizes.split(' ').flatMap((text) => {
      const [size = '', cpus = '', memory = ''] = text.split(':');
      return pagesOf(series).map(({ suffix, pageSize }) =>
        instancetype(name, series, { size: size + suffix, cpus: Number(cpus), memory, ...(pageSize ? { pageSize } : {}) }),
      );
    }),
  );
}

const pagesOf = ({ hugepages }: Series): { suffix: string; pageSize?: string }[] => {
  if (hugepages === undefined) return [{ suffix: '' }];
  if (hugepages === '1Gi') return [{ suffix: '', pageSize: '1Gi' }];
  return [
    { suffix: '', pageSize: '2Mi' },
    { suffix: '1gi', pageSize: '1Gi' },
  ];
};

interface Size {
  readonly size: string;
  readonly cpus: number;
  readonly memory: string;
  readonly pageSize?: string;
}

function instancetype(name: string, series: Series, size: Size): VirtualMachineClusterInstancetype {
  return {
    apiVersion: `${COMMON_PREFIX}/v1beta1`,
    kind: 'VirtualMachineClusterInstancetype',
    metadata: {
      name: `${name}.${size.size}`,
      labels: labels(name, series, size),
      annotations: prefixed({ description: series.description, displayName: series.displayName }),
    },
    spec: spec(series, size),
  };
}

/** Keys with the group's prefix; undefined values fall out. */
export const prefixed = (values: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(Object.entries(values).flatMap(([key, value]) => (value === undefined ? [] : [[`${COMMON_PREFIX}/${key}`, value]])));

function labels(name: string, series: Series, { size, cpus, memory, pageSize }: Size): Record<string, string> {
  const flag = (on: true | undefined): string | undefined => (on ? 'true' : undefined);
  return prefixed({
    class: series.class,
    'common-instancetypes-version': COMMON_VERSION,
    cpu: String(cpus),
    dedicatedCPUPlacement: flag(series.dedicated),
    hugepages: pageSize,
    'icon-pf': series.icon,
    isolateEmulatorThread: flag(series.dedicated),
    memory,
    numa: flag(series.numa),
    realtime: flag(series.realtime),
    size,
    vendor: 'kubevirt.io',
    version: name.replace(/^\D+/, ''),
  });
}

function spec(series: Series, { cpus, memory, pageSize }: Size): Spec {
  return {
    ...(series.quietCpus ? { annotations: QUIET_CPUS } : {}),
    cpu: {
      guest: cpus,
      ...(series.dedicated ? { dedicatedCPUPlacement: true, isolateEmulatorThread: true } : {}),
      ...(series.fixedSockets ? { maxSockets: cpus } : {}),
      ...(series.numa ? { numa: { guestMappingPassthrough: {} } } : {}),
      ...(series.realtime ? { realtime: {} } : {}),
    },
    ...(series.ioThreads ? { ioThreadsPolicy: 'auto' } : {}),
    memory: {
      guest: memory,
      ...(pageSize ? { hugepages: { pageSize } } : {}),
      ...(series.overcommitPercent ? { overcommitPercent: series.overcommitPercent } : {}),
    },
  };
}
