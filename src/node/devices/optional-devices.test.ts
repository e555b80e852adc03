// Which of the devices that the configuration decides about a node offers, on sample roots of a host.
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { scratchDir } from '../../../test/fakes/scratch.js';
import type { KubeVirtConfiguration } from '../../api/index.js';
import { clusterConfigOf } from '../../core/config/cluster-config.js';
import { hostDevice } from './host-device.js';
import { miscCapacity, OPTIONAL_DEVICES } from './optional-devices.js';

let root: string;
beforeEach(() => {
  root = scratchDir();
});

async function file(path: string, text: string): Promise<void> {
  await mkdir(dirname(join(root, path)), { recursive: true });
  await writeFile(join(root, path), text);
}

async function device(path: string): Promise<void> {
  await mkdir(dirname(join(root, path)), { recursive: true });
  await symlink('/dev/null', join(root, path));
}

const gates = (...featureGates: string[]): KubeVirtConfiguration => ({ developerConfiguration: { featureGates } });

async function offered(spec: KubeVirtConfiguration): Promise<string[]> {
  const config = clusterConfigOf(spec);
  const found = await Promise.all(OPTIONAL_DEVICES.map((find) => find(config, root)));
  return found.flatMap((one) => (one ? [one.count === undefined ? one.name : `${one.name} x${one.count}`] : []));
}

describe('devices that the configuration decides about', () => {
  it.each<[string, KubeVirtConfiguration, string[]]>([
    ['nothing but what is on without a gate', {}, ['sev']],
    ['a gate that was switched off', { developerConfiguration: { disabledFeatureGates: ['WorkloadEncryptionSEV'] } }, []],
    ['the gates', gates('VSOCK', 'IOMMUFD', 'WorkloadEncryptionTDX'), ['vhost-vsock', 'sev', 'tdx x31', 'iommufd']],
    ['reservations', { persistentReservationConfiguration: { enabled: true } }, ['pr-helper', 'sev']],
    ['another hypervisor', { ...gates('ConfigurableHypervisor'), hypervisors: [{ name: 'hyperv-direct' }] }, ['mshv', 'sev']],
  ])('%s', async (_, spec, expected) => {
    await device('/dev/sev');
    await device('/dev/iommu');
    await file('/sys/fs/cgroup/misc.capacity', 'sev 0\nsev_es 99\ntdx 31\n');
    expect(await offered(spec)).toEqual(expected);
  });

  it('are not offered by a node that has none', async () => {
    await file('/dev/sev', 'a plain file is no device');
    expect(await offered(gates('IOMMUFD', 'WorkloadEncryptionTDX'))).toEqual([]);
  });

  it('TDX counts guests where version 1 of control groups has it', async () => {
    await file('/sys/fs/cgroup/misc/misc.capacity', 'tdx 7\n');
    expect(await offered(gates('WorkloadEncryptionTDX'))).toEqual(['tdx x7']);
  });

  it.each<[string, boolean, boolean]>([
    ['lets guests start without the daemon', false, true],
    ['waits for the daemon where attestation is enforced', true, false],
  ])('TDX %s', async (_, enforced, healthy) => {
    await file('/sys/fs/cgroup/misc.capacity', 'tdx 1\n');
    const confidentialCompute = { tdx: { attestation: { enforced, qgsSocketPath: '/run/quotes/q.sock' } } };
    const config = clusterConfigOf({ ...gates('WorkloadEncryptionTDX'), confidentialCompute });
    const found = await Promise.all(OPTIONAL_DEVICES.map((find) => find(config, root)));
    const spec = found.find((one) => one?.name === 'tdx');
    if (!spec) throw new Error('no tdx');
    const source = hostDevice(spec, { pluginDir: root, hostRoot: root, maxDevices: 5 });
    expect(await source.look()).toEqual([{ id: 'tdx0', healthy }]);
    const folder = { hostPath: '/run/quotes', containerPath: '/run/quotes', readOnly: true };
    expect(await source.allocate(['tdx0'])).toEqual(enforced ? { folders: [folder] } : {});
    await mkdir(join(root, 'run/quotes'), { recursive: true });
    expect(await source.allocate(['tdx0'])).toEqual({ folders: [folder] });
  });
});

describe('miscCapacity', () => {
  it.each([
    ['the resource', 'sev 5\ntdx 31\n', 31],
    ['no such resource', 'sev 5\ntdx_other 4\n', 0],
    ['no text', '', 0],
    ['no limit', 'tdx max\n', 0],
  ])('%s', (_, text, expected) => {
    expect(miscCapacity(text, 'tdx')).toBe(expected);
  });
});
