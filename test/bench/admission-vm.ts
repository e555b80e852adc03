// A VM of fifty devices, and the review that asks about it: what an admission has to walk through at its worst in practice. Pure.
const DISKS = 24;
const INTERFACES = 20;

const times = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));

function guest(): object {
  return {
    architecture: 'amd64',
    domain: {
      cpu: { cores: 4, sockets: 2, threads: 1, model: 'host-model' },
      memory: { guest: '8Gi' },
      machine: { type: 'q35' },
      firmware: { bootloader: { efi: { secureBoot: false } } },
      features: { hyperv: { relaxed: {}, vapic: {}, vpindex: {}, synic: {}, synictimer: {}, ipi: {} }, acpi: {} },
      devices: {
        disks: times(DISKS, (i) => ({ name: `disk-${i}`, disk: { bus: i % 2 ? 'scsi' : 'virtio' }, serial: `S-${i}`, bootOrder: i + 1 })),
        interfaces: times(INTERFACES, (i) => ({ name: `net-${i}`, ...(i === 0 ? { masquerade: {} } : { bridge: {} }), model: 'virtio' })),
        inputs: [{ name: 'tablet', type: 'tablet', bus: 'usb' }],
        gpus: times(2, (i) => ({ name: `gpu-${i}`, deviceName: 'nvidia.com/A100' })),
        watchdog: { name: 'dog', i6300esb: { action: 'reset' } },
        rng: {},
        tpm: {},
      },
    },
    networks: times(INTERFACES, (i) => ({ name: `net-${i}`, ...(i === 0 ? { pod: {} } : { multus: { networkName: `net-${i}` } }) })),
    volumes: times(DISKS, (i) => ({ name: `disk-${i}`, persistentVolumeClaim: { claimName: `claim-${i}` } })),
    accessCredentials: [
      { sshPublicKey: { source: { secret: { secretName: 'keys' } }, propagationMethod: { qemuGuestAgent: { users: ['me'] } } } },
    ],
    tolerations: [{ key: 'dedicated', operator: 'Exists' }],
  };
}

const metadata = { name: 'large', namespace: 'shop', labels: { app: 'large' }, annotations: { note: 'x'.repeat(200) } };

export const DEVICES = DISKS + INTERFACES + 6;

export function reviewOf(kind: 'VirtualMachine' | 'VirtualMachineInstance'): string {
  const spec =
    kind === 'VirtualMachine' ? { runStrategy: 'Always', template: { metadata: { labels: { app: 'large' } }, spec: guest() } } : guest();
  return JSON.stringify({
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: {
      uid: '11111111-2222-3333-4444-555555555555',
      resource: { group: 'kubevirt.io', version: 'v1', resource: `${kind.toLowerCase()}s` },
      operation: 'CREATE',
      namespace: 'shop',
      name: 'large',
      userInfo: { username: 'kubernetes-admin' },
      object: { apiVersion: 'kubevirt.io/v1', kind, metadata, spec },
    },
  });
}
