// sidecar-shim: the hook sidecar for people who only want to write a script. Finds programs named onDefineDomain and preCloudInitIso on its path,
// calls them when the launcher asks, with --vmi and --domain or --cloud-init, and gives back what they print. What they print to standard error
// goes to the container's log. src/main/sidecar-shim.ts runs it.
import { access, constants, stat } from 'node:fs/promises';
import { posix } from 'node:path';
import type { Ctx } from '../../base/context.js';
import { hasCode, isKvError, KvError, messageOf } from '../../base/errors.js';
import { fail, ok, type Result } from '../../base/result.js';
import { lastLine, type Run } from '../../linux/exec.js';
import { HOOK_VERSIONS, type HookHandlers, type HookVersion, hookService } from '../../rpc/light/hooks.js';
import { type LightServer, serveLight } from '../../rpc/light/server.js';
import { parseToolFlags } from './flags.js';

export interface ShimDeps {
  readonly ctx: Ctx;
  readonly run: Run;
  /** Directories with programs, as in PATH. */
  readonly path: string;
  readonly socketPath: string;
  /** How long a program may take; default: as long as the launcher waits. */
  readonly scriptMs?: number;
  /** The launcher says that the guest is over. */
  readonly ended: () => void;
}

/** Hook point → program. */
const PROGRAMS = { OnDefineDomain: 'onDefineDomain', PreCloudInitIso: 'preCloudInitIso' } as const;
type Program = (typeof PROGRAMS)[keyof typeof PROGRAMS];

/** As long as the launcher waits. */
const SCRIPT_MS = 50_000;
const COMMAND_NOT_FOUND = 127;

/** The version to announce: the newest unless told otherwise. */
export function parseShim(argv: readonly string[]): Result<HookVersion, string> {
  const parsed = parseToolFlags(argv, { version: { type: 'string', default: HOOK_VERSIONS[0] } });
  if (!parsed.ok) return parsed;
  const version = HOOK_VERSIONS.find((known) => known === parsed.value.values.version);
  return version ? ok(version) : fail(`--version: there is ${HOOK_VERSIONS.join(', ')}, not ${parsed.value.values.version}`);
}

/** A directory is none: the kubelet makes one where a key of a ConfigMap is missing. */
async function isProgram(file: string): Promise<boolean> {
  return Promise.all([access(file, constants.X_OK), stat(file)]).then(
    ([, found]) => found.isFile(),
    // Not in this directory, or not to be run.
    () => false,
  );
}

async function find(path: string, program: Program): Promise<string | undefined> {
  for (const directory of path.split(':').filter((each) => each !== '')) {
    const file = posix.join(directory, program);
    if (await isProgram(file)) return file;
  }
  return undefined;
}

const CAUSES: Readonly<Record<string, string>> = {
  E2BIG:
    'cannot be run: the VMI or the domain is larger than the 128 KiB that Linux hands to a program at once; use an image with a hook of its own',
  ENOENT: 'cannot be run: the program in its first line (#!) is not in this image',
  EACCES: 'cannot be run: this user may not, or its file system is mounted noexec',
};

/** Why no exit code is known. */
function unrunnable(err: unknown, scriptMs: number): string {
  if (hasCode(err, 'Timeout')) return `had not ended after ${scriptMs / 1000} s and was killed`;
  const { code = '' } = ((err as Error).cause ?? {}) as NodeJS.ErrnoException;
  return CAUSES[code] ?? `cannot be run (${code || messageOf(err)})`;
}

function failure(program: Program, err: unknown, scriptMs: number): KvError {
  const details = isKvError(err) ? err.details : {};
  const said = lastLine(String(details.stderr ?? ''));
  if (details.exitCode === undefined) return new KvError('Internal', `${program} ${unrunnable(err, scriptMs)}`, { cause: err });
  if (details.exitCode === null)
    return new KvError('Internal', `${program} was killed: it printed too much, or took more memory than its container has`);
  const hint =
    details.exitCode === COMMAND_NOT_FOUND ? '; a program that it needs is not in this image: give the hook an image that has it' : '';
  return new KvError('Internal', `${program} ended with exit code ${details.exitCode ?? 'unknown'}: ${said}${hint}`);
}

async function call({ ctx, run, path, scriptMs = SCRIPT_MS }: ShimDeps, program: Program, args: readonly string[]): Promise<Buffer> {
  const file = await find(path, program);
  if (file === undefined) throw new KvError('NotFound', `there is no program ${program} in ${path}`);
  ctx.log.info({ program: file }, 'Running the hook');
  try {
    const { stdout, stderr } = await run(ctx, file, args, { timeoutMs: scriptMs, killsAll: true });
    if (stderr.trim() !== '') ctx.log.info({ stderr: stderr.trim() }, 'The hook said');
    return Buffer.from(stdout);
  } catch (err) {
    const failed = failure(program, err, scriptMs);
    ctx.log.error({ reason: messageOf(err) }, failed.message);
    throw failed;
  }
}

async function hookPoints({ path }: ShimDeps, version: HookVersion): Promise<{ name: string; priority: number }[]> {
  const programs = Object.entries(PROGRAMS) as [string, Program][];
  const found = await Promise.all(programs.map(async ([name, program]) => ((await find(path, program)) === undefined ? [] : [name])));
  const names = [...found.flat(), ...(version === 'v1alpha3' ? ['Shutdown'] : [])];
  return names.map((name) => ({ name, priority: 0 }));
}

function handlersOf(deps: ShimDeps): HookHandlers {
  return {
    OnDefineDomain: async ({ vmi, domainXML }) => ({
      domainXML: await call(deps, PROGRAMS.OnDefineDomain, ['--vmi', vmi.toString(), '--domain', domainXML.toString()]),
    }),
    PreCloudInitIso: async ({ vmi, cloudInitData }) => ({
      cloudInitData: await call(deps, PROGRAMS.PreCloudInitIso, ['--vmi', vmi.toString(), '--cloud-init', cloudInitData.toString()]),
    }),
    Shutdown: async () => {
      deps.ended();
      return {};
    },
  };
}

export async function runShim(deps: ShimDeps, version: HookVersion): Promise<LightServer> {
  const info = async () => ({ name: 'shim', versions: [version], hookPoints: await hookPoints(deps, version) });
  const server = await serveLight(deps.socketPath, hookService(version, info, handlersOf(deps)));
  const hooks = (await hookPoints(deps, version)).map(({ name }) => name);
  deps.ctx.log.info({ socket: deps.socketPath, version, hooks }, 'Waiting for the launcher');
  if (!hooks.some((name) => name in PROGRAMS)) {
    const wanted = Object.values(PROGRAMS).join(' nor ');
    deps.ctx.log.error(
      { path: deps.path },
      `Neither ${wanted} can be run in the path: this hook changes nothing; see configMap.hookPath and the mode of the file`,
    );
  }
  return server;
}
