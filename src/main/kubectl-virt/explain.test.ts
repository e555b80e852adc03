// What a person reads when the API refuses.
import { describe, expect, it } from 'vitest';
import { KvError } from '../../base/errors.js';
import { explainError, explainRefusal, refusalOf } from './explain.js';

const subject = { verb: 'start', name: 'web', namespace: 'prod' };
const status = (message: string): string => JSON.stringify({ kind: 'Status', message });

describe('explainRefusal', () => {
  it.each([
    [
      'conflict',
      409,
      status('Operation cannot be fulfilled on virtualmachine.kubevirt.io "web": VM is already running'),
      'cannot start prod/web: VM is already running\n  see it: kubectl get vmi web -n prod',
    ],
    [
      'not running',
      400,
      status('VMI is not running'),
      'cannot start prod/web: VMI is not running\n  start it first: kubectl virt start web -n prod',
    ],
    [
      'absent',
      404,
      status('virtualmachine.kubevirt.io "web" not found'),
      'cannot start prod/web: virtualmachine.kubevirt.io "web" not found\n  check the name and the namespace: kubectl get vm -n prod',
    ],
    [
      'not installed',
      404,
      '404 page not found\n',
      'cannot start prod/web: 404 page not found\n  the cluster does not serve virtual machines: kubectl get apiservices v1.subresources.kubevirt.io',
    ],
    [
      'a rule that is no question of permission',
      403,
      status(
        'virtualmachineinstance.kubevirt.io "web" is forbidden: Pausing VMIs with a non-GuestAgentPing LivenessProbe is not supported',
      ),
      'cannot start prod/web: virtualmachineinstance.kubevirt.io "web" is forbidden: Pausing VMIs with a non-GuestAgentPing LivenessProbe is not supported\n' +
        '  paused, it would fail its liveness probe and be ended: use livenessProbe.guestAgentPing, which counts a paused guest as well',
    ],
    [
      'no permission',
      401,
      'no rule allows this',
      'cannot start prod/web: no rule allows this\n  you lack the permission: ask for the ClusterRole kubevirt.io:edit in this namespace',
    ],
    [
      'no VMI',
      404,
      status('virtualmachineinstance.kubevirt.io "web" not found'),
      'cannot start prod/web: virtualmachineinstance.kubevirt.io "web" not found\n  it does not run, or there is no such machine: kubectl get vm -n prod; start it first: kubectl virt start web -n prod',
    ],
    ['no advice', 500, status('Internal error occurred: odd'), 'cannot start prod/web: Internal error occurred: odd'],
    ['no words', 502, '', 'cannot start prod/web: the server answered 502'],
  ])('%s', (_title, code, body, expected) => {
    expect(explainRefusal(refusalOf(code, body), subject)).toBe(expected);
  });
});

describe('explainError', () => {
  it('tells the cause of a connection that failed', () => {
    const err = new KvError('Unavailable', 'cannot reach the server', { cause: new Error('connect ECONNREFUSED') });
    expect(explainError(err, subject)).toBe('cannot start prod/web: cannot reach the server: connect ECONNREFUSED');
  });

  it.each([
    ['console', 'cannot open the console of prod/web: it is stopped'],
    ['vnc', 'cannot open the display of prod/web: it is stopped'],
  ])('%s', (verb, expected) => {
    expect(explainError(new KvError('Terminal', 'it is stopped'), { ...subject, verb })).toBe(expected);
  });

  it('reads the refusal that an error carries', () => {
    const err = new KvError('Unavailable', 'the server answered 409', { details: { status: 409, body: status('VMI is already paused') } });
    expect(explainError(err, subject)).toContain('let it run: kubectl virt unpause web -n prod');
  });
});
