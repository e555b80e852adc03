// Applies nftables scripts in a network namespace. A script is one transaction of the kernel: all of it or nothing.
import type { Ctx } from '../base/context.js';
import { KvError } from '../base/errors.js';
import { type NetNs, runInNetNs } from './netns.js';

/** `commands` are lines of an nft script, e.g. `add table ip nat`. */
export async function applyNft(ctx: Ctx, ns: NetNs, commands: readonly string[]): Promise<void> {
  if (commands.length === 0) return;
  try {
    await runInNetNs(ctx, ns, ['nft', '-f', '-'], { input: `${commands.join('\n')}\n` });
  } catch (cause) {
    throw new KvError('Internal', `loading ${commands.length} nftables commands into ${ns} failed`, { cause });
  }
}

/** The loaded rules as nft prints them. */
export async function readNftRules(ctx: Ctx, ns: NetNs): Promise<string> {
  return (await runInNetNs(ctx, ns, ['nft', 'list', 'ruleset'])).stdout;
}
