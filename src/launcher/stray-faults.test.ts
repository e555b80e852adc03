import { expect, it } from 'vitest';
import { silentLogger } from '../base/logger.js';
import { StrayFaults } from './stray-faults.js';

it('end the launcher before there is a guest, and not after', () => {
  const ends: unknown[] = [];
  const faults = new StrayFaults(silentLogger, (err) => void ends.push(err));
  faults.hear('before');
  faults.guestRuns();
  faults.hear('after');
  expect(ends).toEqual(['before']);
});
