// Admission of the KubeVirt CR, cause by cause.
import { describe, expect, it } from 'vitest';
import type { KubeVirt, KubeVirtSpec } from '../../api/index.js';
import { admitKubeVirtCreate, admitKubeVirtDelete, admitKubeVirtUpdate, type KubeVirtVerdict } from './admit-kubevirt.js';

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
    ['no replicas', { infra: { replicas: 0 } }, [/^FieldValueInvalid: infra replica count can't be 0$/]],
    [
      'a broken patch',
      { customizeComponents: { patches: [{ patch: '{bad', resourceName: 'x', resourceType: 'Deployment', type: 'json' }] } },
      [/^FieldValueNotSupported: patch "\{bad" is not valid JSON$/],
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
    ['ciphers with TLS 1.2', configured({ tlsConfiguration: { ciphers: ['x'], minTLSVersion: 'VersionTLS12' } }), []],
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
});

describe('create and delete', () => {
  it('allows one installation', () => {
    expect(admitKubeVirtCreate(kv(), [])).toEqual({ allowed: true, warnings: [] });
    expect(admitKubeVirtCreate(kv(), [kv()])).toMatchObject({ allowed: false, error: 'Kubevirt is already created' });
    expect(causes(admitKubeVirtCreate(kv({ infra: { replicas: 0 } }), []))).toHaveLength(1);
  });

  it.each([
    ['BlockUninstallIfWorkloadsExist', 'Deployed', 1, 0, false],
    ['BlockUninstallIfWorkloadsExist', 'Deployed', 0, 1, false],
    ['BlockUninstallIfWorkloadsExist', 'Deployed', 0, 0, true],
    ['BlockUninstallIfWorkloadsExist', 'Deploying', 1, 1, true],
    ['RemoveWorkloads', 'Deployed', 1, 1, true],
    ['', 'Deployed', 1, 1, true],
  ])('%s in phase %s with %d VMIs and %d VMs', (uninstallStrategy, phase, vmis, vms, allowed) => {
    expect(admitKubeVirtDelete(kv({ uninstallStrategy }, phase), { vmis, vms }).allowed).toBe(allowed);
  });
});
