// What virt-api asks of this node: consoles as streams, commands to guests, questions to their agents. HTTPS with mutual TLS; virt-api has
// authorised the user already, so only its certificate is checked here. Knows only VMs that the agent manages.
import type { VirtualMachineInstance } from '../../api/index.js';
import { hasCode, KvError, messageOf } from '../../base/errors.js';
import {
  createHttpsServer,
  empty,
  type HttpRequest,
  type HttpResponse,
  type HttpsServer,
  json,
  type Route,
  type ServerTls,
  text,
  type UpgradeRoute,
} from '../../http/index.js';
import type { CmdClient } from '../../rpc/index.js';
import { clientOf, type Launcher } from '../launchers/launcher.js';
import { durationSeconds } from './duration.js';
import { createSessions, type Sessions } from './sessions.js';
import { STREAM_KINDS, type StreamDeps, stream } from './streams.js';

export interface ConsoleDeps extends StreamDeps {
  /** The VM and its launcher, if this node manages it. */
  readonly find: (namespace: string, name: string) => { readonly vmi: VirtualMachineInstance; readonly launcher: Launcher } | undefined;
}

export interface ConsoleServerOptions {
  readonly tls: ServerTls;
  readonly host: string;
  readonly port: number;
  /** Subject common name that a client must have. */
  readonly clientName: string;
}

const PREFIX = '/v1/namespaces/:namespace/virtualmachineinstances/:name';
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
  if (hasCode(err, 'NotImplemented')) return 501;
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
  async 'sev/injectlaunchsecret'(client, vmi, body) {
    await client.injectLaunchSecret(vmi, jsonBody(body, 'SEV secret parameters'));
    return undefined;
  },
  async backup(client, vmi, body) {
    await client.backupVirtualMachine(vmi, jsonBody(body, 'Backup parameters'));
    return undefined;
  },
  async 'redefine-checkpoint'(client, vmi, body) {
    const isInvalid = await client.redefineCheckpoint(vmi, jsonBody(body, 'checkpoint info'));
    return isInvalid ? text(422, 'the checkpoint no longer fits the disks of the VMI') : empty(200);
  },
};

function jsonBody(body: Buffer, what: string): unknown {
  if (body.length === 0) throw new KvError('Invalid', `failed to retrieve ${what} from request`);
  try {
    return JSON.parse(body.toString('utf8'));
  } catch (err) {
    throw new KvError('Invalid', `the ${what} of the request are no JSON`, { cause: err });
  }
}

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

type Question = (client: CmdClient, vmi: VirtualMachineInstance) => Promise<HttpResponse>;

const asJson =
  (ask: (client: CmdClient, vmi: VirtualMachineInstance) => Promise<unknown>): Question =>
  async (client, vmi) =>
    json(200, await ask(client, vmi));

const QUESTIONS: Readonly<Record<string, Question>> = {
  guestosinfo: asJson((client) => client.getGuestInfo()),
  userlist: asJson((client) => client.getUsers()),
  filesystemlist: asJson((client) => client.getFilesystems()),
  'sev/fetchcertchain': asJson((client) => client.getSEVInfo()),
  'sev/querylaunchmeasurement': asJson((client, vmi) => client.getLaunchMeasurement(vmi)),
  async 'vnc/screenshot'(client, vmi) {
    const { mime, data } = await client.getScreenshot(vmi);
    return { status: 200, headers: { 'content-type': mime }, body: Buffer.from(data) };
  },
};

const questionRoutes = (deps: ConsoleDeps): Route[] =>
  Object.entries(QUESTIONS).map(([verb, ask]) => ({
    method: 'GET',
    path: `${PREFIX}/${verb}`,
    handler: (request) => withVm(deps, request, ({ vmi, launcher }) => ask(clientOf(launcher), vmi)),
  }));

const streamRoutes = (deps: ConsoleDeps, sessions: Sessions, clientName: string): UpgradeRoute[] =>
  STREAM_KINDS.map((kind) => ({
    path: `${PREFIX}/${kind}`,
    handler: async (request, upgrade) => {
      const refusal = strangerRefusal(request, clientName);
      if (refusal) return refusal;
      let isStreaming = false;
      const answer = await withVm(deps, request, async (found) => {
        const refused = await stream(deps, sessions, { kind, request, upgrade }, found);
        isStreaming = refused === undefined;
        return refused ?? empty(200);
      });
      return isStreaming ? undefined : answer;
    },
  }));
