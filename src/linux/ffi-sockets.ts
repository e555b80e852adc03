// Declarations of the libc calls by which sockets are made that Node cannot make: bound to one link, of another network namespace, raw, or
// received from another process. Plain numbers (descriptors) go in and come out; who gets one closes it. Each function names the call and
// the error number when it fails. libc is loaded on first use.
import { closeSync, constants, openSync } from 'node:fs';
import koffi from 'koffi';
import { KvError } from '../base/errors.js';

export type Domain = 'udp4' | 'udp6';

// Values of the kernel's headers, the same on amd64, arm64, s390x and ppc64le.
const AF_INET = 2;
const AF_INET6 = 10;
const SOCK_DGRAM = 2;
const SOCK_RAW = 3;
const SOCK_CLOEXEC = 0o2000000;
const SOCK_NONBLOCK = 0o4000;
const IPPROTO_ICMPV6 = 58;
const CLONE_NEWNET = 0x40000000;
const SOL_SOCKET = 1;
const SCM_RIGHTS = 1;
const MSG_DONTWAIT = 0x40;
const MSG_CMSG_CLOEXEC = 0x40000000;
const POLLIN = 1;

/** Length of a control message with one descriptor, and the room that it takes. */
const CONTROL_LENGTH = 20;
const CONTROL_SPACE = 24;

interface MessageHeader {
  readonly name: null;
  readonly nameLength: number;
  readonly vectors: readonly { readonly base: Buffer; readonly length: number }[];
  readonly vectorCount: number;
  readonly control: Buffer;
  controlLength: number;
  flags: number;
}

interface Calls {
  socket(domain: number, type: number, protocol: number): number;
  bind(fd: number, address: Buffer, size: number): number;
  setOption(fd: number, level: number, option: number, value: Uint8Array, size: number): number;
  setns(fd: number, type: number): number;
  dup2(from: number, to: number): number;
  sendmsg(fd: number, message: MessageHeader, flags: number): number;
  recvmsg(fd: number, message: MessageHeader, flags: number): number;
  poll: { async(list: object[], count: number, timeoutMs: number, done: (err: Error | null, ready: number) => void): void };
}

let calls: Calls | undefined;

function libc(): Calls {
  if (calls !== undefined) return calls;
  const lib = koffi.load('libc.so.6');
  koffi.struct('kv_iovec', { base: 'void *', length: 'size_t' });
  koffi.struct('kv_msghdr', {
    ...{ name: 'void *', nameLength: 'uint32_t', vectors: 'kv_iovec *', vectorCount: 'size_t' },
    ...{ control: 'void *', controlLength: 'size_t', flags: 'int' },
  });
  koffi.struct('kv_cmsg', { length: 'size_t', level: 'int', type: 'int', descriptor: 'int' });
  koffi.struct('kv_pollfd', { fd: 'int', events: 'short', revents: 'short' });
  calls = {
    socket: lib.func('int socket(int domain, int type, int protocol)'),
    bind: lib.func('int bind(int fd, const void *address, uint32_t size)'),
    setOption: lib.func('int setsockopt(int fd, int level, int name, const void *value, uint32_t size)'),
    setns: lib.func('int setns(int fd, int type)'),
    dup2: lib.func('int dup2(int from, int to)'),
    sendmsg: lib.func('long sendmsg(int fd, const kv_msghdr *message, int flags)'),
    recvmsg: lib.func('long recvmsg(int fd, _Inout_ kv_msghdr *message, int flags)'),
    poll: lib.func('int poll(_Inout_ kv_pollfd *list, unsigned long count, int timeoutMs)') as unknown as Calls['poll'],
  } as Calls;
  return calls;
}

function must(result: number, call: string): number {
  if (result >= 0) return result;
  throw new KvError('Internal', `${call} failed with error number ${koffi.errno()}`, { details: { errno: koffi.errno() } });
}

/** Hands over what `make` built, or closes the descriptor when it fails. */
function prepared(fd: number, make: (fd: number) => void): number {
  try {
    make(fd);
    return fd;
  } catch (err) {
    closeSync(fd);
    throw err;
  }
}

/** An unbound datagram socket. */
export const udpSocket = (domain: Domain): number =>
  must(libc().socket(domain === 'udp4' ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), `socket(${domain})`);

