// guestosinfo, userlist, fslist: what the agent in the guest says, as JSON.
import type { Cluster } from './cluster.js';
import type { Terminal } from './terminal.js';
import { GUEST_VERBS, type GuestVerb } from './verbs.js';

export async function guestCommand(cluster: Cluster, verb: GuestVerb, name: string, terminal: Terminal): Promise<number> {
  const answer = await cluster.get('virtualmachineinstances', name, GUEST_VERBS[verb]);
  terminal.output.write(`${JSON.stringify(answer, undefined, 2)}\n`);
  return 0;
}
