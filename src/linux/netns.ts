// Runs tools inside a network namespace. Entering is done by a child process (nsenter): setns is per thread, and this process stays in its
// own namespace but for the instant in which it makes a router socket (ffi-sockets.ts). Also writes sysctls, whose network part follows the
// namespace of the writer.
import type { Ctx } from '../base/context.js';
import { type ExecOptions, type ExecResult, run } from './exec.js';

/** Path of a network namespace: /proc/<pid>/ns/net or /run/netns/<name>. */
export type NetNs = string;

export const netNsOfPid = (pid: number): NetNs => `/proc/${pid}/ns/net`;

export function runInNetNs(ctx: Ctx, ns: NetNs, command: readonly string[], options: ExecOptions = {}): Promise<ExecResult> {
  return run(ctx, 'nsenter', [`--net=${ns}`, '--', ...command], options);
}

export interface Sysctl {
  /** Below /proc/sys, e.g. net/ipv4/ip_forward. */
  readonly path: string;
  readonly value: string;
}

// Reads "<path> <value>" lines. /proc/sys/net shows the namespace of the process that opens it, hence the child.
const WRITE_SYSCTLS = 'while read -r path value; do echo "$value" > "$path" || exit 1; done';

/** Writes the sysctls in order, as seen from the namespace; fails on the first that the kernel refuses. */
export async function writeSysctls(ctx: Ctx, ns: NetNs, sysctls: readonly Sysctl[]): Promise<void> {
  if (sysctls.length === 0) return;
  const input = sysctls.map(({ path, value }) => `/proc/sys/${path} ${value}\n`).join('');
  await runInNetNs(ctx, ns, ['sh', '-c', WRITE_SYSCTLS], { input });
}
