// Streams between virt-api and a guest's devices: serial console and VNC (one viewer each, a newcomer takes over), USB devices of a client (four at
// a time, none takes over); and programs in the guest that listen on VSOCK. QEMU's sockets are reached inside the launcher's root; bytes pass
// through unread.
import type { Duplex } from 'node:stream';
import type { VirtualMachineInstance } from '../../api/index.js';
import type { Clock } from '../../base/clock.js';
import { isKvError } from '../../base/errors.js';
import type { Logger } from '../../base/logger.js';
import { serialSocket, usbRedirectionSocket, vncSocket } from '../../core/storage/paths.js';
import { type HttpRequest, type HttpResponse, pump, text, type Upgrade } from '../../http/index.js';
import { isolationOf, type Launcher, rootOf } from '../launchers/launcher.js';
import type { DialVsock } from '../vsock/dial.js';
import { dialGuestSocket } from './guest-socket.js';
import { createSessions, type Session, type Sessions } from './sessions.js';

export interface StreamDeps {
  readonly log: Logger;
  readonly clock: Clock;
  /** For tests, whose launchers have no root of their own. */
  readonly rootOf?: (launcher: Launcher) => string;
  readonly dialVsock: DialVsock;
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
  readonly dial: () => Promise<Duplex>;
}

const ACTIVE_VNC = 'Active VNC connection. Request denied.';
const ALL_USB_TAKEN = 'All USB devices are in use.';
const NO_VSOCK = "VM doesn't have VSOCK enabled";
const LARGEST_VSOCK_PORT = 2 ** 32 - 1;
const GUEST_ENDED = 'the guest stopped or restarted';
const USB_SLOTS = 4;

interface Asked {
  readonly deps: StreamDeps;
  readonly sessions: Sessions;
  readonly query: URLSearchParams;
  readonly guest: Guest;
  readonly uid: string;
}

const launcherRoot = (launcher: Launcher): string => rootOf(isolationOf(launcher));

function deviceSeat({ deps, sessions, guest: { launcher } }: Asked, device: string, socketPath: string): Seat {
  return { session: sessions.take(device), dial: () => dialGuestSocket((deps.rootOf ?? launcherRoot)(launcher), socketPath) };
}

/** Where the stream goes; a refusal when there is no place. */
const SEATINGS: Readonly<Record<StreamKind, (asked: Asked) => Seat | HttpResponse>> = {
  console: (asked) => deviceSeat(asked, `console/${asked.uid}`, serialSocket(asked.uid)),
  vnc(asked) {
    const { sessions, query, uid } = asked;
    const preserves = query.get('preserveSession') === 'true';
    if (preserves && sessions.isActive(`vnc/${uid}`)) return text(503, ACTIVE_VNC);
    // QEMU serves one client a device: the old one has to leave before the new one is heard.
    return deviceSeat(asked, `vnc/${uid}`, vncSocket(uid));
  },
  usbredir(asked) {
    const { sessions, uid } = asked;
    const free = Array.from({ length: USB_SLOTS }, (_, slot) => slot).find((slot) => !sessions.isActive(`usbredir-${slot}/${uid}`));
    if (free === undefined) return text(503, ALL_USB_TAKEN);
    return deviceSeat(asked, `usbredir-${free}/${uid}`, usbRedirectionSocket(uid, free));
  },
  vsock({ deps, query, guest: { vmi, launcher } }) {
    if (vmi.spec.domain.devices.autoattachVSOCK !== true) return text(400, NO_VSOCK);
    const port = query.get('port') ?? '';
    if (!/^\d{1,10}$/.test(port) || Number(port) > LARGEST_VSOCK_PORT)
      return text(400, `there is no VSOCK port ${port || 'without a number'}`);
    const target = { vmi, isolation: isolationOf(launcher), port: Number(port), tls: query.get('tls') === 'true' };
    // The program in the guest decides how many it serves.
    return { session: createSessions().take('vsock'), dial: () => deps.dialVsock(target) };
  },
};

export const STREAM_KINDS = Object.keys(SEATINGS) as readonly StreamKind[];

const isSeat = (found: Seat | HttpResponse): found is Seat => 'session' in found;

/** Returns once the stream runs; a refusal when it must not. */
export async function stream(deps: StreamDeps, sessions: Sessions, wanted: Wanted, guest: Guest): Promise<HttpResponse | undefined> {
  const { kind, request, upgrade } = wanted;
  const { vmi } = guest;
  const uid = vmi.metadata.uid ?? '';
  const seat = SEATINGS[kind]({ deps, sessions, query: request.query, guest, uid });
  if (!isSeat(seat)) return seat;
  const { session, dial } = seat;
  let socket: Duplex | undefined;
  try {
    socket = await dial();
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
