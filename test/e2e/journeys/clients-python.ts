// The Python client's dynamic half, as Ansible and many scripts use it: a VM's life in a script of theirs, judged by what it saw.
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runClient } from '../clients/commands.js';
import { pythonWithKubernetes } from '../clients/prepare.js';
import { ROOT } from '../harness.js';
import { tinyVm } from '../manifests.js';

const NAME = 'from-python';
const SCRIPT = join(ROOT, 'test/e2e/clients/python/vms.py');

interface Report {
  readonly shortNames: string[];
  readonly defaulted: string;
  readonly labels: Record<string, string>;
  readonly listed: string[];
  readonly refusals: { readonly conflict: string; readonly invalid: string };
  readonly seen: string[];
}

export function clientPython(): void {
  it('takes a VM from its creation to its end', async () => {
    const vm = tinyVm(NAME, { runStrategy: 'Manual', gracePeriodSeconds: 0 });
    const { code, stdout, stderr } = await runClient([await pythonWithKubernetes(), SCRIPT], JSON.stringify(vm));
    expect(code, stderr).toBe(0);
    const report = JSON.parse(stdout) as Report;
    expect(report).toMatchObject({
      shortNames: ['vm', 'vms'],
      defaulted: expect.stringContaining('q35'),
      labels: { merged: 'yes', added: 'yes', applied: 'yes' },
      listed: [NAME],
    });
    expect(report.refusals.conflict).toContain('VM is not running');
    expect(report.refusals.invalid).toContain('Invalid RunStrategy (Sometimes)');
    const once = report.seen.filter((status) => ['Stopped', 'Running', 'DELETED'].includes(status));
    expect(once).toEqual(['Stopped', 'Running', 'Stopped', 'DELETED']);
  });
}
