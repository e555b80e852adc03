// What is asked of a running guest: commands (pause, reset, freeze, …) and questions to its agent. Checks the VMI, then hands the request
// on to its node agent. Changes no object itself.
import type { VirtualMachineInstance } from '../api/index.js';
import type { Logger } from '../base/logger.js';
import { empty, type Handler, type HttpRequest, type HttpResponse, text } from '../http/index.js';
import { VIRTUAL_MACHINE_INSTANCES, VIRTUAL_MACHINES } from '../runtime/resources.js';
import type { KubeClient } from '../runtime/types.js';
import {
  agentRefusal,
  freezeRefusal,
  pauseRefusal,
  resetFailure,
  softRebootRefusal,
  unfreezeRefusal,
  unpauseRefusal,
} from './decide-vmi.js';
import { answering, keyOf, nameOf } from './handling.js';
import type { NodeAgents } from './node-agent.js';
import { DRY_RUN_FIELDS, FREEZE_FIELDS, isDryRun, type OptionFields, parseOptions } from './options.js';
import { notFound, type StatusError, statusAnswer } from './status.js';

export interface GuestDeps {
  readonly client: KubeClient;
  readonly agents: NodeAgents;
  readonly log: Logger;
}

interface Command {
  readonly verb: string;
  readonly fields: OptionFields;
  readonly refuse: (vmi: VirtualMachineInstance, request: HttpRequest) => Promise<StatusError | undefined> | StatusError | undefined;
  /** Adds to what the node agent said. */
  readonly failure?: (vmi: VirtualMachineInstance, failure: StatusError) => StatusError;
}

function command({ client, agents }: GuestDeps, { verb, fields, refuse, failure = (_, f) => f }: Command): Handler {
  return async (request): Promise<HttpResponse> => {
    const options = parseOptions(request.body, fields);
    if (!options.ok) return statusAnswer(options.error);
    const vmi = await client.find(VIRTUAL_MACHINE_INSTANCES, keyOf(request));
    if (!vmi) return statusAnswer(notFound('virtualmachineinstance', nameOf(request)));
    const refusal = await refuse(vmi, request);
    if (refusal) return statusAnswer(refusal);
    if (isDryRun(options.value)) return empty(200);
    const failed = await agents.put(vmi, verb, Buffer.from(JSON.stringify(options.value)));
    return failed ? statusAnswer(failure(vmi, failed)) : empty(200);
  };
}

/**
 * Refusals are 500 in plain text, not the Status that they would be elsewhere: clients read these answers as raw bytes, and show a
 * person the server's words only so.
 */
const inPlainText = ({ message }: StatusError): HttpResponse => text(500, message);

function question({ client, agents }: GuestDeps, verb: string): Handler {
  return async (request): Promise<HttpResponse> => {
    const vmi = await client.find(VIRTUAL_MACHINE_INSTANCES, keyOf(request));
    if (!vmi) return statusAnswer(notFound('virtualmachineinstance', nameOf(request)));
    const refusal = agentRefusal(vmi);
    if (refusal) return inPlainText(refusal);
    const answer = await agents.get(vmi, verb);
    if (!answer.ok) return inPlainText(answer.error);
    return { status: 200, headers: { 'content-type': 'application/json' }, body: answer.value };
  };
}

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
  ];
  const questions = ['guestosinfo', 'userlist', 'filesystemlist'];
  return Object.fromEntries([
    ...commands.map((row) => [row.verb, answering(command(deps, row), deps.log)] as const),
    ...questions.map((verb) => [verb, answering(question(deps, verb), deps.log)] as const),
  ]);
}
