// The handler of launcher pods as they are created: adds the daemons that share paths of the compute container with the guest. It never
// refuses: a pod without them tells its VMI what is missing, a pod that is not created tells nobody.
import { LABEL, LAUNCHER_POD, type Pod } from '../../api/index.js';
import { messageOf } from '../../base/errors.js';
import { containerPathDaemons, owningVmi } from '../mutate/launcher-pod.js';
import type { AdmissionRequest, AdmissionResponse } from '../review.js';
import type { Admitter, Context } from './context.js';

const PASS: AdmissionResponse = { allowed: true };

function launcherOf({ resource, object }: AdmissionRequest): Pod | undefined {
  const pod = object as Pod | undefined;
  return resource.resource === 'pods' && pod?.metadata?.labels?.[LABEL.app] === LAUNCHER_POD ? pod : undefined;
}

async function added(pod: Pod, request: AdmissionRequest, { facts, config, log }: Context): Promise<AdmissionResponse> {
  const name = owningVmi(pod);
  const namespace = pod.metadata.namespace ?? request.namespace ?? '';
  const vmi = name ? await facts.vmi(namespace, name) : undefined;
  if (!vmi) return PASS;
  const { containers, left } = containerPathDaemons(vmi, pod, config());
  for (const reason of left) log.warn({ kind: 'VirtualMachineInstance', namespace, name, reason }, 'A containerPath volume is not shared');
  if (containers.length === 0) return PASS;
  const operations = containers.map((value) => ({ op: 'add', path: '/spec/containers/-', value }));
  return { ...PASS, patchType: 'JSONPatch', patch: Buffer.from(JSON.stringify(operations)).toString('base64') };
}

const mutatePod: Admitter = async (request, context) => {
  const pod = launcherOf(request);
  if (!pod) return PASS;
  try {
    return await added(pod, request, context);
  } catch (err) {
    context.log.warn(
      { namespace: request.namespace, name: pod.metadata.name, err: messageOf(err) },
      'Letting a launcher pod pass unchanged',
    );
    return PASS;
  }
};

export const PODS_CREATED: Readonly<Record<string, Admitter>> = { '/virt-launcher-pod-mutate': mutatePod };
