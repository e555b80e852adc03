import { describe, expect, it } from 'vitest';
import type { KubeVirtConfiguration, Pod, VirtualMachineInstance } from '../../api/index.js';
import { annotated, claim, context, demoVmi } from './fixtures.js';
import { renderLauncherPod, renderTemporaryPod } from './launcher.js';

const compute = (pod: Pod) => {
  const found = pod.spec?.containers.find(({ name }) => name === 'compute');
  if (!found) throw new Error('every launcher pod has a compute container');
  return found;
};
const mountsOf = (pod: Pod): string[] => (compute(pod).volumeMounts ?? []).map(({ name, mountPath }) => `${name} ${mountPath}`);
const render = (vmi: VirtualMachineInstance, config: KubeVirtConfiguration = {}): Pod => renderLauncherPod(vmi, context({}, config));

describe('the launcher pod of a plain VMI', () => {
  const pod = render(demoVmi(), { developerConfiguration: { useEmulation: true } });

  it('has one container, nothing before it and nothing beside it', () => {
    expect(pod.spec?.initContainers).toBeUndefined();
    expect(pod.spec?.containers.map(({ name }) => name)).toEqual(['compute']);
  });
  it('starts the launcher with the flags that are true for it', () => {
    expect([...(compute(pod).command ?? []), ...(compute(pod).args ?? [])].join(' ')).toBe(
      '/usr/bin/tini -s -- /usr/bin/virt-launcher --name demo --uid uid-1 --namespace default --qemu-timeout 250s' +
        ' --grace-period-seconds 45 --ovmf-path /usr/share/OVMF --run-as-nonroot --image-volume --allow-emulation',
    );
  });
  it('gives it the directories that launcher and node agent share', () => {
    expect(mountsOf(pod)).toEqual([
      'private /var/run/kubevirt-private',
      'public /var/run/kubevirt',
      'ephemeral-disks /var/run/kubevirt-ephemeral-disks',
      'libvirt-runtime /var/run/libvirt',
      'sockets /var/run/kubevirt/sockets',
      'hotplug-disks /var/run/kubevirt/hotplug-disks',
      'root /var/run/kubevirt-image-volume/disk_0',
    ]);
  });
  it('runs without privileges and without a token', () => {
    expect(pod.spec?.securityContext).toEqual({
      fsGroup: 107,
      runAsUser: 107,
      runAsGroup: 107,
      runAsNonRoot: true,
      seccompProfile: { type: 'RuntimeDefault' },
    });
    expect(compute(pod).securityContext?.capabilities).toEqual({ drop: ['ALL'], add: ['NET_BIND_SERVICE'] });
    expect(pod.spec?.automountServiceAccountToken).toBe(false);
  });
  it('belongs to its VMI and is told apart by labels', () => {
    expect(pod.metadata.ownerReferences).toEqual([
      {
        apiVersion: 'kubevirt.io/v1',
        kind: 'VirtualMachineInstance',
        name: 'demo',
        uid: 'uid-1',
        controller: true,
        blockOwnerDeletion: true,
      },
    ]);
    expect(pod.metadata.labels).toEqual({
      'kubevirt.io': 'virt-launcher',
      'kubevirt.io/created-by': 'uid-1',
      'vm.kubevirt.io/name': 'demo',
      'vmi.kubevirt.io/id': 'demo',
    });
  });
  it('asks for little, and for no hypervisor under emulation', () => {
    expect(compute(pod).resources).toEqual({
      requests: { 'ephemeral-storage': '50M', memory: '416Mi', cpu: '100m' },
      limits: { 'devices.kubevirt.io/tun': '1' },
    });
  });
  it.each([
    ['KVM', {}, []],
    [
      'another hypervisor',
      { hypervisors: [{ name: 'hyperv-direct' }], developerConfiguration: { featureGates: ['ConfigurableHypervisor'] } },
      ['--hypervisor', 'hyperv-direct'],
    ],
  ])('tells the launcher of %s', (_, configuration, expected) => {
    const args = compute(render(demoVmi(), configuration)).args ?? [];
    const at = args.indexOf('--hypervisor');
    expect(at < 0 ? [] : args.slice(at, at + 2)).toEqual(expected);
  });
  it('has no probes, so that it is ready as soon as it runs and is not paused', () => {
    expect([compute(pod).readinessProbe, compute(pod).livenessProbe]).toEqual([undefined, undefined]);
    expect(pod.spec?.readinessGates).toEqual([{ conditionType: 'kubevirt.io/virtual-machine-unpaused' }]);
  });
});