/** An ICMPv6 socket that sees and sends whole messages; needs CAP_NET_RAW. */
const icmp6Socket = (): number => must(libc().socket(AF_INET6, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_ICMPV6), 'socket(ICMPv6)');

export function setOption(fd: number, [level, option]: readonly [number, number], value: number | Uint8Array): void {
  const bytes = typeof value === 'number' ? new Uint8Array(Int32Array.of(value).buffer) : value;
  must(libc().setOption(fd, level, option, bytes, bytes.length), `setsockopt(${level}, ${option})`);
}

/** Binds to all addresses of the socket's family. */
export function bindToPort(fd: number, domain: Domain, port: number): void {
  // sockaddr_in and sockaddr_in6: family in the machine's byte order, port in the network's, and zeros.
  const address = Buffer.alloc(domain === 'udp4' ? 16 : 28);
  address.set(new Uint8Array(Uint16Array.of(domain === 'udp4' ? AF_INET : AF_INET6).buffer));
  address.writeUInt16BE(port, 2);
  must(libc().bind(fd, address, address.length), `bind(${domain}, ${port})`);
}

/**
 * Makes an ICMPv6 socket of another network namespace and sets it up. A socket belongs for ever to the namespace that its thread was in, so
 * this thread goes there and comes back before anything else can run on it.
 */
export function icmp6SocketOf(netNs: string, setUp: (fd: number) => void): number {
  const home = openSync('/proc/thread-self/ns/net', constants.O_RDONLY);
  try {
    const there = openSync(netNs, constants.O_RDONLY);
    try {
      must(libc().setns(there, CLONE_NEWNET), `setns(${netNs})`);
    } finally {
      closeSync(there);
    }
    try {
      return prepared(icmp6Socket(), setUp);
    } finally {
      // A process that stays in the network of a pod must not go on as if it were in its own.
      if (libc().setns(home, CLONE_NEWNET) < 0) process.abort();
    }
  } finally {
    closeSync(home);
  }
}

/** Makes `target` name the same socket as `fd`, and closes `fd`. */
export function replaceDescriptor(target: number, fd: number): void {
  try {
    must(libc().dup2(fd, target), 'dup2');
  } finally {
    closeSync(fd);
  }
}

const header = (data: Buffer, control: Buffer): MessageHeader => ({
  ...{ name: null, nameLength: 0, vectors: [{ base: data, length: data.length }], vectorCount: 1 },
  ...{ control, controlLength: control.length, flags: 0 },
});

/** Sends a copy of a descriptor, and words that say what it is, over a connected unix socket. */
export function sendDescriptor(socket: number, descriptor: number, words: string): void {
  const control = Buffer.alloc(CONTROL_SPACE);
  const call = libc();
  koffi.encode(control, 'kv_cmsg', { length: CONTROL_LENGTH, level: SOL_SOCKET, type: SCM_RIGHTS, descriptor });
  must(call.sendmsg(socket, header(Buffer.from(words), control), MSG_DONTWAIT), 'sendmsg');
}

/** What sendDescriptor sent, once something can be read; undefined when nothing came in time, or no descriptor with it. */
export async function receiveDescriptor(
  socket: number,
  longestWords: number,
  timeoutMs: number,
): Promise<{ readonly descriptor: number; readonly words: string } | undefined> {
  if (!(await isReadable(socket, timeoutMs))) return undefined;
  const [data, control] = [Buffer.alloc(longestWords), Buffer.alloc(CONTROL_SPACE)];
  const message = header(data, control);
  const length = must(libc().recvmsg(socket, message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC), 'recvmsg');
  const { length: controlLength, level, type, descriptor } = koffi.decode(control, 'kv_cmsg');
  if (controlLength !== CONTROL_LENGTH || level !== SOL_SOCKET || type !== SCM_RIGHTS) return undefined;
  return { descriptor, words: data.toString('utf8', 0, length) };
}

function isReadable(fd: number, timeoutMs: number): Promise<boolean> {
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  libc().poll.async([{ fd, events: POLLIN, revents: 0 }], 1, timeoutMs, (err, ready) => (err ? reject(err) : resolve(ready > 0)));
  return promise;
}
