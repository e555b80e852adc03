// Attestation of confidential guests: gate, state of the VMI and body are checked here; certificates, measurement and secrets are the
// node's business. setupsession changes the VMI, the rest is handed on to its node agent.
import type { VirtualMachineInstance } from '../api/index.js';
import type { ClusterConfig } from '../core/config/cluster-config.js';
import { empty, type Handler } from '../http/index.js';
import { VIRTUAL_MACHINE_INSTANCES } from '../runtime/resources.js';
import type { JsonPatchOperation, KubeClient } from '../runtime/types.js';
import { keyOf, nameOf } from './handling.js';
import type { NodeAgents } from './node-agent.js';
import { parseOptions, SEV_SECRET_FIELDS, SEV_SESSION_FIELDS } from './options.js';
import { badRequest, conflict, notFound, type StatusError, statusAnswer, writeFailure } from './status.js';

export interface SevDeps {
  readonly client: KubeClient;
  readonly agents: NodeAgents;
  readonly config: () => ClusterConfig;
}

export interface SevSessionOptions {
  readonly session?: string;
  readonly dhCert?: string;
}

const GATE = 'WorkloadEncryptionSEV';
const SEV_PATH = '/spec/domain/launchSecurity/sev';
const phaseOf = (vmi: VirtualMachineInstance): string => vmi.status?.phase ?? '';
const refuse = (vmi: VirtualMachineInstance, why: string): StatusError => conflict('virtualmachineinstance', vmi.metadata.name ?? '', why);

export const sevGateRefusal = (config: Pick<ClusterConfig, 'isEnabled'>): StatusError | undefined =>
  config.isEnabled(GATE) ? undefined : badRequest(`'${GATE}' feature gate is not enabled`);

function attestationRefusal(vmi: VirtualMachineInstance): StatusError | undefined {
  return vmi.spec.domain.launchSecurity?.sev?.attestation ? undefined : refuse(vmi, 'Attestation not requested for VMI');
}

export function certChainRefusal(vmi: VirtualMachineInstance): StatusError | undefined {
  const hasNode = ['Scheduled', 'Running'].includes(phaseOf(vmi));
  return hasNode ? attestationRefusal(vmi) : refuse(vmi, 'VMI is not assigned to a node yet');
}

/** Measurement and secret: the guest waits, paused, for both. */
export function measuredRefusal(vmi: VirtualMachineInstance): StatusError | undefined {
  if (phaseOf(vmi) !== 'Running') return refuse(vmi, 'VMI is not running');
  const isPaused = vmi.status?.conditions?.some((c) => c.type === 'Paused') ?? false;
  return attestationRefusal(vmi) ?? (isPaused ? undefined : refuse(vmi, 'VMI is not paused'));
}

export function sessionOptionsFault({ session, dhCert }: SevSessionOptions): StatusError | undefined {
  if (!session) return badRequest('Session blob is required');
  return dhCert ? undefined : badRequest('DH cert is required');
}

export function sessionRefusal(vmi: VirtualMachineInstance): StatusError | undefined {
  if (phaseOf(vmi) !== 'Scheduled') return refuse(vmi, 'VMI is not in Scheduled phase');
  const { session, dhCert } = vmi.spec.domain.launchSecurity?.sev ?? {};
  return attestationRefusal(vmi) ?? (session || dhCert ? refuse(vmi, 'Session already defined') : undefined);
}

export function sessionPatch(vmi: VirtualMachineInstance, { session, dhCert }: SevSessionOptions): readonly JsonPatchOperation[] {
  const sev = vmi.spec.domain.launchSecurity?.sev;
  return [
    { op: 'test', path: SEV_PATH, value: sev },
    { op: 'replace', path: SEV_PATH, value: { ...sev, session, dhCert } },
  ];
}

export const setupSession =
  ({ client, config }: SevDeps): Handler =>
  async (request) => {
    const off = sevGateRefusal(config());
    if (off) return statusAnswer(off);
    if (request.body.length === 0) return statusAnswer(badRequest('Request with no body: SEV session parameters are required'));
    const options = parseOptions<SevSessionOptions>(request.body, SEV_SESSION_FIELDS);
    if (!options.ok) return statusAnswer(options.error);
    const fault = sessionOptionsFault(options.value);
    if (fault) return statusAnswer(fault);
    const vmi = await client.find(VIRTUAL_MACHINE_INSTANCES, keyOf(request));
    if (!vmi) return statusAnswer(notFound('virtualmachineinstance', nameOf(request)));
    const refusal = sessionRefusal(vmi);
    if (refusal) return statusAnswer(refusal);
    try {
      await client.jsonPatch(VIRTUAL_MACHINE_INSTANCES, keyOf(request), sessionPatch(vmi, options.value));
      return empty(202);
    } catch (err) {
      return statusAnswer(writeFailure(err, 'virtualmachineinstance', nameOf(request)));
    }
  };

export const injectSecret =
  ({ client, agents, config }: SevDeps): Handler =>
  async (request) => {
    const off = sevGateRefusal(config());
    if (off) return statusAnswer(off);
    if (request.body.length === 0) return statusAnswer(badRequest('Request with no body: SEV secret parameters are required'));
    const options = parseOptions<object>(request.body, SEV_SECRET_FIELDS);
    if (!options.ok) return statusAnswer(options.error);
    const vmi = await client.find(VIRTUAL_MACHINE_INSTANCES, keyOf(request));
    if (!vmi) return statusAnswer(notFound('virtualmachineinstance', nameOf(request)));
    const refusal = measuredRefusal(vmi);
    if (refusal) return statusAnswer(refusal);
    const failed = await agents.put(vmi, 'sev/injectlaunchsecret', Buffer.from(JSON.stringify(options.value)));
    return failed ? statusAnswer(failed) : empty(200);
  };
