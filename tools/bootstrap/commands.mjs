// What each command runs and what it needs before. The package sets are what the code calls, by its Debian package.
import { isOnPath } from './run.mjs';

const CLUSTER = [
  'runc',
  'containernetworking-plugins',
  'nftables',
  'iproute2',
  'util-linux',
  'mount',
  'kmod',
  'hostname',
  'catatonit',
  'busybox-static',
];
const IMAGES = ['mmdebstrap', 'buildah', 'debian-archive-keyring', 'ca-certificates'];
const HOST_TESTS = [
  ...['libvirt0', 'libvirt-clients', 'libvirt-daemon', 'libvirt-daemon-driver-qemu', 'qemu-system-x86', 'qemu-utils'],
  ...['tini', 'xorriso', 'nftables', 'iproute2', 'iputils-ping', 'isc-dhcp-client', 'ndisc6', 'libxml2-utils', 'socat'],
];
/** What test/e2e/clients/prepare.ts needs. */
const CLIENTS = ['python3-venv'];

/** What the unit tests make certificates with. Any system has it by that name, so that its package matters only where it is missing. */
const OPENSSL = ['openssl'];

const NOTHING = { debian: [], go: false };
const EVERYTHING = { debian: [...new Set([...CLUSTER, ...IMAGES, ...HOST_TESTS, ...OPENSSL])], go: true };

/** With a cluster of the user's own nothing is built. */
function demoNeeds(args) {
  return args.some((arg) => arg.startsWith('--kubeconfig')) ? NOTHING : EVERYTHING;
}

export const COMMANDS = {
  start: { entry: 'tools/start.ts', needs: demoNeeds },
  test: { entry: 'tools/test.ts', needs: () => ({ ...EVERYTHING, debian: [...EVERYTHING.debian, ...CLIENTS] }) },
  quick: { entry: 'tools/quick.ts', needs: () => ({ debian: OPENSSL.filter((program) => !isOnPath(program)), go: false }) },
  cluster: { entry: 'test/cluster/main.ts', needs: (args) => (args[0] === 'up' ? { debian: CLUSTER, go: true } : NOTHING) },
  images: { entry: 'images/main.ts', needs: () => ({ debian: IMAGES, go: false }) },
  bench: { entry: 'test/bench/main.ts', needs: () => EVERYTHING },
};
