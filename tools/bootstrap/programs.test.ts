// Every program that tests and tools call is one that a new machine has, or in a package that the whole run installs: a program that a
// developer's machine has by chance would fail only elsewhere, and late.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '..', '..');
const { COMMANDS } = (await import(String('./commands.mjs'))) as {
  COMMANDS: Record<string, { needs: (args: string[]) => { debian: string[] } }>;
};
const installed = COMMANDS.test?.needs([]).debian ?? [];

const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  buildah: ['buildah'],
  hostname: ['hostname'],
  iproute2: ['ip'],
  'iputils-ping': ['ping'],
  'isc-dhcp-client': ['dhclient'],
  kmod: ['modprobe'],
  'libvirt-clients': ['virsh'],
  'libvirt-daemon': ['libvirtd'],
  'libxml2-utils': ['xmllint'],
  mmdebstrap: ['mmdebstrap'],
  mount: ['losetup', 'mount', 'umount'],
  ndisc6: ['rdisc6'],
  nftables: ['nft'],
  openssl: ['openssl'],
  'qemu-utils': ['qemu-img'],
  socat: ['socat'],
  tini: ['tini'],
  'util-linux': ['nsenter', 'prlimit', 'setpriv', 'taskset', 'unshare'],
  xorriso: ['xorriso', 'xorrisofs'],
};
/** Of packages that no Debian is without. */
const EVERYWHERE =
  'apt-cache apt-get awk bash cat chmod chown cp cut date dd dpkg dpkg-query echo env expr false find getent grep gzip head id install kill ln ls mkdir ' +
  'mkfifo mknod mktemp mv nproc printf readlink realpath rm rmdir sed seq sh sleep sort stat sync tail tar tee test timeout touch tr true ' +
  'truncate uname uniq wc xargs';
/** Brought in other ways: by bootstrap, by a build, by npm; iptables is looked for only to get past another program's rules. */
const OTHERS = 'biome depcruise go kubectl npm vitest iptables';

/** What helpers of such names take first: objects of ip, a package. */
const NO_PROGRAMS = 'address fs link route';

const CALL =
  /\b(?:spawn|spawnSync|execFile|execFileSync|exec|run|tryRun|runCommand|stream|start|output|inPod)\(\s*(?:ctx,\s*)?(?:\{\s*command:\s*)?\[?\s*'([a-z][a-z0-9_.-]*)'/g;

const programsIn = (source: string): string[] => [...source.matchAll(CALL)].map(([, program = '']) => program);

it.each([
  ["run(['ip', 'link'])", ['ip']],
  ["await stream(\n    [\n      'mmdebstrap',", ['mmdebstrap']],
  ["guest.run('timeout', '3', 'dhclient')", ['timeout']],
  ["exec(ctx, 'qemu-img', args)", ['qemu-img']],
  ["inPod('virsh', uri)", ['virsh']],
  ["restart('x')", []],
])('finds the program of %j', (source, programs) => {
  expect(programsIn(source)).toEqual(programs);
});

it('every program comes from somewhere', () => {
  const known = new Set([...Object.values(PACKAGES).flat(), ...EVERYWHERE.split(' '), ...OTHERS.split(' '), ...NO_PROGRAMS.split(' ')]);
  const files = globSync('{test,tools,images}/**/*.{ts,mjs}', { cwd: ROOT, exclude: (path) => path.endsWith('programs.test.ts') });
  expect(files.length).toBeGreaterThan(200);
  const unknown = files.flatMap((file) =>
    programsIn(readFileSync(join(ROOT, file), 'utf8')).flatMap((program) => (known.has(program) ? [] : [`${file}: ${program}`])),
  );
  expect(unknown).toEqual([]);
});

it('every package is one that the whole run installs', () => {
  expect(Object.keys(PACKAGES).filter((name) => !installed.includes(name))).toEqual([]);
});
