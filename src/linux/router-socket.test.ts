// The way of a descriptor from one process to another, with plain files in the place of sockets: those take rights (test/host).
import { closeSync, existsSync, openSync, readlinkSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { scratchDir } from '../../test/fakes/scratch.js';
import { messageOf } from '../base/errors.js';
import { sendDescriptor } from './ffi-sockets.js';
import { descriptorOf, dial } from './peercred.js';
import { RouterSocketInbox } from './router-socket.js';

let dir: string;
let path: string;
let inbox: RouterSocketInbox;
let failures: string[];
beforeEach(async () => {
  dir = scratchDir();
  path = join(dir, 'sock');
  failures = [];
  inbox = new RouterSocketInbox();
  await inbox.listen(path, (err) => failures.push(messageOf(err)));
});
afterEach(async () => {
  inbox.close();
});

const hungUp = (connection: Socket): Promise<void> =>
  new Promise((resolve) => {
    connection.on('error', () => undefined);
    connection.resume().once('close', () => resolve());
  });

async function give(link: string, file: string): Promise<void> {
  await writeFile(join(dir, file), '');
  const fd = openSync(join(dir, file), 'r');
  const connection = await dial(path, 1000);
  sendDescriptor(descriptorOf(connection), fd, link);
  closeSync(fd);
  await hungUp(connection);
}

const nameOf = (fd: number | undefined): string => (fd === undefined ? 'none' : readlinkSync(`/proc/self/fd/${fd}`));

describe('the inbox of router sockets', () => {
  it('keeps what came for each link until it is asked for, once', async () => {
    await give('k6t-eth0', 'a');
    await give('k6t-0123456789a', 'b');
    const [first, second] = [inbox.take('k6t-eth0'), inbox.take('k6t-0123456789a')];
    expect([first, second].map(nameOf)).toEqual([join(dir, 'a'), join(dir, 'b')]);
    expect(inbox.take('k6t-eth0')).toBeUndefined();
    for (const fd of [first, second]) if (fd !== undefined) closeSync(fd);
  });
  it('keeps the newest, and closes what nobody took', async () => {
    await give('k6t-eth0', 'a');
    await give('k6t-eth0', 'b');
    const open = () => ['a', 'b'].filter((file) => openFiles().includes(join(dir, file)));
    expect(open()).toEqual(['b']);
    inbox.close();
    expect(open()).toEqual([]);
  });
  it.each([
    ['only words', (connection: Socket) => connection.write('k6t-eth0')],
    ['nothing', (connection: Socket) => connection.end()],
  ])('says so when a connection brings %s', async (_, send) => {
    const connection = connect(path);
    send(connection);
    await hungUp(connection);
    await expect.poll(() => failures).toEqual(['a connection for router sockets brought none']);
    expect(inbox.take('k6t-eth0')).toBeUndefined();
  });
});

/** Names of the files that this process has open. */
function openFiles(): string[] {
  const names: string[] = [];
  for (let fd = 0; fd < 1024; fd++) if (existsSync(`/proc/self/fd/${fd}`)) names.push(nameOf(fd));
  return names;
}
