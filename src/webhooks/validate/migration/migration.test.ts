// Which migrations are let in, which changes of them, and which policies.
import { describe, expect, it } from 'vitest';
import type { VirtualMachineInstance, VirtualMachineInstanceMigration } from '../../../api/index.js';
import { clusterConfigOf } from '../../../core/config/cluster-config.js';
import type { Verdict } from '../../verdict.js';
import { admitMigrationCreate, admitMigrationUpdate, type MigrationRequest } from './admit.js';
import { admitMigrationPolicy } from './policy.js';

const gates = (on: string[], off: string[] = []) =>
  clusterConfigOf({ developerConfiguration: { featureGates: on, disabledFeatureGates: off } });
const told = (verdict: Verdict): string[] | string => {
  if (verdict.allowed) return 'allowed';
  return 'causes' in verdict ? verdict.causes.map((c) => `${c.type.replace('FieldValue', '')} ${c.field}`) : verdict.error;
};
const migration = (
  spec: object = { vmiName: 'vm' },
  status?: object,
  labels?: Record<string, string>,
): VirtualMachineInstanceMigration => ({
  metadata: { name: 'm', namespace: 'ns', uid: 'u', ...(labels ? { labels } : {}) },
  spec,
  ...(status ? { status } : {}),
});
const vmi = (status: object = { phase: 'Running' }): VirtualMachineInstance =>
  ({ metadata: { name: 'vm' }, spec: {}, status }) as unknown as VirtualMachineInstance;
const stuck = (reason: string): VirtualMachineInstance =>
  vmi({ conditions: [{ type: 'LiveMigratable', status: 'False', reason, message: 'why' }] });
const sendTo = { vmiName: 'vm', sendTo: { migrationID: 'a', connectURL: 'x:1' } };
const ofVm = { 'kubevirt.io/vmi-name': 'vm' };

describe('admitMigrationCreate', () => {
  const admit = (rest: Partial<MigrationRequest>, config = gates([])): string[] | string =>
    told(admitMigrationCreate({ migration: migration(), vmi: vmi(), others: [], namespace: 'ns', isController: false, ...rest }, config));
  it.each<[string, Partial<MigrationRequest>, string[] | string]>([
    ['sound', {}, 'allowed'],
    ['no name', { migration: migration({}) }, ['Required spec.vmiName']],
    ['a priority by a user', { migration: migration({ vmiName: 'vm', priority: 'high' }) }, ['Forbidden spec.migrationPriority']],
    ['a priority by virt-controller', { migration: migration({ vmiName: 'vm', priority: 'high' }), isController: true }, 'allowed'],
    ['a VMI that is over', { vmi: vmi({ phase: 'Failed' }) }, expect.stringMatching(/^Cannot migrate VMI in finalized state: /) as never],
    [
      'a VMI that cannot',
      { vmi: stuck('HostDevice') },
      expect.stringMatching(/^Cannot migrate VMI, Reason: HostDevice, Message: why\. /) as never,
    ],
    [
      'disks that are not shared',
      { vmi: stuck('DisksNotLiveMigratable') },
      expect.stringContaining('Reason: DisksNotLiveMigratable') as never,
    ],
    ['… to another cluster', { vmi: stuck('DisksNotLiveMigratable'), migration: migration(sendTo) }, 'allowed'],
    ['another at work', { others: [migration({ vmiName: 'vm' }, {}, ofVm)] }, expect.stringContaining('Active migration job (u)') as never],
    ['another that is over', { others: [migration({ vmiName: 'vm' }, { phase: 'Succeeded' }, ofVm)] }, 'allowed'],
    ['another VMI at work', { others: [migration({}, {}, { 'kubevirt.io/vmi-name': 'other' })] }, 'allowed'],
    ['ends that do not meet', { migration: migration({ ...sendTo, receive: { migrationID: 'b' } }) }, ['Invalid ']],
    ['ends that meet', { migration: migration({ ...sendTo, receive: { migrationID: 'a' } }) }, 'allowed'],
  ])('%s', (_title, rest, expected) => {
    expect(admit(rest)).toEqual(expected);
  });

  it('names a VMI that does not exist', () => {
    const verdict = admitMigrationCreate({ migration: migration(), others: [], namespace: 'ns', isController: false }, gates([]));
    expect(told(verdict)).toMatch(/^the VMI "ns\/vm" does not exist: /);
  });

  it('migrates between clusters only where the gate is on', () => {
    expect(admit({ migration: migration(sendTo) }, gates([], ['DecentralizedLiveMigration']))).toEqual(['NotSupported ']);
  });
});

