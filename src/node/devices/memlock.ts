// Lets libvirt and QEMU of one launcher lock memory: neither may raise its own limit. Called before the guest starts, and again when devices
// come to it; a limit that is high enough already stays.
import { basename, join } from 'node:path';
import type { Ctx } from '../../base/context.js';
import { KvError } from '../../base/errors.js';
import { pidsOfPod } from '../../linux/cgroup.js';
import { type Run, run } from '../../linux/exec.js';
import { PROC, readCommandLine, readOptional } from '../../linux/proc.js';
import { text } from '../text.js';

/** QEMU inherits libvirt's limit; one that runs already has its own. */
const LOCKERS = /^(libvirtd|virtqemud|qemu-(system-|kvm).*)$/;

/** Bytes that a process may lock now, from /proc/<pid>/limits; undefined when it is gone. */
export function softMemlock(limits: string): bigint | undefined {
  const soft = /^Max locked memory\s+(\S+)/m.exec(limits)?.[1];
  return soft === undefined ? undefined : soft === 'unlimited' ? 2n ** 64n : BigInt(soft);
}

export interface MemlockDeps {
  readonly run: Run;
  readonly pidsOfPod: typeof pidsOfPod;
  readonly proc: string;
}

const HERE: MemlockDeps = { run, pidsOfPod, proc: PROC };

export async function allowLockedMemory(
  ctx: Ctx,
  { podUid, bytes, vm }: { readonly podUid: string; readonly bytes: bigint; readonly vm: string },
  { run: exec, pidsOfPod: members, proc }: MemlockDeps = HERE,
): Promise<void> {
  for (const pid of await members(podUid, proc)) {
    const [command = ''] = await readCommandLine(pid, proc);
    if (!LOCKERS.test(basename(command))) continue;
    const now = softMemlock((await readOptional(join(proc, String(pid), 'limits'))) ?? '');
    if (now === undefined || now >= bytes) continue;
    ctx.log.info({ vm, pid, command: basename(command), bytes: bytes.toString() }, 'Raising the limit of locked memory');
    await exec(ctx, 'prlimit', [`--pid=${pid}`, `--memlock=${bytes}:${bytes}`]).catch((err: unknown) => {
      throw new KvError('Internal', text.cannotLock(vm, basename(command), bytes), {
        cause: err,
        reason: 'MemlockLimit',
        retry: 'backoff',
      });
    });
  }
}
