// Why the demo is not there yet, read out of the objects that a user would look at. Pure.
export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
}

export interface Observed {
  readonly metadata: { readonly name: string };
  readonly status?: {
    readonly phase?: string;
    readonly printableStatus?: string;
    readonly ready?: boolean;
    readonly conditions?: readonly Condition[];
  };
}

/** Nothing once the KubeVirt object is Available. */
export function installReason(kubevirt: Observed): string | undefined {
  const conditions = kubevirt.status?.conditions ?? [];
  if (conditions.some((each) => each.type === 'Available' && each.status === 'True')) return undefined;
  const phase = kubevirt.status?.phase ?? 'the operator has not seen it yet';
  const why = conditions.find((each) => each.type === 'Available') ?? conditions.find((each) => each.status === 'True');
  return [phase, sentence(why)].filter(Boolean).join(': ');
}

/** Nothing once the machine runs. */
export function machineReason(vm: Observed): string | undefined {
  if (vm.status?.printableStatus === 'Running') return undefined;
  const state = vm.status?.printableStatus ?? 'virt-controller has not seen it yet';
  // Ready only repeats that it does not run; any other condition says why.
  const open = vm.status?.conditions?.filter((each) => each.status !== 'True' && each.message) ?? [];
  const why = open.find((each) => each.type !== 'Ready') ?? open[0];
  return [state, sentence(why)].filter(Boolean).join(': ');
}

interface PodItem {
  readonly metadata: { readonly name: string };
  readonly status?: { readonly [group in 'initContainerStatuses' | 'containerStatuses']?: readonly ContainerStatus[] };
}

interface ContainerStatus {
  readonly state?: { readonly waiting?: { readonly reason?: string; readonly message?: string } };
}

/** A pull that failed once may work the second time: these say that it was tried again, or never will be. */
const NO_IMAGE = ['ImagePullBackOff', 'ErrImageNeverPull', 'InvalidImageName'];

/** The first image that a node neither has nor can get, with what to do about it. It may be a volume's: the message tells which. */
export function pullReason(pods: readonly PodItem[]): string | undefined {
  for (const { metadata, status } of pods) {
    const missing = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].find(({ state }) =>
      NO_IMAGE.includes(state?.waiting?.reason ?? ''),
    );
    if (missing) {
      const { reason, message = 'no message' } = missing.state?.waiting ?? {};
      return (
        `pod ${metadata.name} does not get an image (${reason}: ${message}). Load the archives of \`npm run images\` into every ` +
        'node, or push the images to a registry and name it: see "An existing cluster" in docs/installation.md'
      );
    }
  }
  return undefined;
}

function sentence(condition: Condition | undefined): string {
  return condition?.message ?? condition?.reason ?? '';
}