describe('admitMigrationUpdate', () => {
  const running = { phase: 'Running' };
  it.each<[string, VirtualMachineInstanceMigration, VirtualMachineInstanceMigration, string[] | string]>([
    ['nothing', migration({ vmiName: 'vm' }, running, ofVm), migration({ vmiName: 'vm' }, running, ofVm), 'allowed'],
    ['the spec', migration({ vmiName: 'other' }, running, ofVm), migration({ vmiName: 'vm' }, running, ofVm), ['NotSupported ']],
    ['label removed', migration({ vmiName: 'vm' }, running), migration({ vmiName: 'vm' }, running, ofVm), ['NotSupported ']],
    [
      'label changed',
      migration(undefined, running, { 'kubevirt.io/vmi-name': 'x' }),
      migration(undefined, running, ofVm),
      ['NotSupported '],
    ],
    ['label added', migration(undefined, running, ofVm), migration(undefined, running), 'allowed'],
    ['label removed at the end', migration(undefined, { phase: 'Failed' }), migration(undefined, running, ofVm), 'allowed'],
  ])('%s', (_title, next, old, expected) => {
    expect(told(admitMigrationUpdate(next, old))).toEqual(expected);
  });
});

describe('admitMigrationPolicy', () => {
  const STALL = 'MigrationStallDetection';
  const TUNING = 'MigrationDowntimeTuning';
  const detector = (values: object): object => ({ experimental: { stallDetector: values } });
  const factor = (name: string): string => `Invalid spec.experimental.stallDetector.${name}`;
  it.each<[string, object, object | undefined, string[], string[] | string]>([
    ['plain', { allowPostCopy: true, bandwidthPerMigration: '64Mi', completionTimeoutPerGiB: 0 }, undefined, [], 'allowed'],
    ['negative timeout', { completionTimeoutPerGiB: -1 }, undefined, [], ['Invalid spec.completionTimeoutPerGiB']],
    ['negative bandwidth', { bandwidthPerMigration: '-1' }, undefined, [], ['Invalid spec.bandwidthPerMigration']],
    ['downtime without gate', { maxDowntimeMs: 500 }, undefined, [], ['Invalid spec.maxDowntimeMs']],
    ['downtime with either gate', { maxDowntimeMs: 500 }, undefined, [TUNING], 'allowed'],
    ['downtime kept', { maxDowntimeMs: 500 }, { maxDowntimeMs: 500 }, [], 'allowed'],
    ['detector without gate', detector({}), undefined, [], ['Invalid spec.experimental.stallDetector']],
    ['detector kept', detector({}), detector({}), [], 'allowed'],
    [
      'both experiments',
      { experimental: { stallDetector: {}, downtimeTuning: {} } },
      undefined,
      [STALL, TUNING],
      ['Invalid spec.experimental'],
    ],
    [
      'tuning changed',
      { experimental: { downtimeTuning: { steps: 2 } } },
      { experimental: { downtimeTuning: {} } },
      [],
      ['Invalid spec.experimental.downtimeTuning'],
    ],
    [
      'sound factors',
      detector({ ewmaAlpha: '0.1', precopyPossibleFactor: 1, patienceWindowDecayFactor: 0 }),
      undefined,
      [STALL],
      'allowed',
    ],
    ['alpha of zero', detector({ ewmaAlpha: 0 }), undefined, [STALL], [factor('ewmaAlpha')]],
    ['alpha too large', detector({ ewmaAlpha: '1.01' }), undefined, [STALL], [factor('ewmaAlpha')]],
    ['too fine', detector({ ewmaAlpha: '0.1234' }), undefined, [STALL], [factor('ewmaAlpha')]],
    ['factor below one', detector({ completionTimeoutFactor: '0.5' }), undefined, [STALL], [factor('completionTimeoutFactor')]],
    ['negative', detector({ patienceWindowDecayFactor: -1 }), undefined, [STALL], [factor('patienceWindowDecayFactor')]],
    ['no number', detector({ ewmaAlpha: 'much' }), undefined, [STALL], [factor('ewmaAlpha')]],
  ])('%s', (_title, spec, old, on, expected) => {
    const before = old && { metadata: { name: 'p' }, spec: old };
    expect(told(admitMigrationPolicy({ metadata: { name: 'p' }, spec }, before, gates(on)))).toEqual(expected);
  });
});
