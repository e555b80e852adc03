// Connections to programs in guests over VSOCK, plain or by TLS. Made from the launcher's network namespace: where the kernel gives each namespace
// its own VSOCK addresses, the guest is known there only. In TLS it is the guest that checks whom it talks to; guests have no certificates that we
// could check.
import type { Duplex } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import type { VirtualMachineInstance } from '../../api/index.js';
import type { Ctx } from '../../base/context.js';
import { KvError } from '../../base/errors.js';
import { LOCAL_VSOCK_CID, VSOCK_MODE_FILE } from '../../core/devices/vsock.js';
import { netNsOfPid, runInNetNs } from '../../linux/netns.js';
import { isSameProcess } from '../../linux/proc.js';
import { dialBySocat } from '../../linux/socat.js';
import type { Isolation } from '../launchers/launcher.js';

export interface VsockTarget {
  readonly vmi: VirtualMachineInstance;
  readonly isolation: Isolation;
  readonly port: number;
  readonly tls: boolean;
}

export type DialVsock = (target: VsockTarget) => Promise<Duplex>;

export interface VsockDeps {
  readonly ctx: Ctx;
  /** The certificate by which guests know virt-handler; read anew for each connection. */
  readonly certificate: () => Promise<{ readonly cert: Buffer; readonly key: Buffer }>;
  /** Has the guest's namespace the service that tells whom to trust, while `work` goes on. */
  readonly withTrust: <T>(ns: string, work: () => Promise<T>) => Promise<T>;
}

const TIMEOUT_MS = 10_000;

/** Whether the namespace has VSOCK addresses of its own. */
async function isLocal(ctx: Ctx, ns: string): Promise<boolean> {
  // Older kernels do not have the file: one address space for all.
  const { stdout } = await runInNetNs(ctx, ns, ['sh', '-c', `cat ${VSOCK_MODE_FILE} 2>/dev/null || echo global`]);
  return stdout.trim() === 'local';
}

export function vsockDialer(deps: VsockDeps): DialVsock {
  return async ({ vmi, isolation, port, tls }) => {
    const cid = vmi.status?.VSOCKCID;
    if (cid === undefined) throw new KvError('NotReady', `VMI ${vmi.metadata.name} has no VSOCK address yet; try again`);
    if (!(await isSameProcess(isolation.process))) throw new KvError('Unavailable', `the launcher of VMI ${vmi.metadata.name} is gone`);
    const ns = netNsOfPid(isolation.process.pid);
    const local = await isLocal(deps.ctx, ns);
    const dial = (): Promise<Duplex> => connect(deps, { ns, address: `VSOCK-CONNECT:${local ? LOCAL_VSOCK_CID : cid}:${port}`, tls });
    return local && tls ? deps.withTrust(ns, dial) : dial();
  };
}

interface Connection {
  readonly ns?: string;
  readonly address: string;
  readonly tls: boolean;
}

export async function connect({ certificate }: Pick<VsockDeps, 'certificate'>, { ns, address, tls }: Connection): Promise<Duplex> {
  const plain = await dialBySocat(address, { timeoutMs: TIMEOUT_MS, ...(ns === undefined ? {} : { ns }) });
  if (!tls) return plain;
  try {
    const own = await certificate();
    return await handshake(plain, own);
  } catch (err) {
    plain.destroy();
    throw err;
  }
}

function handshake(plain: Duplex, own: { readonly cert: Buffer; readonly key: Buffer }): Promise<Duplex> {
  const secure = connectTls({ socket: plain, ...own, rejectUnauthorized: false, minVersion: 'TLSv1.3' });
  return new Promise((resolve, reject) => {
    const fail = (cause: Error): void => {
      clearTimeout(timer);
      secure.destroy();
      reject(new KvError('Unavailable', 'the program in the guest does not speak TLS; without it, ask with tls=false', { cause }));
    };
    const timer = setTimeout(() => fail(new Error(`no answer within ${TIMEOUT_MS / 1000} s`)), TIMEOUT_MS);
    secure.once('error', fail);
    secure.once('close', () => fail(new Error('it hung up')));
    secure.once('secureConnect', () => {
      clearTimeout(timer);
      secure.removeAllListeners('close').removeListener('error', fail);
      // Whoever takes the stream adds a listener of its own; until then a broken one must not end the process.
      secure.on('error', () => undefined);
      secure.once('close', () => plain.destroy());
      resolve(secure);
    });
  });
}
