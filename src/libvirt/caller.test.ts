// A libvirt that does not answer: calls behind it wait for a limited time, and are then never made.
import { describe, expect, it } from 'vitest';
import { Caller } from './caller.js';
import type { ErrorCapture } from './error.js';

const errors = { clear: () => undefined, take: () => ({ code: 1, domain: 10, message: 'it broke' }) } as unknown as ErrorCapture;

describe('Caller', () => {
  it('makes calls one after the other and pairs errors', async () => {
    const caller = new Caller(errors);
    const order: string[] = [];
    const slow = caller.call('cannot do a', async () => {
      order.push('a begins');
      await new Promise((resolve) => setTimeout(resolve, 10));
      order.push('a ends');
      return 1;
    });
    const fast = caller.call('cannot do b', async () => order.push('b'));
    await Promise.all([slow, fast]);
    expect(order).toEqual(['a begins', 'a ends', 'b']);
    await expect(caller.call('cannot do c', async () => -1)).rejects.toMatchObject({ code: 'Libvirt', message: 'cannot do c: it broke' });
  });

  it('gives up waiting behind a call that hangs, and says behind which', async () => {
    const caller = new Caller(errors, 20);
    const { promise, resolve } = Promise.withResolvers<number>();
    const hung = caller.call('cannot define the domain', () => promise);
    let isMade = false;
    const behind = caller.call('cannot read the state', async () => {
      isMade = true;
      return 0;
    });
    await expect(behind).rejects.toMatchObject({
      code: 'Timeout',
      message: 'cannot read the state: libvirt did not come to it within 0.02 s (it is asked to define the domain)',
    });
    resolve(5);
    expect(await hung).toBe(5);
    await caller.settle();
    expect(isMade).toBe(false);
    expect(await caller.call('cannot ping', async () => 3)).toBe(3);
  });
});
