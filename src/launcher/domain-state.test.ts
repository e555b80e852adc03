import { describe, expect, it } from 'vitest';
import type { StateReport } from '../libvirt/index.js';
import { domainStatus, hasCrashed, isAlive } from './domain-state.js';

describe('domainStatus', () => {
  it.each([
    [
      { state: 'running', reason: 'booted' },
      { status: 'Running', reason: 'Unknown' },
    ],
    [
      { state: 'paused', reason: 'user' },
      { status: 'Paused', reason: 'User' },
    ],
    [
      { state: 'paused', reason: 'io-error' },
      { status: 'Paused', reason: 'IOError' },
    ],
    [
      { state: 'paused', reason: 'postcopy-failed' },
      { status: 'Paused', reason: 'PostcopyFailed' },
    ],
    [
      { state: 'shutdown', reason: 'user' },
      { status: 'ShuttingDown', reason: 'User' },
    ],
    [
      { state: 'shutoff', reason: 'shutdown' },
      { status: 'Shutoff', reason: 'Shutdown' },
    ],
    [
      { state: 'shutoff', reason: 'daemon' },
      { status: 'Shutoff', reason: 'Destroyed' },
    ],
    [
      { state: 'crashed', reason: 'panicked' },
      { status: 'Crashed', reason: 'Panicked' },
    ],
    [
      { state: 'nostate', reason: 'unknown' },
      { status: 'NoState', reason: 'Unknown' },
    ],
  ] as [StateReport, object][])('%o', (state, expected) => expect(domainStatus(state)).toEqual(expected));
});

describe('what a state means', () => {
  it.each([
    ['running', 'booted', { alive: true, crashed: false }],
    ['paused', 'user', { alive: true, crashed: false }],
    ['shutdown', 'user', { alive: true, crashed: false }],
    ['shutoff', 'unknown', { alive: false, crashed: false }],
    ['shutoff', 'failed', { alive: false, crashed: false }],
    ['shutoff', 'destroyed', { alive: false, crashed: false }],
    ['shutoff', 'crashed', { alive: false, crashed: true }],
    ['crashed', 'panicked', { alive: false, crashed: true }],
    ['nostate', 'unknown', { alive: false, crashed: false }],
  ] as const)('%s/%s', (state, reason, expected) => {
    const report = { state, reason };
    expect({ alive: isAlive(report), crashed: hasCrashed(report) }).toEqual(expected);
  });
});
