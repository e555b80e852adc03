// The unix sockets through which two launchers reach each other, and the ports by which the node agents name them: libvirt itself, QEMU's memory
// stream, and the copies of disks. Used by both launchers (the paths libvirt is told) and both node agents (where the proxies listen and go).
import { LIBVIRT_RUNTIME_DIR, PUBLIC_DIR } from '../storage/paths.js';

/** Not bound by anybody: names in status.migrationState.targetDirectMigrationNodePorts. */
export const CHANNELS = { libvirt: 0, memory: 49152, disks: 49153 } as const;
export type Channel = keyof typeof CHANNELS;

export const MIGRATION_SOCKETS_DIR = `${PUBLIC_DIR}/migrationproxy`;

/** Below the directory; the same name in both pods. */
export function channelSocketName(uid: string, channel: Channel): string {
  const port = CHANNELS[channel];
  return port === 0 ? `${uid}-source.sock` : `${uid}-${port}-source.sock`;
}

/** Where the source's libvirt and QEMU connect to, and for memory and disks where the target's QEMU listens. */
export const channelSocket = (uid: string, channel: Channel): string => `${MIGRATION_SOCKETS_DIR}/${channelSocketName(uid, channel)}`;

/** What answers in the target's pod. */
export const targetSocket = (uid: string, channel: Channel): string =>
  channel === 'libvirt' ? `${LIBVIRT_RUNTIME_DIR}/libvirt-sock` : channelSocket(uid, channel);

export function channelOfPort(port: number): Channel | undefined {
  return (Object.keys(CHANNELS) as Channel[]).find((channel) => CHANNELS[channel] === port);
}
