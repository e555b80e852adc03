// Connects to a TCP or UDP port as a byte stream, for forwarding it over a WebSocket. Each UDP packet is one chunk.
import { createSocket } from 'node:dgram';
import { connect, isIPv6 } from 'node:net';
import { Duplex } from 'node:stream';
import { KvError } from '../base/errors.js';

export interface PortTarget {
  readonly protocol: 'tcp' | 'udp';
  /** An address, not a name. */
  readonly host: string;
  readonly port: number;
  /** For TCP: how long the other side may take to accept. */
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 10_000;

const where = ({ protocol, host, port }: PortTarget): string => `${protocol} port ${port} of ${host}`;

function dialTcp(target: PortTarget): Promise<Duplex> {
  const { host, port, timeoutMs = TIMEOUT_MS } = target;
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port });
    const fail = (cause: Error): void => {
      socket.destroy();
      reject(new KvError('Unavailable', `cannot reach ${where(target)}: check that something listens there`, { cause }));
    };
    socket.setTimeout(timeoutMs, () => fail(new Error(`no connection within ${timeoutMs} ms`)));
    socket.once('error', fail);
    socket.once('connect', () => {
      socket.setTimeout(0);
      socket.off('error', fail);
      // Until the stream takes over, a broken connection must not end the process.
      socket.on('error', () => undefined);
      resolve(socket);
    });
  });
}

function dialUdp(target: PortTarget): Promise<Duplex> {
  const { host, port } = target;
  return new Promise((resolve, reject) => {
    const socket = createSocket(isIPv6(host) ? 'udp6' : 'udp4');
    socket.once('error', (cause) => {
      socket.close();
      reject(new KvError('Unavailable', `cannot reach ${where(target)}`, { cause }));
    });
    socket.connect(port, host, () => {
      const stream = new Duplex({
        // What comes while the reader is busy is dropped at the high-water mark, as networks do.
        read: () => undefined,
        write: (packet: Buffer, _encoding, done) => socket.send(packet, (err) => done(err)),
        destroy: (err, done) => {
          socket.close();
          done(err);
        },
      });
      socket.removeAllListeners('error');
      socket.on('error', (err) => stream.destroy(err));
      socket.on('message', (packet) => {
        if (stream.readableLength < stream.readableHighWaterMark) stream.push(packet);
      });
      resolve(stream);
    });
  });
}

/** Rejects with Unavailable when nobody accepts; UDP has no such thing. */
export const dialPort = (target: PortTarget): Promise<Duplex> => (target.protocol === 'udp' ? dialUdp(target) : dialTcp(target));
