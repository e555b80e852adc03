import { describe, expect, it } from 'vitest';
import { NOW, vm, vmi } from '../../../test/builders/objects.js';
import type { ControllerRevision, VirtualMachineInstance } from '../../api/index.js';
import { clusterConfigOf } from '../../core/config/cluster-config.js';
import { decideVm, type Seen, type Step } from './decide.js';
import { startRevision } from './revision.js';

const seen = (parts: Partial<Seen> = {}): Seen => ({
  vm: vm(),
  vmi: undefined,
  revisions: [],
  dataVolumes: new Map(),
  templateClaims: new Set(),
  hasCdi: true,
  config: clusterConfigOf({}),
  settled: true,
  ...parts,
});
const verbs = (s: Partial<Seen>): Step['do'][] => decideVm(seen(s), NOW).steps.map((step) => step.do);
const DELETED = { deletionTimestamp: '2026-01-01T11:59:00Z' };
const running = vmi({ status: { phase: 'Running' } });
const final = (phase: string, extra = {}): VirtualMachineInstance => vmi({ status: { phase }, metadata: extra });
const moved = (state: object): VirtualMachineInstance =>
  vmi({ status: { phase: 'Succeeded', migrationState: { sourceState: { syncAddress: '10.0.0.1' }, targetState: {}, ...state } } });
const revision = (): ControllerRevision => startRevision(vm());

describe('decideVm', () => {
  it.each<[string, Partial<Seen>, Step['do'][]]>([
    ['marks a new VM before anything else', { vm: vm({ metadata: { finalizers: [] } }) }, ['ensureFinalizer']],
    ['waits for its own writes', { settled: false }, []],
    ['starts an Always VM', {}, ['createVmi']],
    ['leaves a running one alone', { vmi: running }, []],
    ['starts nothing that is Halted', { vm: vm({ spec: { runStrategy: 'Halted' } }) }, []],
    ['stops what should be Halted', { vm: vm({ spec: { runStrategy: 'Halted' } }), vmi: running }, ['deleteVmi']],
    ['replaces a failed guest and lets the old one go', { vmi: final('Failed') }, ['deleteVmi', 'releaseVmi']],
    [
      'lets a finished guest of Manual go without deleting it',
      { vm: vm({ spec: { runStrategy: 'Manual' } }), vmi: final('Succeeded') },
      ['releaseVmi'],
    ],
    ['does not delete twice', { vmi: final('Failed', DELETED) }, ['releaseVmi']],
    ['adopts an orphan of the same name', { vmi: vmi({ status: { phase: 'Running' }, metadata: { ownerReferences: [] } }) }, ['adoptVmi']],
    ['deletes the guest of a deleted VM first', { vm: vm({ metadata: DELETED }), vmi: running }, ['deleteVmi']],
    ['then lets the VM go', { vm: vm({ metadata: DELETED }) }, ['dropFinalizer']],
    [
      'keeps the guest when the VM is orphaned',
      { vm: vm({ metadata: { ...DELETED, finalizers: ['orphan', 'kubevirt.io/virtualMachineControllerFinalize'] } }), vmi: running },
      ['dropFinalizer'],
    ],
    [
      'keeps it also once the garbage collector has done its part',
      { vm: vm({ metadata: DELETED }), vmi: vmi({ status: { phase: 'Running' }, metadata: { ownerReferences: [] } }) },
      ['dropFinalizer'],
    ],
    [
      'starts no guest for what is left of a start whose guest ended at once',
      { vm: vm({ spec: { runStrategy: 'Manual' }, status: { stateChangeRequests: [{ action: 'Start' }] } }), vmi: final('Failed') },
      ['releaseVmi'],
    ],
    [
      'records a new generation when the template did not change',
      {
        vm: vm({ metadata: { generation: 2 } }),
        revisions: [revision()],
        vmi: vmi({ status: { phase: 'Running', virtualMachineRevisionName: 'revision-start-vm-vm-uid-1' } }),
      },
      ['bumpGeneration'],
    ],
    ['turns a VM off whose guest has moved to another cluster', { vmi: moved({ completed: true }) }, ['setRunStrategy', 'releaseVmi']],
    ['starts no second guest while the first is about to be elsewhere', { vmi: moved({}) }, ['releaseVmi']],
    [
      'leaves one off that has just been turned off while the start of a restart waited',
      { vm: vm({ spec: { runStrategy: 'Halted' }, status: { runStrategy: 'Always', stateChangeRequests: [{ action: 'Start' }] } }) },
      [],
    ],
    [
      'turns a Halted VM with a start request on',
      { vm: vm({ spec: { runStrategy: 'Halted' }, status: { stateChangeRequests: [{ action: 'Start' }] } }) },
      ['setRunStrategy'],
    ],
  ])('%s', (_title, state, expected) => {
    expect(verbs(state)).toEqual(expected);
  });

  it('turns it off in the words that the VM uses', () => {
    const { runStrategy: _, ...spec } = vm().spec;
    const plan = decideVm(seen({ vm: { ...vm(), spec: { ...spec, running: true } }, vmi: moved({ completed: true }) }), NOW);
    expect(plan.steps[0]).toEqual({ do: 'setRunStrategy', field: 'running', value: false });
  });

  it('waits out the crash back-off and says when to look again', () => {
    const failing = vm({ status: { startFailure: { consecutiveFailCount: 1, retryAfterTimestamp: '2026-01-01T12:00:07Z' } } });
    expect(decideVm(seen({ vm: failing }), NOW)).toEqual({ steps: [], recheckMs: 7000 });
  });

  it('names the instance that stands in the way', () => {
    const foreign = vmi({
      metadata: {
        ownerReferences: [{ apiVersion: 'v1', kind: 'VirtualMachineInstanceReplicaSet', name: 'rs', uid: 'x', controller: true }],
      },
    });
    expect(decideVm(seen({ vmi: foreign }), NOW).failure?.message).toContain('VirtualMachineInstanceReplicaSet rs');
  });

  describe('without the instance type that the VM refers to', () => {
    const unfound = { reason: 'FailedFindInstancetype', message: 'it was not found' };

    it('does not start', () => {
      expect(decideVm(seen({ unfound }), NOW)).toEqual({ steps: [], failure: unfound });
    });

    it('still stops, and says what a start would lack', () => {
      const halted = vm({ spec: { runStrategy: 'Halted' } });
      const plan = decideVm(seen({ vm: halted, vmi: final('Running'), unfound }), NOW);
      expect([plan.steps.map((s) => s.do), plan.failure]).toEqual([['deleteVmi'], unfound]);
    });
  });

  it('starts with the instance type that was found', () => {
    const chosen = { instancetype: { cpu: { guest: 2 }, memory: { guest: '1Gi' } } };
    expect(decideVm(seen({ chosen }), NOW).steps).toMatchObject([{ do: 'createVmi', chosen }]);
  });

  it('asks for a start again when a RerunOnFailure guest failed, and only then deletes it', () => {
    const rerun = vm({ spec: { runStrategy: 'RerunOnFailure' } });
    const first = decideVm(seen({ vm: rerun, vmi: final('Failed') }), NOW);
    expect([first.requestStart, first.steps]).toEqual([true, []]);
    const asked = { ...rerun, status: { ...rerun.status, stateChangeRequests: [{ action: 'Start' as const }] } };
    const second = decideVm(seen({ vm: asked, vmi: final('Failed') }), NOW);
    expect([second.requestStart, second.steps.map((s) => s.do)]).toEqual([undefined, ['deleteVmi', 'releaseVmi']]);
  });
});
