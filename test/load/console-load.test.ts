// Consoles over real sockets: fifty of them for an hour of the guests' time, one that nobody reads, one that outlives virt-api's patience,
// and what is told when virt-api goes.
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { type ConsoleStack, runConsoleLoad, startConsoles } from './console-load.js';
import { held } from './held.js';

const MIB = 1024 * 1024;

async function withConsoles(run: (stack: ConsoleStack) => Promise<void>): Promise<void> {
  const stack = await startConsoles();
  try {
    await run(stack);
  } finally {
    await stack.close();
  }
}

describe('consoles', () => {
  it('fifty at once, for an hour of the guests’ time, lose no byte and hold nothing', { timeout: 90_000 }, async () => {
    const figures = await runConsoleLoad({ consoles: 50, seconds: 3600, bytesPerSecond: 100, tickMs: 15 });
    expect(figures.damaged).toBe(0);
    expect(figures.bytes).toBeGreaterThanOrEqual(50 * 3600 * 100);
    // One each a second.
    expect(figures.pings).toBeGreaterThan(50 * 5);
    expect(figures.late.descriptors).toBe(figures.early.descriptors);
    expect(figures.late.heapBytes - figures.early.heapBytes).toBeLessThan(4 * MIB);
    expect(figures.late.rssBytes - figures.early.rssBytes).toBeLessThan(24 * MIB);
    expect(figures.after.descriptors).toBeLessThanOrEqual(figures.before.descriptors);
  });

  it('nobody reads: the guest is held back, and nothing is lost when somebody does', { timeout: 30_000 }, async () => {
    await withConsoles(async (stack) => {
      const total = 32 * MIB;
      const chunk = Buffer.alloc(64 * 1024, 'x');
      let written = 0;
      await stack.guest('firehose', (socket) => {
        const more = (): void => {
          while (written < total) {
            written += chunk.length;
            if (!socket.write(chunk)) break;
          }
        };
        socket.on('drain', more);
        more();
      });
      const before = held();
      const ws = await stack.dial('firehose');
      ws.pause();
      let got = 0;
      ws.on('message', (data: Buffer) => {
        got += data.length;
      });
      let last = -1;
      for (let turns = 0; turns < 100 && last !== written; turns++) {
        last = written;
        await wait(150);
      }
      expect(written).toBeLessThan(total);
      expect(held().heapBytes - before.heapBytes).toBeLessThan(12 * MIB);
      ws.resume();
      for (let turns = 0; turns < 1000 && got < total; turns++) await wait(10);
      expect(got).toBe(total);
      ws.close();
    });
  });

  it('says why it ends when virt-api goes', async () => {
    await withConsoles(async (stack) => {
      await stack.guest('a', (socket) => socket.write('login: '));
      const ws = await stack.dial('a');
      const closed = new Promise<string>((resolve) => ws.once('close', (code, reason) => resolve(`${code} ${reason}`)));
      await new Promise((resolve) => ws.once('message', resolve));
      await stack.stopApi();
      expect(await closed).toBe('4000 the server restarts; connect again');
    });
  });

  it('lets go of the guest when its viewer vanishes', async () => {
    await withConsoles(async (stack) => {
      let left: () => void = () => undefined;
      const gone = new Promise<void>((resolve) => {
        left = resolve;
      });
      await stack.guest('a', (socket) => socket.once('close', left).resume());
      const ws = await stack.dial('a');
      ws.terminate();
      await gone;
    });
  });
});