describe('metadata', () => {
  it('cuts and hashes a long name into a label value', () => {
    const name = 'a'.repeat(64);
    const vmi = demoVmi();
    const id = render({ ...vmi, metadata: { ...vmi.metadata, name } }).metadata.labels?.['vmi.kubevirt.io/id'];
    expect(id).toMatch(/^a{54}-[0-9a-f]{8}$/);
  });
  it('copies annotations but the bookkeeping of others', () => {
    const vmi = annotated({
      a: 'b',
      'kubectl.kubernetes.io/last-applied-configuration': '{}',
      'kubevirt.io/latest-observed-api-version': 'v1',
    });
    const { annotations = {} } = render(vmi).metadata;
    expect(Object.keys(annotations).sort()).toEqual([
      'a',
      'descheduler.alpha.kubernetes.io/request-evict-only',
      'istio.io/reroute-virtual-interfaces',
      'kubectl.kubernetes.io/default-container',
      'kubevirt.io/domain',
      'kubevirt.io/memory-overhead-bytes',
      'kubevirt.io/migrationTransportUnix',
      'post.hook.backup.velero.io/command',
      'post.hook.backup.velero.io/container',
      'pre.hook.backup.velero.io/command',
      'pre.hook.backup.velero.io/container',
      'pre.hook.backup.velero.io/timeout',
      'traffic.sidecar.istio.io/kubevirtInterfaces',
    ]);
  });
  it('leaves backup hooks out where they are not wanted', () => {
    const { annotations = {} } = renderLauncherPod(demoVmi(), context({ skipBackupHooks: true })).metadata;
    expect(Object.keys(annotations).filter((key) => key.includes('velero'))).toEqual([]);
  });
  it('gives a mesh what its sidecar needs', () => {
    const pod = render(annotated({ 'sidecar.istio.io/inject': 'true' }));
    expect([pod.metadata.labels?.['sidecar.istio.io/inject'], pod.spec?.automountServiceAccountToken]).toEqual(['true', true]);
  });
});

describe('networks', () => {
  const sec = { name: 'sec', multus: { networkName: 'other/nad' } };
  const networks = [{ name: 'default', pod: {} }, sec];
  const multus = (pod: Pod): string | undefined => pod.metadata.annotations?.['k8s.v1.cni.cncf.io/networks'];

  it.each([
    ['a secondary network', { name: 'sec', bridge: {} }, '[{"name":"nad","namespace":"other","interface":"podadd93534eeb"}]'],
    [
      'its MAC',
      { name: 'sec', bridge: {}, macAddress: 'de:ad:00:00:be:01' },
      '[{"name":"nad","namespace":"other","mac":"de:ad:00:00:be:01","interface":"podadd93534eeb"}]',
    ],
    ['none that was unplugged', { name: 'sec', bridge: {}, state: 'absent' }, undefined],
  ])('names %s to multus', (_, iface, expected) => {
    expect(multus(render(demoVmi({ networks }, { devices: { interfaces: [{ name: 'default', masquerade: {} }, iface] } })))).toBe(expected);
  });
  it('adds the attachment and the sidecar of a binding plugin', () => {
    const config = { network: { binding: { p: { networkAttachmentDefinition: 'plug', sidecarImage: 'registry.example/plug:v1' } } } };
    const pod = render(demoVmi({}, { devices: { interfaces: [{ name: 'default', binding: { name: 'p' } }] } }), config);
    expect(multus(pod)).toBe('[{"name":"plug","namespace":"default","cni-args":{"logicNetworkName":"default"}}]');
    expect(pod.spec?.containers.map(({ name }) => name)).toEqual(['compute', 'hook-sidecar-0']);
  });
  it('refuses an unknown binding plugin', () => {
    const vmi = demoVmi({}, { devices: { interfaces: [{ name: 'default', binding: { name: 'p' } }] } });
    expect(() => render(vmi)).toThrow("couldn't find configuration for network binding: p");
  });
  it.each([
    ['nothing where a webhook injects it', {}, undefined],
    ['the attachment’s resource otherwise', { developerConfiguration: { disabledFeatureGates: ['ExternalNetResourceInjection'] } }, '1'],
  ])('asks for %s', (_, config, expected) => {
    const vmi = demoVmi({ networks }, { devices: { interfaces: [{ name: 'sec', sriov: {} }] } });
    const pod = renderLauncherPod(vmi, context({ networkResources: new Map([['other/nad', 'v.com/nic']]) }, config));
    expect(compute(pod).resources?.limits?.['v.com/nic']).toBe(expected);
  });
});

