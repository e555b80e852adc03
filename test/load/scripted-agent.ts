// A guest agent without a guest: answers libvirt on a unix socket as qemu-guest-agent does, at once, with answers that change now and then.
// Counts what it was asked.
import { createServer, type Server, type Socket } from 'node:net';

type Request = { readonly execute?: string; readonly arguments?: { readonly id?: number } };
type Answer = (asked: number) => unknown;

const COMMANDS = [
  ...['guest-sync', 'guest-sync-delimited', 'guest-ping', 'guest-info', 'guest-get-host-name', 'guest-get-osinfo', 'guest-get-time'],
  ...['guest-get-timezone', 'guest-get-users', 'guest-get-fsinfo', 'guest-network-get-interfaces', 'guest-fsfreeze-status', 'guest-exec'],
];

const every = (asked: number, times: number): boolean => asked % times === 0;
const address = (asked: number): string => `10.0.${Math.floor(asked / 50) % 200}.7`;

const disk = (index: number, asked: number): object => ({
  name: `vda${index}`,
  mountpoint: index === 0 ? '/' : `/data${index}`,
  type: 'ext4',
  'used-bytes': 1_000_000 + asked,
  'total-bytes': 10_000_000,
  disk: [{ serial: `serial-${index}`, 'bus-type': 'virtio' }],
});

const ANSWERS: Readonly<Record<string, Answer>> = {
  'guest-ping': () => ({}),
  'guest-info': () => ({
    version: '8.2.0',
    supported_commands: COMMANDS.map((name) => ({ name, enabled: true, 'success-response': true })),
  }),
  'guest-get-host-name': () => ({ 'host-name': 'scripted' }),
  'guest-get-osinfo': () => ({ id: 'debian', name: 'Debian', 'pretty-name': 'Debian 13', version: '13', 'kernel-release': '6.12.0' }),
  'guest-get-timezone': () => ({ zone: 'UTC', offset: 0 }),
  'guest-get-users': (asked) => (every(asked, 7) ? [] : [{ user: 'someone', 'login-time': 1_700_000_000 + Math.floor(asked / 100) }]),
  'guest-get-fsinfo': (asked) => [0, 1, 2].map((index) => disk(index, asked)),
  'guest-network-get-interfaces': (asked) => [
    {
      name: 'eth0',
      'hardware-address': '02:00:00:00:00:01',
      'ip-addresses': [{ 'ip-address-type': 'ipv4', 'ip-address': address(asked), prefix: 24 }],
    },
  ],
  'guest-fsfreeze-status': (asked) => (every(asked, 200) ? 'frozen' : 'thawed'),
};

export class ScriptedAgent {
  /** Times by command. */
  readonly asked = new Map<string, number>();
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  constructor() {
    this.#server = createServer((socket) => this.#serve(socket));
  }

  async listen(path: string): Promise<void> {
    await new Promise<void>((resolve, reject) => this.#server.once('error', reject).listen(path, resolve));
  }

  get total(): number {
    return [...this.asked.values()].reduce((sum, count) => sum + count, 0);
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket);
    let rest = '';
    socket.on('data', (chunk: Buffer) => {
      // Byte 255 before a request asks to forget what came before it.
      const lines = (rest + chunk.toString('latin1').replaceAll('\xff', '')).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) if (line.trim() !== '') socket.write(`${JSON.stringify(this.#answer(JSON.parse(line) as Request))}\n`);
    });
    // A peer that is killed resets the connection.
    socket.on('error', () => socket.destroy());
    socket.once('close', () => this.#sockets.delete(socket));
  }

  #answer({ execute = '', arguments: { id } = {} }: Request): object {
    if (execute.startsWith('guest-sync')) return { return: id };
    const asked = (this.asked.get(execute) ?? 0) + 1;
    this.asked.set(execute, asked);
    const answer = ANSWERS[execute];
    if (!answer) return { error: { class: 'CommandNotFound', desc: `The command ${execute} has not been found` } };
    return { return: answer(asked) };
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
