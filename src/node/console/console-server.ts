// What virt-api asks of this node: consoles as streams, commands to guests, questions to their agents. HTTPS with mutual TLS; virt-api has
// authorised the user already, so only its certificate is checked here. Knows only VMs that the agent manages.
import type { Socket } from 'node:net';
import type { VirtualMachineInstance } from '../../api/index.js';
import type { Clock } from '../../base/clock.js';
import { hasCode, isKvError, messageOf } from '../../base/errors.js';
import type { Logger } from '../../base/logger.js';
import { serialSocket, vncSocket } from '../../core/storage/paths.js';
import {
  createHttpsServer,
  empty,
  type HttpRequest,
  type HttpResponse,
  type HttpsServer,
  json,
  pump,
  type Route,
  type ServerTls,
  text,
  type Upgrade,
  type UpgradeRoute,
} from '../../http/index.js';
import type { CmdClient } from '../../rpc/index.js';
import { clientOf, isolationOf, type Launcher, rootOf } from '../launchers/launcher.js';
import { durationSeconds } from './duration.js';
import { dialGuestSocket } from './guest-socket.js';
import { createSessions, type Sessions } from './sessions.js';

export interface ConsoleDeps {
  readonly log: Logger;
  readonly clock: Clock;
  /** The VM and its launcher, if this node manages it. */
  readonly find: (namespace: string, name: string) => { readonly vmi: VirtualMachineInstance; readonly launcher: Launcher } | undefined;
  /** For tests, whose launchers have no root of their own. */
  readonly rootOf?: (launcher: Launcher) => string;
}

export interface ConsoleServerOptions {
  readonly tls: ServerTls;
  readonly host: string;
  readonly port: number;
  /** Subject common name that a client must have. */
  readonly clientName: string;
}

const PREFIX = '/v1/namespaces/:namespace/virtualmachineinstances/:name';
const ACTIVE_VNC = 'Active VNC connection. Request denied.';
const GUEST_ENDED = 'the guest stopped or restarted';
const NO_TIMEOUT = 'Unfreeze timeout in freeze request is not set';

export function createConsoleServer(deps: ConsoleDeps, options: ConsoleServerOptions): HttpsServer {
  const sessions = createSessions();
  return createHttpsServer({
    tls: { ...options.tls, clientCert: 'required' },
    log: deps.log,
    clock: deps.clock,
    host: options.host,
    port: options.port,
    filters: [(request) => strangerRefusal(request, options.clientName)],
    routes: [...commandRoutes(deps), ...questionRoutes(deps)],
    upgrades: streamRoutes(deps, sessions, options.clientName),
  });
}

function strangerRefusal({ peer }: HttpRequest, clientName: string): HttpResponse | undefined {
  if (peer.authorized && peer.commonName === clientName) return undefined;
  return text(403, `the client certificate names ${peer.commonName ?? 'nobody'} instead of ${clientName}`);
}

type Found = NonNullable<ReturnType<ConsoleDeps['find']>>;

/** Looks the VM up and turns failures into answers. */
async function withVm(deps: ConsoleDeps, request: HttpRequest, answer: (found: Found) => Promise<HttpResponse>): Promise<HttpResponse> {
  const { namespace = '', name = '' } = request.params;
  const found = deps.find(namespace, name);
  if (found === undefined) return text(404, `VMI ${namespace}/${name} does not run on this node`);
  const uid = request.query.get('uid');
  // One of the same name, from before or after, is another guest.
  if (uid && uid !== found.vmi.metadata.uid) {
    return text(404, `VMI ${namespace}/${name} with the uid ${uid} does not run on this node; try again`);
  }
  try {
    return await answer(found);
  } catch (err) {
    deps.log.info({ namespace, name, path: request.path, err: messageOf(err) }, 'A request about a guest failed');
    return text(statusOf(err), messageOf(err));
  }
}

function statusOf(err: unknown): number {
  if (hasCode(err, 'Invalid')) return 400;
  if (hasCode(err, 'NotFound')) return 404;
  return hasCode(err, 'Conflict') ? 409 : 500;
}

type Command = (client: CmdClient, vmi: VirtualMachineInstance, body: Buffer) => Promise<HttpResponse | undefined>;

/** A command that takes the VMI and answers nothing. */
const plain =
  (run: (client: CmdClient, vmi: VirtualMachineInstance) => Promise<void>): Command =>
  async (client, vmi) => {
    await run(client, vmi);
    return undefined;
  };