describe('volumes', () => {
  const pvcs = new Map([claim('fs', 'Filesystem'), claim('blk', 'Block')]);
  const withVolume = (volume: object, domain = {}): Pod =>
    renderLauncherPod(demoVmi({ volumes: [{ name: 'v', ...volume }] }, domain), context({ pvcs }));
  const shown = (pod: Pod): string[] => mountsOf(pod).slice(6);

  it.each([
    ['a filesystem claim', { persistentVolumeClaim: { claimName: 'fs' } }, ['v /var/run/kubevirt-private/vmi-disks/v']],
    ['a data volume', { dataVolume: { name: 'fs' } }, ['v /var/run/kubevirt-private/vmi-disks/v']],
    ['a block claim', { persistentVolumeClaim: { claimName: 'blk' } }, []],
    ['a hotplugged claim', { persistentVolumeClaim: { claimName: 'fs', hotpluggable: true } }, []],
    ['a host disk', { hostDisk: { path: '/data/disk.img', type: 'Disk' } }, ['v /var/run/kubevirt-private/vmi-disks/v']],
    ['a config map', { configMap: { name: 'c' } }, ['v /var/run/kubevirt-private/config-map/v']],
    ['a secret', { secret: { secretName: 's' } }, ['v /var/run/kubevirt-private/secret/v']],
    ['sysprep', { sysprep: { secret: { name: 's' } } }, ['v /var/run/kubevirt-private/sysprep/v']],
    ['an empty disk', { emptyDisk: { capacity: '1Gi' } }, []],
    [
      'cloud-init from a secret, under either spelling',
      { cloudInitNoCloud: { secretRef: { name: 's' } } },
      ['v-udata /var/run/kubevirt-private/secret/v/userdata', 'v-udata /var/run/kubevirt-private/secret/v/userData'],
    ],
  ])('%s', (_, volume, mounts) => expect(shown(withVolume(volume))).toEqual(mounts));

  it('hands a block claim over as a device', () => {
    expect(compute(withVolume({ persistentVolumeClaim: { claimName: 'blk' } })).volumeDevices).toEqual([
      { name: 'v', devicePath: '/dev/v' },
    ]);
  });
  it('shows a config map to virtiofs alone where it is a file system', () => {
    const pod = withVolume({ configMap: { name: 'c' } }, { devices: { filesystems: [{ name: 'v', virtiofs: {} }] } });
    expect(shown(pod)).toEqual(['virtiofs-containers /var/run/kubevirt/virtiofs-containers']);
    expect(pod.spec?.containers[1]?.args?.slice(0, 2)).toEqual([
      '--socket-path=/var/run/kubevirt/virtiofs-containers/v.sock',
      '--shared-dir=/var/run/kubevirt-private/config-map/v',
    ]);
  });
  it('mounts a secret that two credentials share once', () => {
    const sshPublicKey = { source: { secret: { secretName: 'k' } }, propagationMethod: { noCloud: {} } };
    const pod = render(demoVmi({ accessCredentials: [{ sshPublicKey }, { sshPublicKey }] }));
    expect(pod.spec?.volumes?.filter(({ name }) => name === 'k-access-cred')).toHaveLength(1);
  });
  it.each([
    ['a missing claim', { persistentVolumeClaim: { claimName: 'gone' } }, 'NotFound', 'PVC gone does not exist'],
    ['an empty sysprep', { sysprep: {} }, 'Invalid', 'Sysprep must have Secret or ConfigMap'],
  ])('does not render %s', (_, volume, code, message) => {
    expect(() => withVolume(volume)).toThrow(expect.objectContaining({ code, message: expect.stringContaining(message) }));
  });
  it('waits for the claim that keeps a persistent TPM', () => {
    const vmi = demoVmi({}, { devices: { tpm: { persistent: true } } });
    expect(() => render(vmi)).toThrow(expect.objectContaining({ code: 'NotReady', reason: 'BackendStorageNotReady' }));
    expect(mountsOf(renderLauncherPod(vmi, context({ backendStorageClaim: 'state' })))).toContain(
      'vm-state /var/run/kubevirt-private/libvirt/qemu/swtpm',
    );
  });
});

describe('container disks without image volumes', () => {
  const pod = renderLauncherPod(demoVmi(), context({ imageVolumes: false }));
  it('are held open by a container that the node agent recognises', () => {
    const holder = pod.spec?.containers[1];
    expect([holder?.name, holder?.image, holder?.command, holder?.env]).toEqual([
      'volumeroot',
      'registry.example/disk:v1',
      ['/container-disk-binary/container-disk'],
      [{ name: 'CONTAINER_DISK_ID', value: 'disk_0' }],
    ]);
    expect(pod.spec?.initContainers?.map(({ name, command }) => [name, command])).toEqual([
      ['container-disk-binary', ['/bin/cp', '/usr/bin/container-disk', '/container-disk-binary']],
    ]);
  });
  it('reach the running launcher by mount propagation', () => {
    expect(compute(pod).volumeMounts?.find(({ name }) => name === 'container-disks')).toEqual({
      name: 'container-disks',
      mountPath: '/var/run/kubevirt/container-disks',
      mountPropagation: 'HostToContainer',
    });
    expect(compute(pod).args).not.toContain('--image-volume');
  });
});

