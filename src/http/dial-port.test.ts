// TCP and UDP ports of this machine as streams.
import { createSocket } from 'node:dgram';
import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { dialPort } from './dial-port.js';

const HOST = '127.0.0.1';

describe('dialPort', () => {
  it('carries bytes over TCP', async () => {
    const server = createServer((socket) => void socket.pipe(socket)).listen(0, HOST);
    await new Promise((resolve) => server.once('listening', resolve));
    const stream = await dialPort({ protocol: 'tcp', host: HOST, port: (server.address() as AddressInfo).port });
    stream.write('hello');
    expect(String(await new Promise((resolve) => stream.once('data', resolve)))).toBe('hello');
    stream.destroy();
    await new Promise((resolve) => server.close(resolve));
  });

  it('says where nobody listens', async () => {
    const server = createServer().listen(0, HOST);
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    await expect(dialPort({ protocol: 'tcp', host: HOST, port })).rejects.toMatchObject({
      code: 'Unavailable',
      message: `cannot reach tcp port ${port} of ${HOST}: check that something listens there`,
    });
  });

  it('carries packets over UDP, and ends with the stream', async () => {
    const server = createSocket('udp4');
    server.on('message', (packet, from) => server.send(`heard ${packet}`, from.port, from.address));
    await new Promise<void>((resolve) => server.bind(0, HOST, resolve));
    const stream = await dialPort({ protocol: 'udp', host: HOST, port: server.address().port });
    const heard: string[] = [];
    const two = new Promise<void>((resolve) => {
      stream.on('data', (packet: Buffer) => {
        heard.push(String(packet));
        if (heard.length === 2) resolve();
      });
    });
    stream.write('one');
    stream.write('two');
    await two;
    expect(heard.sort()).toEqual(['heard one', 'heard two']);
    const closed = new Promise((resolve) => stream.once('close', resolve));
    stream.end(() => stream.destroy());
    await closed;
    await new Promise<void>((resolve) => server.close(() => resolve()));
  });
});