const COMMANDS: Readonly<Record<string, Command>> = {
  pause: plain((client, vmi) => client.pauseVirtualMachine(vmi)),
  unpause: plain((client, vmi) => client.unpauseVirtualMachine(vmi)),
  unfreeze: plain((client, vmi) => client.unfreezeVirtualMachine(vmi)),
  reset: plain((client, vmi) => client.resetVirtualMachine(vmi)),
  softreboot: plain((client, vmi) => client.softRebootVirtualMachine(vmi)),
  async freeze(client, vmi, body) {
    const seconds = unfreezeSeconds(body);
    if (seconds === undefined) return text(400, NO_TIMEOUT);
    await client.freezeVirtualMachine(vmi, seconds);
    return undefined;
  },
};

function unfreezeSeconds(body: Buffer): number | undefined {
  try {
    const { unfreezeTimeout } = JSON.parse(body.toString('utf8')) as { unfreezeTimeout?: unknown };
    return typeof unfreezeTimeout === 'string' ? durationSeconds(unfreezeTimeout) : undefined;
  } catch {
    // No JSON, no timeout: the answer says what is missing.
    return undefined;
  }
}

const commandRoutes = (deps: ConsoleDeps): Route[] =>
  Object.entries(COMMANDS).map(([verb, run]) => ({
    method: 'PUT',
    path: `${PREFIX}/${verb}`,
    handler: (request) =>
      withVm(deps, request, async ({ vmi, launcher }) => (await run(clientOf(launcher), vmi, request.body)) ?? empty(202)),
  }));

const QUESTIONS: Readonly<Record<string, (client: CmdClient) => Promise<unknown>>> = {
  guestosinfo: (client) => client.getGuestInfo(),
  userlist: (client) => client.getUsers(),
  filesystemlist: (client) => client.getFilesystems(),
};

const questionRoutes = (deps: ConsoleDeps): Route[] =>
  Object.entries(QUESTIONS).map(([verb, ask]) => ({
    method: 'GET',
    path: `${PREFIX}/${verb}`,
    handler: (request) => withVm(deps, request, async ({ launcher }) => json(200, await ask(clientOf(launcher)))),
  }));

interface Device {
  readonly kind: 'console' | 'vnc';
  readonly socketPath: (uid: string) => string;
}

const DEVICES: readonly Device[] = [
  { kind: 'console', socketPath: (uid) => serialSocket(uid) },
  { kind: 'vnc', socketPath: vncSocket },
];

const streamRoutes = (deps: ConsoleDeps, sessions: Sessions, clientName: string): UpgradeRoute[] =>
  DEVICES.map((device) => ({
    path: `${PREFIX}/${device.kind}`,
    handler: async (request, upgrade) => {
      const refusal = strangerRefusal(request, clientName);
      if (refusal) return refusal;
      let isStreaming = false;
      const answer = await withVm(deps, request, async (found) => {
        const refused = await stream(deps, sessions, { device, request, upgrade }, found);
        isStreaming = refused === undefined;
        return refused ?? empty(200);
      });
      return isStreaming ? undefined : answer;
    },
  }));

const launcherRoot = (launcher: Launcher): string => rootOf(isolationOf(launcher));

interface Wanted {
  readonly device: Device;
  readonly request: HttpRequest;
  readonly upgrade: Upgrade;
}

/** Returns once the stream runs; a refusal when it must not. */
async function stream(deps: ConsoleDeps, sessions: Sessions, wanted: Wanted, { vmi, launcher }: Found): Promise<HttpResponse | undefined> {
  const { device, request, upgrade } = wanted;
  const uid = vmi.metadata.uid ?? '';
  const id = `${device.kind}/${uid}`;
  const preserves = device.kind === 'vnc' && request.query.get('preserveSession') === 'true';
  if (preserves && sessions.isActive(id)) return text(503, ACTIVE_VNC);
  // QEMU serves one client a device: the old one has to leave before the new one is heard.
  const session = sessions.take(id);
  let socket: Socket | undefined;
  try {
    socket = await dialGuestSocket((deps.rootOf ?? launcherRoot)(launcher), device.socketPath(uid));
    const ws = await upgrade.accept();
    deps.log.info({ namespace: vmi.metadata.namespace, name: vmi.metadata.name, uid, device: device.kind }, 'Stream opened');
    const signal = AbortSignal.any([session.signal, request.signal]);
    void pump(ws, socket, { clock: deps.clock, signal, endReason: GUEST_ENDED }).finally(() => session.end());
    return undefined;
  } catch (err) {
    session.end();
    // QEMU would go on talking to nobody, and not hear the next client.
    socket?.destroy();
    if (isKvError(err) && err.code === 'NotFound') return text(404, `the guest has no ${device.kind}: its socket does not exist`);
    throw err;
  }
}
