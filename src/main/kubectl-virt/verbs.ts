// The words of the command line that need no cluster to be understood: verbs and ports. Pure; read by arguments.ts and by the commands.

export type LifecycleVerb = 'start' | 'stop' | 'restart' | 'pause' | 'unpause' | 'migrate' | 'addvolume' | 'removevolume';

/** Questions to the guest's agent and the subresources that answer them. */
export const GUEST_VERBS = { guestosinfo: 'guestosinfo', userlist: 'userlist', fslist: 'filesystemlist' } as const;
export type GuestVerb = keyof typeof GUEST_VERBS;

export interface ForwardedPort {
  readonly local: number;
  readonly remote: number;
}

const LARGEST_PORT = 65_535;
const isPort = (port: number): boolean => Number.isInteger(port) && port > 0 && port <= LARGEST_PORT;

/** `PORT` or `LOCAL:PORT`; undefined for anything else. */
export function forwardedPort(text: string): ForwardedPort | undefined {
  const match = /^(?:(\d{1,5}):)?(\d{1,5})$/.exec(text);
  const remote = Number(match?.[2] ?? 0);
  const local = Number(match?.[1] ?? remote);
  return isPort(remote) && isPort(local) ? { local, remote } : undefined;
}
