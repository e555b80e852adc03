// Admission of the KubeVirt CR, cause by cause.
import { describe, expect, it } from 'vitest';
import type { KubeVirt, KubeVirtSpec } from '../../api/index.js';
import { admitKubeVirtCreate, admitKubeVirtDelete, admitKubeVirtUpdate, type KubeVirtVerdict } from './admit-kubevirt.js';
import { placementCause, placementProbes } from './placement-probe.js';

const kv = (spec: KubeVirtSpec = {}, phase?: string): KubeVirt => ({
  metadata: { name: 'kubevirt', namespace: 'kubevirt' },
  spec,
  ...(phase ? { status: { phase } } : {}),
});
const causes = (verdict: KubeVirtVerdict): string[] =>
  'causes' in verdict ? verdict.causes.map(({ type, message }) => `${type}: ${message}`) : [];
const configured = (configuration: NonNullable<KubeVirtSpec['configuration']>): KubeVirtSpec => ({ configuration });
const rotated = (selfSigned: object): KubeVirtSpec => ({ certificateRotateStrategy: { selfSigned } });

describe('update', () => {
  it.each<[string, KubeVirtSpec, RegExp[]]>([
    ['nothing', {}, []],
    ['no replicas', { infra: { replicas: 0 } }, [/^FieldValueInvalid: infra replica count can't be 0: /]],
    [
      'a broken patch',
      { customizeComponents: { patches: [{ patch: '{bad', resourceName: 'x', resourceType: 'Deployment', type: 'json' }] } },
      [/^FieldValueNotSupported: patch "\{bad" is not valid JSON: /],
    ],
    [
      'renewal longer than life',
      rotated({ ca: { duration: '12h', renewBefore: '48h' } }),
      [/^FieldValueInvalid: CA RenewBefore/, /cannot exceed CA/],
    ],
    [
      'leaf renewal longer than life',
      rotated({ server: { duration: '1h', renewBefore: '2h' } }),
      [/Cert RenewBefore cannot exceed Duration/],
    ],
    ['old and new settings', rotated({ ca: { duration: '48h' }, caRotateInterval: '100h' }), [/are deprecated and conflict/]],
    ['no duration', rotated({ server: { duration: 'soon' } }), [/"soon" is not a duration/]],
    ['good durations', rotated({ ca: { duration: '48h', renewBefore: '12h' }, server: { duration: '24h' } }), []],
    ['small ratio', configured({ additionalGuestMemoryOverheadRatio: '0.99' }), [/0\.99, cannot be smaller than 1\.0/]],
    ['no ratio', configured({ additionalGuestMemoryOverheadRatio: 'abc' }), [/cannot be parsed into float/]],
    [
      'ciphers with TLS 1.3',
      configured({ tlsConfiguration: { ciphers: ['x'], minTLSVersion: 'VersionTLS13' } }),
      [/cannot specify ciphers/],
    ],
    [
      'an unknown cipher',
      configured({ tlsConfiguration: { ciphers: ['x', 'TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256'], minTLSVersion: 'VersionTLS12' } }),
      [/^FieldValueNotSupported: x is not a valid cipher/],
    ],
    ['a downtime whose gates are off', configured({ migrations: { maxDowntimeMs: 5 } }), [/maxDowntimeMs cannot be set or changed/]],
    [
      'a gate listed both ways is on',
      configured({
        virtTemplateDeployment: { enabled: true },
        developerConfiguration: { featureGates: ['Template'], disabledFeatureGates: ['Template'] },
      }),
      [/^FieldValueForbidden/],
    ],
    ['an empty ratio', configured({ additionalGuestMemoryOverheadRatio: '' }), [/cannot be parsed into float/]],
    ['a negative ratio', configured({ additionalGuestMemoryOverheadRatio: '-inf' }), [/cannot be smaller/]],
    ['an odd ratio', configured({ additionalGuestMemoryOverheadRatio: '1e3' }), []],
    ['no seccomp profile', configured({ seccompConfiguration: { virtualMachineInstanceProfile: {} } }), [/customProfile needs to be set/]],
    [
      'two seccomp profiles',
      configured({
        seccompConfiguration: { virtualMachineInstanceProfile: { customProfile: { localhostProfile: 'x', runtimeDefaultProfile: true } } },
      }),
      [/localhostProfile cannot be set/, /runtimeDefaultProfile cannot be set/],
    ],
    [
      'a gate on and off',
      configured({ developerConfiguration: { featureGates: ['Snapshot'], disabledFeatureGates: ['Snapshot'] } }),
      [/^FieldValueForbidden: feature gate "Snapshot" exists on both/],
    ],
    [
      'a setting whose gate is off',
      configured({ roleAggregationStrategy: 'Manual', developerConfiguration: { disabledFeatureGates: ['OptOutRoleAggregation'] } }),
      [/needs the feature gate OptOutRoleAggregation/],
    ],
  ])('%s', (_title, spec, expected) => {
    const found = causes(admitKubeVirtUpdate(kv(spec), kv()));
    expect(found).toHaveLength(expected.length);
    for (const [at, pattern] of expected.entries()) expect(found[at]).toMatch(pattern);
  });

  it('warns of gates that mean nothing, once', () => {
    const spec = configured({ developerConfiguration: { featureGates: ['LiveMigration', 'CPUManager', 'Passt', 'Sorcery'] } });
    const warnings = (verdict: KubeVirtVerdict): number => ('warnings' in verdict ? verdict.warnings.length : -1);
    expect(warnings(admitKubeVirtUpdate(kv(spec), kv()))).toBe(3);
    expect(warnings(admitKubeVirtUpdate(kv(spec), kv(spec)))).toBe(0);
  });

  it('warns of permitted devices that cannot be meant, once', () => {
    const spec = configured({ permittedHostDevices: { pciHostDevices: [{ pciVendorSelector: '10de', resourceName: 'nvidia.com/T4' }] } });
    const warning = expect.stringMatching(/^spec.configuration.permittedHostDevices: pciHostDevices\[0\] \(nvidia.com\/T4\) is left out/);
    expect(admitKubeVirtUpdate(kv(spec), kv())).toEqual({ allowed: true, warnings: [warning] });
    expect(admitKubeVirtUpdate(kv(spec), kv(spec))).toEqual({ allowed: true, warnings: [] });
  });
});

describe('create and delete', () => {
  it('allows one installation', () => {
    expect(admitKubeVirtCreate(kv(), [])).toEqual({ allowed: true, warnings: [] });
    expect(admitKubeVirtCreate(kv(), [kv()])).toMatchObject({
      allowed: false,
      error: expect.stringMatching(/^Kubevirt is already created: /),
    });
    expect(causes(admitKubeVirtCreate(kv({ infra: { replicas: 0 } }), []))).toHaveLength(1);
  });

  it.each([
    ['BlockUninstallIfWorkloadsExist', 'Deployed', [1, 0, 0], /Virtual Machine Instances present/],
    ['BlockUninstallIfWorkloadsExist', 'Deployed', [0, 1, 0], /Virtual Machines present/],
    ['BlockUninstallIfWorkloadsExist', 'Deployed', [0, 0, 1], /Replica Sets present/],
    ['BlockUninstallIfWorkloadsExist', 'Deployed', [0, 0, 0], undefined],
    ['BlockUninstallIfWorkloadsExist', 'Deploying', [1, 1, 1], undefined],
    ['RemoveWorkloads', 'Deployed', [1, 1, 1], undefined],
    ['', 'Deployed', [1, 1, 1], undefined],
  ] as const)('%s in phase %s with %j VMIs, VMs and replica sets', (uninstallStrategy, phase, [vmis, vms, replicaSets], expected) => {
    const verdict = admitKubeVirtDelete(kv({ uninstallStrategy }, phase), { vmis, vms, replicaSets });
    expect(verdict.allowed).toBe(expected === undefined);
    if (expected) expect(verdict).toMatchObject({ code: 400, error: expect.stringMatching(expected) });
  });
});

describe('what a change may keep', () => {
  const bad = configured({
    tlsConfiguration: { ciphers: ['x'] },
    seccompConfiguration: { virtualMachineInstanceProfile: {} },
    migrations: { maxDowntimeMs: 5 },
    developerConfiguration: { featureGates: ['Snapshot'], disabledFeatureGates: ['Snapshot'] },
  });

  it('looks at changed settings only', () => {
    expect(causes(admitKubeVirtUpdate(kv(bad), kv()))).toHaveLength(4);
    expect(admitKubeVirtUpdate(kv(bad), kv(bad)).allowed).toBe(true);
    expect(causes(admitKubeVirtCreate(kv(bad), []))).toHaveLength(4);
  });
});

describe('placement', () => {
  const nodePlacement = { nodeSelector: { zone: 'a' } };
  const placed = kv({ infra: { nodePlacement }, workloads: { nodePlacement } });

  it('asks the API server about each placement that changed', () => {
    const probes = placementProbes(placed, kv({ infra: { nodePlacement } }));
    expect(probes.map(({ at, kind }) => [at, kind])).toEqual([['spec.workloads.nodePlacement', 'DaemonSet']]);
    expect(probes[0]?.object.spec?.template.spec).toMatchObject(nodePlacement);
    expect(placementProbes(placed, kv()).map(({ kind }) => kind)).toEqual(['Deployment', 'DaemonSet']);
    expect(placementProbes(placed, placed)).toEqual([]);
    expect(probes.map((probe) => placementCause(probe, 'no such operator').message)).toEqual([
      'spec.workloads.nodePlacement would not be accepted in a pod: no such operator',
    ]);
  });
});
