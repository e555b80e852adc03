// Streams between virt-api and a guest's devices: serial console and VNC (one viewer each, a newcomer takes over), USB devices of a client (four at
// a time, none takes over). The sockets are QEMU's, reached inside the launcher's root; bytes pass through unread.
import type { Socket } from 'node:net';
import type { VirtualMachineInstance } from '../../api/index.js';
import type { Clock } from '../../base/clock.js';
import { isKvError, KvError } from '../../base/errors.js';
import type { Logger } from '../../base/logger.js';
import { serialSocket, usbRedirectionSocket, vncSocket } from '../../core/storage/paths.js';
import { type HttpRequest, type HttpResponse, pump, text, type Upgrade } from '../../http/index.js';
import { isolationOf, type Launcher, rootOf } from '../launchers/launcher.js';
import { dialGuestSocket } from './guest-socket.js';
import type { Session, Sessions } from './sessions.js';

export interface StreamDeps {
  readonly log: Logger;
  readonly clock: Clock;
  /** For tests, whose launchers have no root of their own. */
  readonly rootOf?: (launcher: Launcher) => string;
}

export type StreamKind = 'console' | 'vnc' | 'usbredir' | 'vsock';

export interface Wanted {
  readonly kind: StreamKind;
  readonly request: HttpRequest;
  readonly upgrade: Upgrade;
}

interface Guest {
  readonly vmi: VirtualMachineInstance;
  readonly launcher: Launcher;
}

/** One device that the stream may have, until its session ends. */
interface Seat {
  readonly session: Session;
  readonly socketPath: string;
}

const ACTIVE_VNC = 'Active VNC connection. Request denied.';
const ALL_USB_TAKEN = 'All USB devices are in use.';
const NO_VSOCK =
  'streams to VSOCK ports of guests are not implemented in this version of virt-handler; docs/compatibility.md lists what is';
const GUEST_ENDED = 'the guest stopped or restarted';
const USB_SLOTS = 4;

type Seating = (sessions: Sessions, request: HttpRequest, uid: string) => Seat | HttpResponse;

/** Where the stream goes; a refusal when there is no place. */
const SEATINGS: Readonly<Record<StreamKind, Seating>> = {
  console: (sessions, _, uid) => ({ session: sessions.take(`console/${uid}`), socketPath: serialSocket(uid) }),
  vnc: (sessions, { query }, uid) => {
    const preserves = query.get('preserveSession') === 'true';
    if (preserves && sessions.isActive(`vnc/${uid}`)) return text(503, ACTIVE_VNC);
    // QEMU serves one client a device: the old one has to leave before the new one is heard.
    return { session: sessions.take(`vnc/${uid}`), socketPath: vncSocket(uid) };
  },
  usbredir: (sessions, _, uid) => {
    const free = Array.from({ length: USB_SLOTS }, (__, slot) => slot).find((slot) => !sessions.isActive(`usbredir-${slot}/${uid}`));
    if (free === undefined) return text(503, ALL_USB_TAKEN);
    return { session: sessions.take(`usbredir-${free}/${uid}`), socketPath: usbRedirectionSocket(uid, free) };
  },
  vsock: () => {
    throw new KvError('NotImplemented', NO_VSOCK);
  },
};

export const STREAM_KINDS = Object.keys(SEATINGS) as readonly StreamKind[];

const launcherRoot = (launcher: Launcher): string => rootOf(isolationOf(launcher));

const isSeat = (found: Seat | HttpResponse): found is Seat => 'session' in found;

/** Returns once the stream runs; a refusal when it must not. */
export async function stream(
  deps: StreamDeps,
  sessions: Sessions,
  wanted: Wanted,
  { vmi, launcher }: Guest,
): Promise<HttpResponse | undefined> {
  const { kind, request, upgrade } = wanted;
  const uid = vmi.metadata.uid ?? '';
  const seat = SEATINGS[kind](sessions, request, uid);
  if (!isSeat(seat)) return seat;
  const { session, socketPath } = seat;
  let socket: Socket | undefined;
  try {
    socket = await dialGuestSocket((deps.rootOf ?? launcherRoot)(launcher), socketPath);
    const ws = await upgrade.accept();
    deps.log.info({ namespace: vmi.metadata.namespace, name: vmi.metadata.name, uid, device: kind }, 'Stream opened');
    const signal = AbortSignal.any([session.signal, request.signal]);
    void pump(ws, socket, { clock: deps.clock, signal, endReason: GUEST_ENDED }).finally(() => session.end());
    return undefined;
  } catch (err) {
    session.end();
    // QEMU would go on talking to nobody, and not hear the next client.
    socket?.destroy();
    if (isKvError(err) && err.code === 'NotFound') return text(404, `the guest has no ${kind}: its socket does not exist`);
    throw err;
  }
}
