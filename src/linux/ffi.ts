// Declarations of the few libc calls that Node does not offer: socket options. Nothing but plain values leaves this file;
// each function names the call and the error number when it fails. libc is loaded on first use.
import koffi from 'koffi';
import { KvError } from '../base/errors.js';

export interface PeerCredentials {
  readonly pid: number;
  readonly uid: number;
  readonly gid: number;
}

// Values of <asm-generic/socket.h>; the same on amd64, arm64 and s390x.
const SOL_SOCKET = 1;
const SO_PEERCRED = 17;
const SO_BINDTODEVICE = 25;
const UCRED_BYTES = 12;

interface Calls {
  peerCredentials(fd: number, out: object, size: number[]): number;
  setStringOption(fd: number, level: number, option: number, value: Buffer, size: number): number;
}

let calls: Calls | undefined;

function libc(): Calls {
  if (calls !== undefined) return calls;
  const lib = koffi.load('libc.so.6');
  koffi.struct('kv_ucred', { pid: 'int32_t', uid: 'uint32_t', gid: 'uint32_t' });
  const getsockopt = lib.func('int getsockopt(int fd, int level, int name, _Out_ kv_ucred *value, _Inout_ uint32_t *size)');
  const setsockopt = lib.func('int setsockopt(int fd, int level, int name, const void *value, uint32_t size)');
  calls = {
    peerCredentials: (fd, out, size) => getsockopt(fd, SOL_SOCKET, SO_PEERCRED, out, size) as number,
    setStringOption: (fd, level, option, value, size) => setsockopt(fd, level, option, value, size) as number,
  };
  return calls;
}

/** Who listens at the other end of a connected unix socket, in this process's PID namespace (pid 0: not visible here). */
export function peerCredentials(fd: number): PeerCredentials {
  const out = { pid: 0, uid: 0, gid: 0 };
  if (libc().peerCredentials(fd, out, [UCRED_BYTES]) !== 0) throw failed('getsockopt(SO_PEERCRED)');
  return { pid: out.pid, uid: out.uid, gid: out.gid };
}

/** Binds a datagram socket to one link, so that it neither receives from nor answers through others. */
export function bindToDevice(fd: number, device: string): void {
  const name = Buffer.from(`${device}\0`);
  if (libc().setStringOption(fd, SOL_SOCKET, SO_BINDTODEVICE, name, name.length) !== 0)
    throw failed(`setsockopt(SO_BINDTODEVICE, ${device})`);
}

function failed(call: string): KvError {
  return new KvError('Internal', `${call} failed with error number ${koffi.errno()}`, { details: { errno: koffi.errno() } });
}