describe('probes', () => {
  const probe = { periodSeconds: 10, timeoutSeconds: 5 };
  const rendered = (readinessProbe: object) => compute(render(demoVmi({ readinessProbe }))).readinessProbe;
  it.each([
    [
      'on a port',
      { ...probe, tcpSocket: { port: 22 }, initialDelaySeconds: 5 },
      { ...probe, tcpSocket: { port: 22 }, initialDelaySeconds: 15 },
    ],
    [
      'by the guest agent',
      { ...probe, guestAgentPing: {} },
      {
        periodSeconds: 10,
        timeoutSeconds: 6,
        initialDelaySeconds: 10,
        exec: { command: ['virt-probe', '--domainName', 'default_demo', '--timeoutSeconds', '5', '--guestAgentPing'] },
      },
    ],
    [
      'by a command in the guest',
      { ...probe, exec: { command: ['cat', '/x'] } },
      {
        periodSeconds: 10,
        timeoutSeconds: 6,
        initialDelaySeconds: 10,
        exec: { command: ['virt-probe', '--domainName', 'default_demo', '--timeoutSeconds', '5', '--command', 'cat', '--', '/x'] },
      },
    ],
    [
      'by virt-probe, if the user says so',
      { ...probe, exec: { command: ['virt-probe', '--mine'] } },
      { ...probe, initialDelaySeconds: 10, exec: { command: ['virt-probe', '--mine'] } },
    ],
  ])('%s', (_, given, expected) => expect(rendered(given)).toEqual(expected));
});

describe('how much the launcher says', () => {
  const labelled = (labels: Record<string, string>): VirtualMachineInstance => ({
    ...demoVmi(),
    metadata: { ...demoVmi().metadata, labels },
  });
  const said = (labels: Record<string, string>) =>
    (compute(render(labelled(labels))).env ?? [])
      .filter(({ name }) => /VERBOSITY|DEBUG/.test(name))
      .map(({ name, value }) => `${name}=${value}`);
  it.each<[Record<string, string>, string[]]>([
    [{}, []],
    [{ logVerbosity: '3' }, ['VIRT_LAUNCHER_LOG_VERBOSITY=3']],
    [{ logVerbosity: '6' }, ['VIRT_LAUNCHER_LOG_VERBOSITY=6', 'LIBVIRT_DEBUG_LOGS=1', 'VIRTIOFSD_DEBUG_LOGS=1']],
    [{ debugLogs: 'True' }, ['LIBVIRT_DEBUG_LOGS=1']],
  ])('%j', (labels, expected) => expect(said(labels)).toEqual(expected));
  it('refuses a verbosity that is no number', () => {
    expect(() => said({ logVerbosity: 'high' })).toThrow('label logVerbosity "high" of demo is no whole number');
  });
});

it.each([
  ['a GPU of a claim', {}, undefined],
  ['a GPU of a claim where there are no claims', { disabledFeatureGates: ['GPUsWithDRA'] }, 'GPU  is not permitted'],
])('takes %s: %s', (_, developerConfiguration, fault) => {
  const vmi = demoVmi({}, { devices: { gpus: [{ name: 'g', claimName: 'c', requestName: 'r' }] } });
  const rendered = () => render(vmi, { developerConfiguration, permittedHostDevices: {} });
  if (fault) expect(rendered).toThrow(fault);
  else expect(compute(rendered()).resources?.claims).toEqual([{ name: 'c', request: 'r' }]);
});

it('runs as root only where the VMI says so', () => {
  const pod = render({ ...demoVmi(), status: { runtimeUser: 0 } });
  expect([pod.spec?.securityContext?.runAsUser, compute(pod).securityContext?.capabilities?.add]).toEqual([
    0,
    ['NET_BIND_SERVICE', 'SYS_NICE'],
  ]);
});

it('limits CPUs and memory where the namespace’s quota asks for it', () => {
  const ctx = context({
    quotaResources: new Set(['limits.cpu', 'limits.memory']),
    namespaceLabels: { 'alpha.kubevirt.io/auto-memory-limits-ratio': '1.5' },
  });
  expect(compute(renderLauncherPod(demoVmi(), ctx)).resources?.limits).toMatchObject({ cpu: '1', memory: '624Mi' });
});

it('binds claims by a pod that ends at once', () => {
  const pod = renderTemporaryPod(demoVmi(), context());
  expect([pod.metadata.annotations?.['kubevirt.io/ephemeral-provisioning'], compute(pod).command]).toEqual(['true', ['/bin/sh']]);
});
