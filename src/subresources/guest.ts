// What is asked of a guest through its node agent: commands (pause, freeze, backup, …), questions to the agent within, a picture of its
// screen, its attestation. Checks the VMI, then hands the request on.
import type { VirtualMachineInstance } from '../api/index.js';
import type { Logger } from '../base/logger.js';
import type { ClusterConfig } from '../core/config/cluster-config.js';
import { empty, type Handler, type HttpRequest, type HttpResponse, json, text } from '../http/index.js';
import { VIRTUAL_MACHINE_INSTANCES, VIRTUAL_MACHINES } from '../runtime/resources.js';
import {
  agentRefusal,
  backupRefusal,
  checkpointRefusal,
  freezeRefusal,
  pauseRefusal,
  resetFailure,
  softRebootRefusal,
  unfreezeRefusal,
  unpauseRefusal,
  vncRefusal,
} from './decide-vmi.js';
import { answering, keyOf, nameOf } from './handling.js';
import { DRY_RUN_FIELDS, type DryRunOptions, FREEZE_FIELDS, isDryRun, type OptionFields, parseObject, parseOptions } from './options.js';
import { certChainRefusal, injectSecret, measuredRefusal, type SevDeps, setupSession, sevGateRefusal } from './sev.js';
import { notFound, type StatusError, statusAnswer } from './status.js';

export interface GuestDeps extends SevDeps {
  readonly log: Logger;
}

interface Command {
  readonly verb: string;
  /** 'any': the body is the agent's to understand. */
  readonly fields: OptionFields | 'any';
  readonly refuse: (vmi: VirtualMachineInstance, request: HttpRequest) => Promise<StatusError | undefined> | StatusError | undefined;
  /** Adds to what the node agent said. */
  readonly failure?: (vmi: VirtualMachineInstance, failure: StatusError) => StatusError;
}

function command({ client, agents }: GuestDeps, { verb, fields, refuse, failure = (_, f) => f }: Command): Handler {
  return async (request): Promise<HttpResponse> => {
    const options = fields === 'any' ? parseObject(request.body) : parseOptions<DryRunOptions>(request.body, fields);
    if (!options.ok) return statusAnswer(options.error);
    const vmi = await client.find(VIRTUAL_MACHINE_INSTANCES, keyOf(request));
    if (!vmi) return statusAnswer(notFound('virtualmachineinstance', nameOf(request)));
    const refusal = await refuse(vmi, request);
    if (refusal) return statusAnswer(refusal);
    if (fields !== 'any' && isDryRun(options.value ?? {})) return empty(200);
    const failed = await agents.put(vmi, verb, Buffer.from(JSON.stringify(options.value ?? {})));
    return failed ? statusAnswer(failure(vmi, failed)) : empty(200);
  };
}

/**
 * Refusals are 500 in plain text, not the Status that they would be elsewhere: clients read these answers as raw bytes, and show a
 * person the server's words only so. What nobody serves keeps its code.
 */
const inPlainText = ({ code, message }: StatusError): HttpResponse => text(code === 501 ? 501 : 500, message);

interface Question {
  readonly verb: string;
  readonly refuse: (vmi: VirtualMachineInstance) => StatusError | undefined;
  /** The answer's kind, which the agent does not say. */
  readonly kind?: string;
  /** What is wrong with the cluster whatever the VMI. */
  readonly gate?: (config: ClusterConfig) => StatusError | undefined;
}

function question({ client, agents, config }: GuestDeps, { verb, refuse, kind, gate }: Question): Handler {
  return async (request): Promise<HttpResponse> => {
    const off = gate?.(config());
    if (off) return statusAnswer(off);
    const vmi = await client.find(VIRTUAL_MACHINE_INSTANCES, keyOf(request));
    if (!vmi) return statusAnswer(notFound('virtualmachineinstance', nameOf(request)));
    const refusal = refuse(vmi);
    if (refusal) return inPlainText(refusal);
    const answer = await agents.get(vmi, verb);
    if (!answer.ok) return inPlainText(answer.error);
    return kind === undefined
      ? { status: 200, headers: { 'content-type': answer.value.type }, body: answer.value.body }
      : json(200, { kind, apiVersion: 'kubevirt.io/v1', ...(JSON.parse(answer.value.body.toString()) as object) });
  };
}

const QUESTIONS: readonly Question[] = [
  { verb: 'guestosinfo', refuse: agentRefusal, kind: 'VirtualMachineInstanceGuestAgentInfo' },
  { verb: 'userlist', refuse: agentRefusal, kind: 'VirtualMachineInstanceGuestOSUserList' },
  { verb: 'filesystemlist', refuse: agentRefusal, kind: 'VirtualMachineInstanceFileSystemList' },
  { verb: 'vnc/screenshot', refuse: vncRefusal },
  { verb: 'sev/fetchcertchain', refuse: certChainRefusal, gate: sevGateRefusal },
  { verb: 'sev/querylaunchmeasurement', refuse: measuredRefusal, gate: sevGateRefusal },
];

export function guestHandlers(deps: GuestDeps): Readonly<Record<string, Handler>> {
  const unpausable: Command['refuse'] = async (vmi, request) =>
    unpauseRefusal(vmi, await deps.client.find(VIRTUAL_MACHINES, keyOf(request)));
  const commands: readonly Command[] = [
    { verb: 'pause', fields: DRY_RUN_FIELDS, refuse: pauseRefusal },
    { verb: 'unpause', fields: DRY_RUN_FIELDS, refuse: unpausable },
    { verb: 'freeze', fields: FREEZE_FIELDS, refuse: freezeRefusal },
    { verb: 'unfreeze', fields: {}, refuse: unfreezeRefusal },
    { verb: 'reset', fields: {}, refuse: () => undefined, failure: resetFailure },
    { verb: 'softreboot', fields: {}, refuse: softRebootRefusal },
    { verb: 'backup', fields: 'any', refuse: backupRefusal },
    { verb: 'redefine-checkpoint', fields: 'any', refuse: checkpointRefusal },
  ];
  const handlers: readonly (readonly [string, Handler])[] = [
    ...commands.map((row) => [row.verb, command(deps, row)] as const),
    ...QUESTIONS.map((row) => [row.verb, question(deps, row)] as const),
    ['sev/setupsession', setupSession(deps)],
    ['sev/injectlaunchsecret', injectSecret(deps)],
  ];
  return Object.fromEntries(handlers.map(([verb, handler]) => [verb, answering(handler, deps.log)]));
}
