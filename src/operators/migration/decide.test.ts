import { describe, expect, it } from 'vitest';
import type { VirtualMachineInstanceMigration } from '../../api/index.js';
import { decideMigration } from './decide.js';

const HELD = { finalizers: ['kubevirt.io/migrationJobFinalize'] };
const DELETED = { deletionTimestamp: '2026-01-01T12:00:00Z' };
const migration = (metadata: object, phase?: string): VirtualMachineInstanceMigration => ({
  metadata: { name: 'm', namespace: 'shop', ...metadata },
  spec: { vmiName: 'web' },
  ...(phase ? { status: { phase } } : {}),
});

describe('decideMigration', () => {
  it.each<[string, VirtualMachineInstanceMigration, boolean, boolean]>([
    ['fails a new one', migration(HELD), true, false],
    ['fails one that another release began', migration(HELD, 'Scheduling'), true, false],
    ['lets a failed one go', migration(HELD, 'Failed'), false, true],
    ['lets a deleted one go, whatever its phase', migration({ ...HELD, ...DELETED }, 'Running'), false, true],
    ['leaves a finished one alone', migration({}, 'Succeeded'), false, false],
    ['touches nobody else’s finalizer', migration({ finalizers: ['example.com/mine'], ...DELETED }), false, false],
  ])('%s', (_title, given, fail, release) => {
    expect(decideMigration(given)).toEqual({ fail, release });
  });
});
