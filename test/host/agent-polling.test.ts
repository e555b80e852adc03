// Hours of polling the guest agent, with the launcher, libvirt and QEMU of the image: nothing piles up. `npm run bench -- agent-polling` does a
// whole day.
import { expect, it } from 'vitest';
import { type Hour, runAgentPolling } from '../load/agent-polling.js';

const HOURS = 4;
const MIB = 1024 * 1024;

it('asks each topic at its pace, and holds after hours what it held after the first', { timeout: 240_000 }, async () => {
  const { hours, asked, calls, reports } = await runAgentPolling(HOURS);
  // Every 5 s, 10 s, 120 s and 300 s; a few more at the beginning.
  expect(asked['guest-fsfreeze-status']).toBeGreaterThanOrEqual(HOURS * 720);
  expect(asked['guest-get-users']).toBeGreaterThanOrEqual(HOURS * 360);
  expect(asked['guest-network-get-interfaces']).toBeGreaterThanOrEqual(HOURS * 30);
  expect(asked['guest-get-fsinfo']).toBeGreaterThanOrEqual(HOURS * 12);
  expect(calls).toBeGreaterThan(0);
  expect(reports).toBeGreaterThan(1);
  const [early, late] = [hours[1], hours[HOURS]] as [Hour, Hour];
  expect(late.callbacks).toBe(early.callbacks);
  // A call of the node agent may be under way.
  expect(late.descriptors).toBeLessThanOrEqual(early.descriptors + 2);
  expect(late.libvirtDescriptors).toBeLessThanOrEqual(early.libvirtDescriptors + 2);
  expect(late.heapBytes - early.heapBytes).toBeLessThan(2 * MIB);
  expect(late.rssBytes - early.rssBytes).toBeLessThan(8 * MIB);
  expect(late.libvirtRssBytes - early.libvirtRssBytes).toBeLessThan(2 * MIB);
});
