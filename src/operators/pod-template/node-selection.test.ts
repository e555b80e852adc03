// Which nodes a launcher pod may run on.
import { describe, expect, it } from 'vitest';
import type { KubeVirtConfiguration, Pod, VirtualMachineInstance } from '../../api/index.js';
import { claim, context, demoVmi, gates } from './fixtures.js';
import { renderLauncherPod } from './launcher.js';

const render = (vmi: VirtualMachineInstance, config: KubeVirtConfiguration = {}): Pod => renderLauncherPod(vmi, context({}, config));

describe('node selection', () => {
  const selector = (vmi: VirtualMachineInstance, config: KubeVirtConfiguration = {}) => render(vmi, config).spec?.nodeSelector;
  const base = { 'kubevirt.io/schedulable': 'true', 'kubernetes.io/arch': 'amd64', 'machine-type.node.kubevirt.io/q35': 'true' };

  it.each([
    ['host-model', demoVmi(), {}, {}],
    ['a named model', demoVmi({}, { cpu: { model: 'Haswell' } }), {}, { 'cpu-model.node.kubevirt.io/Haswell': 'true' }],
    [
      'required features only',
      demoVmi({}, { cpu: { model: 'host-passthrough', features: [{ name: 'vmx' }, { name: 'svm', policy: 'disable' }] } }),
      {},
      { 'cpu-feature.node.kubevirt.io/vmx': 'true' },
    ],
    [
      'dedicated CPUs',
      demoVmi({}, { cpu: { cores: 1, model: 'host-model', dedicatedCpuPlacement: true } }),
      {},
      { 'kubevirt.io/cpumanager': 'true' },
    ],
    ['encrypted memory', demoVmi({}, { launchSecurity: { sev: {} } }), {}, { 'kubevirt.io/sev': 'true' }],
    [
      'encrypted memory with integrity',
      demoVmi({}, { launchSecurity: { snp: {} } }),
      {},
      { 'kubevirt.io/sev': 'true', 'kubevirt.io/sev-snp': 'true' },
    ],
    ['Hyper-V enlightenments unless strict', demoVmi({}, { features: { hyperv: { vpindex: {} } } }), {}, {}],
    [
      'Hyper-V enlightenments when strict',
      demoVmi({}, { features: { hyperv: { vpindex: {}, ipi: { enabled: false }, evmcs: {} } } }),
      gates('HypervStrictCheck'),
      { 'hyperv.node.kubevirt.io/vpindex': 'true', 'cpu-vendor.node.kubevirt.io/Intel': 'true' },
    ],
    [
      'the user’s after the cluster’s',
      demoVmi({ nodeSelector: { a: 'user' } }),
      { developerConfiguration: { nodeSelectors: { a: 'cluster', b: 'cluster' } } },
      { a: 'user', b: 'cluster' },
    ],
  ])('%s', (_, vmi, config, extra) => expect(selector(vmi, config)).toEqual({ ...base, ...extra }));

  it('lets a guest of another architecture run where it can be emulated, its own architecture first', () => {
    const vmi = demoVmi({ architecture: 's390x' }, { cpu: { model: 'Haswell' } });
    expect(selector(vmi)).toMatchObject({ 'kubernetes.io/arch': 's390x' });
    const { nodeSelector, affinity } = render(vmi, gates('CrossArchitectureVirtualization')).spec ?? {};
    const { 'kubernetes.io/arch': _, ...others } = base;
    expect(nodeSelector).toEqual({ ...others, 'cpu-model.node.kubevirt.io/Haswell': 'true', 'kubevirt.io/vm-arch-s390x': 'true' });
    const preference = { matchExpressions: [{ key: 'kubernetes.io/arch', operator: 'In', values: ['s390x'] }] };
    expect(affinity).toEqual({ nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, preference }] } });
  });
  it('keeps host-model guests off nodes with an obsolete one, in each of the user’s alternatives', () => {
    const term = { matchExpressions: [{ key: 'k', operator: 'In', values: ['a'] }] };
    const fields = { matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n'] }] };
    const own = { key: 'node-labeller.kubevirt.io/obsolete-host-model', operator: 'DoesNotExist' };
    const affinity = { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term, fields] } } };
    expect(render(demoVmi({ affinity })).spec?.affinity).toEqual({
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: [...term.matchExpressions, own] }, { ...fields, matchExpressions: [own] }],
        },
      },
    });
  });
  it('keeps guests apart that reserve the same LUN', () => {
    const disks = [{ name: 'v', lun: { bus: 'scsi', reservation: true } }];
    const vmi = demoVmi(
      { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'blk' } }] },
      { cpu: { model: 'Haswell' }, devices: { disks } },
    );
    const pod = renderLauncherPod(vmi, context({ pvcs: new Map([claim('blk', 'Block')]) }));
    expect([
      pod.metadata.labels?.['pr.kubevirt.io/uid-blk'],
      pod.spec?.containers[0]?.resources?.limits?.['devices.kubevirt.io/pr-helper'],
    ]).toEqual(['', '1']);
    expect(pod.spec?.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution).toEqual([
      {
        labelSelector: { matchExpressions: [{ key: 'pr.kubevirt.io/uid-blk', operator: 'Exists' }] },
        topologyKey: 'kubernetes.io/hostname',
      },
    ]);
  });
  it('needs no affinity for a named model without forbidden features', () => {
    expect(render(demoVmi({}, { cpu: { model: 'Haswell' } })).spec?.affinity).toBeUndefined();
  });
});
