// Clients that others have made, ready to use: each is installed once from what lies beside this file and kept in the cache folder
// under the hash of that. Called by the journeys of the clients; knows nothing of what they do with them.
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { KvError, messageOf } from '../../../src/base/errors.js';
import { cacheDir } from '../../cluster/config.js';
import { withLock } from '../../cluster/lock.js';
import { timedLog } from '../../cluster/progress.js';
import { run } from '../../cluster/run.js';

const HERE = import.meta.dirname;
const INSTALL_TIMEOUT_MS = 900_000;
/** Debian's, whatever else calls itself python3. */
const PYTHON = '/usr/bin/python3';

interface Client {
  /** Folder beside this file. */
  readonly name: string;
  /** What the machine must have, for the message when it has not. */
  readonly needs: string;
  /** What else the installed files depend on. */
  readonly variant?: () => Promise<string>;
  readonly install: (sources: string, dir: string) => Promise<unknown>;
}

async function keyOf({ name, variant }: Client): Promise<string> {
  const hash = createHash('sha256').update(`${process.arch} ${(await variant?.()) ?? ''}`);
  for (const file of readdirSync(join(HERE, name)).sort()) hash.update(`\0${file}\0`).update(readFileSync(join(HERE, name, file)));
  return `${name}-${hash.digest('hex').slice(0, 16)}`;
}

/** The folder of the installed client. */
async function ensure(client: Client): Promise<string> {
  try {
    const log = timedLog((line) => process.stderr.write(`${line}\n`));
    const dir = join(cacheDir(process.env), 'clients', await keyOf(client));
    if (!existsSync(dir)) await withLock(`${dir}.lock`, log, () => install(client, dir));
    return dir;
  } catch (err) {
    throw new KvError('Terminal', `the client ${client.name} cannot be installed: ${messageOf(err)}; it needs ${client.needs}`, {
      cause: err,
    });
  }
}

async function install(client: Client, dir: string): Promise<void> {
  if (existsSync(dir)) return;
  const partial = `${dir}.partial-${process.pid}`;
  mkdirSync(partial, { recursive: true });
  try {
    await client.install(join(HERE, client.name), partial);
    renameSync(partial, dir);
  } finally {
    rmSync(partial, { recursive: true, force: true });
  }
}

const KUBECTL: Client = {
  name: 'kubectl',
  needs: 'Go (go in the PATH) and the Go module proxy',
  install: async (cwd, dir) => {
    const { 'k8s.io/kubectl': version = '' } = requirements(readFileSync(join(cwd, 'go.mod'), 'utf8'));
    const env = { CGO_ENABLED: '0', GOFLAGS: '-mod=readonly -trimpath -buildvcs=false' };
    const flags = `-s -w -X k8s.io/component-base/version.gitVersion=${version.replace('v0.', 'v1.')}`;
    await run(['go', 'build', '-ldflags', flags, '-o', join(dir, 'kubectl'), '.'], { cwd, env, timeoutMs: INSTALL_TIMEOUT_MS });
  },
};

/** The modules that a go.mod names with a version. */
function requirements(goMod: string): Record<string, string> {
  return Object.fromEntries([...goMod.matchAll(/^\t(\S+) (v\S+)/gm)].map(([, name = '', version = '']) => [name, version]));
}

const PYTHON_CLIENT: Client = {
  name: 'python',
  needs: 'the Debian package python3-venv and the Python package index',
  variant: () => run([PYTHON, '--version']),
  install: async (sources, dir) => {
    await run([PYTHON, '-m', 'venv', dir]);
    const flags = ['--quiet', '--disable-pip-version-check', '--no-input', '--only-binary', ':all:'];
    const command = [join(dir, 'bin', 'python'), '-m', 'pip', 'install', ...flags, '-r', join(sources, 'requirements.txt')];
    await run(command, { timeoutMs: INSTALL_TIMEOUT_MS });
  },
};

const MCP: Client = {
  name: 'mcp',
  needs: 'npm and its registry',
  install: async (sources, dir) => {
    cpSync(sources, dir, { recursive: true });
    // No lock file: the package of the program is another one on each kind of machine, and not all are everywhere.
    await run(['npm', 'install', '--no-package-lock', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], {
      cwd: dir,
      timeoutMs: INSTALL_TIMEOUT_MS,
    });
  },
};

/** kubectl in the newest version, which is not that of the local cluster. */
export const newestKubectl = async (): Promise<string> => join(await ensure(KUBECTL), 'kubectl');

/** A Python that has the package `kubernetes`. */
export const pythonWithKubernetes = async (): Promise<string> => join(await ensure(PYTHON_CLIENT), 'bin', 'python');

/** The command line of kubernetes-mcp-server, a client in Go that language models use. */
export const mcpServer = async (): Promise<string[]> => [
  process.execPath,
  join(await ensure(MCP), 'node_modules', 'kubernetes-mcp-server', 'bin', 'index.js'),
];
