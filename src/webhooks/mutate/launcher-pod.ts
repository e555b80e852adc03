// The virtiofs daemons that a launcher pod still needs for paths of its own compute container (containerPath volumes): what other webhooks
// mounted there is known only when the pod is created. Pure; whatever does not fit is left out with a reason, as the pod must not be held.
import type { Container, Pod, VirtualMachineInstance, Volume } from '../../api/index.js';
import type { ClusterConfig } from '../../core/config/cluster-config.js';
import { supportResources } from '../../core/resources/support-resources.js';
import { VIRTIOFS_DIR, virtiofsSocket } from '../../core/storage/paths.js';

type PodVolume = NonNullable<NonNullable<Pod['spec']>['volumes']>[number];
type Mount = NonNullable<Container['volumeMounts']>[number];

export interface AddedDaemons {
  readonly containers: readonly Container[];
  /** Why a volume gets none, for the log. */
  readonly left: readonly string[];
}

const COMPUTE = 'compute';
const SOCKETS = 'virtiofs-containers';
const QEMU_USER = 107;
/** The kubelet fills them, so that no link in them leads out of the volume. */
const SOURCES = ['configMap', 'secret', 'projected', 'downwardAPI', 'emptyDir'] as const;

interface Place {
  readonly mount: Mount;
  /** Path below the mount; empty for the mount itself. */
  readonly below: string;
}

/** The most specific mount that holds the path. */
function placeOf(path: string, mounts: readonly Mount[]): Place | undefined {
  const exact = mounts.find(({ mountPath }) => mountPath === path);
  if (exact) return { mount: exact, below: '' };
  const [best] = mounts.filter(({ mountPath }) => path.startsWith(`${mountPath}/`)).sort((a, b) => b.mountPath.length - a.mountPath.length);
  return best ? { mount: best, below: path.slice(best.mountPath.length + 1) } : undefined;
}

/** The kubelet gives tokens to the pod's user; a guest's root could not follow their links. */
const holdsToken = ({ projected }: PodVolume): boolean => (projected?.sources ?? []).some(({ serviceAccountToken }) => serviceAccountToken);

function daemon(volume: Volume, source: PodVolume, { mount, below }: Place, around: Around): Container {
  const shared = `/virtiofs-data/${volume.name}`;
  const { image } = around.compute;
  return {
    name: `virtiofs-${volume.name}`,
    ...(image ? { image } : {}),
    imagePullPolicy: 'IfNotPresent',
    command: ['/usr/libexec/virtiofsd'],
    args: [
      `--socket-path=${virtiofsSocket(volume.name)}`,
      `--shared-dir=${shared}`,
      '--sandbox=none',
      '--cache=auto',
      '--migration-on-error=guest-error',
      '--migration-mode=find-paths',
      ...(holdsToken(source) ? [`--translate-uid=host:${QEMU_USER}:0:1`] : []),
    ],
    volumeMounts: [
      { name: SOCKETS, mountPath: VIRTIOFS_DIR },
      { name: mount.name, mountPath: shared, readOnly: true, ...(below ? { subPath: below } : {}) },
    ],
    resources: supportResources('virtiofs', around.config, around.vmi.spec.domain) as NonNullable<Container['resources']>,
    securityContext: {
      runAsUser: QEMU_USER,
      runAsGroup: QEMU_USER,
      runAsNonRoot: true,
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
    },
  };
}

interface Around {
  readonly vmi: VirtualMachineInstance;
  readonly pod: Pod;
  readonly compute: Container;
  readonly config: ClusterConfig;
}

function daemonFor(volume: Volume, around: Around): Container | string {
  const who = `volume ${volume.name}`;
  const { path = '', readOnly } = volume.containerPath ?? {};
  if (readOnly !== true) return `${who} is not read-only: set containerPath.readOnly to true`;
  const place = placeOf(path, around.compute.volumeMounts ?? []);
  if (!place) return `${who}: nothing is mounted at ${path} in the compute container`;
  const source = around.pod.spec?.volumes?.find(({ name }) => name === place.mount.name);
  if (!source) return `${who}: the pod has no volume ${place.mount.name}`;
  if (!SOURCES.some((kind) => source[kind] !== undefined)) return `${who}: ${place.mount.name} is none of ${SOURCES.join(', ')}`;
  return daemon(volume, source, place, around);
}

/** Volumes that a file system of the guest shows and whose daemon the pod lacks. */
function wanting(vmi: VirtualMachineInstance, pod: Pod): Volume[] {
  const shown = new Set((vmi.spec.domain.devices.filesystems ?? []).filter((f) => f.virtiofs !== undefined).map((f) => f.name));
  const present = new Set((pod.spec?.containers ?? []).map((c) => c.name));
  return (vmi.spec.volumes ?? []).filter((v) => v.containerPath && shown.has(v.name) && !present.has(`virtiofs-${v.name}`));
}

export function containerPathDaemons(vmi: VirtualMachineInstance, pod: Pod, config: ClusterConfig): AddedDaemons {
  const compute = pod.spec?.containers?.find(({ name }) => name === COMPUTE);
  const volumes = wanting(vmi, pod);
  if (!compute) return { containers: [], left: volumes.map(({ name }) => `volume ${name}: the pod has no container ${COMPUTE}`) };
  const found = volumes.map((volume) => daemonFor(volume, { vmi, pod, compute: compute as Container, config }));
  return {
    containers: found.filter((one) => typeof one !== 'string'),
    left: found.filter((one) => typeof one === 'string'),
  };
}

/** The VMI that owns the pod. */
export function owningVmi(pod: Pod): string | undefined {
  const owners = pod.metadata.ownerReferences ?? [];
  return owners.find((o) => o.kind === 'VirtualMachineInstance' && o.apiVersion === 'kubevirt.io/v1')?.name;
}
