// A Go that can build the local cluster's programs: a new enough one, or one that fetches the wanted toolchain by itself.
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { installPackages, updateLists } from './debian.mjs';
import { Problem } from './problem.mjs';
import { output } from './run.mjs';

const WANTED = [1, 26];
const TOOLCHAIN = 'go1.26.8';
// From this version on, Go replaces itself by the toolchain that GOTOOLCHAIN names.
const SWITCHING = [1, 21];

/** The environment additions with which `go` works. */
export async function ensureGo(say) {
  const found = findGo();
  if (found) return found;
  const installed = process.getuid() === 0 ? await installGo(say) : undefined;
  if (installed) return installed;
  throw new Problem(
    `building the local cluster needs Go ${WANTED.join('.')} (or ${SWITCHING.join('.')} and later, which fetches ${TOOLCHAIN} itself), and there is none here.\n` +
      'Install it from https://go.dev/dl into /usr/local/go, or from Debian 13 or backports (apt-get install golang-go), and try again.',
  );
}

async function installGo(say) {
  if (!debianCandidate()) await updateLists();
  const candidate = debianCandidate();
  if (!candidate || !atLeast(candidate, SWITCHING)) return undefined;
  say(`installing Debian's Go ${candidate.join('.')}`);
  await installPackages(['golang-go']);
  return findGo();
}

function findGo() {
  const places = goPlaces().map((file) => ({ file, version: versionOf(file) }));
  const good = places.find((place) => place.version && atLeast(place.version, WANTED));
  if (good) return { PATH: `${dirname(good.file)}:${process.env.PATH}` };
  const switching = places.find((place) => place.version && atLeast(place.version, SWITCHING));
  return switching && { PATH: `${dirname(switching.file)}:${process.env.PATH}`, GOTOOLCHAIN: TOOLCHAIN };
}

function goPlaces() {
  const versioned = existsSync('/usr/lib') ? readdirSync('/usr/lib').filter((name) => /^go-1\.\d+$/.test(name)) : [];
  const dirs = [...(process.env.PATH ?? '').split(':'), '/usr/local/go/bin', ...versioned.map((name) => `/usr/lib/${name}/bin`)];
  return dirs.map((dir) => join(dir, 'go')).filter((file) => existsSync(file));
}

function versionOf(file) {
  // GOTOOLCHAIN=local: its own version, without a download because of a go.mod nearby.
  return parseVersion(output(file, ['version'], { cwd: '/', env: { ...process.env, GOTOOLCHAIN: 'local' } }) ?? '');
}

/** "go version go1.26.8 linux/amd64" or "2:1.24~2" → [1, 26] */
export function parseVersion(text) {
  const match = /(?:go|:|^)(\d+)\.(\d+)/.exec(text.replace('go version ', ''));
  return match ? [Number(match[1]), Number(match[2])] : undefined;
}

export function atLeast(version, wanted) {
  return version[0] > wanted[0] || (version[0] === wanted[0] && version[1] >= wanted[1]);
}

function debianCandidate() {
  const policy = output('apt-cache', ['policy', 'golang-go']) ?? '';
  return parseVersion(/Candidate: (\S+)/.exec(policy)?.[1] ?? '');
}
