// A VM with its instance type and preference written out: of a stored VM (`expand-spec`) or of one in the request (`expand-vm-spec`).
// Reads what the VM refers to, writes nothing.
import type { VirtualMachine } from '../api/index.js';
import type { Logger } from '../base/logger.js';
import { fail, ok, type Result } from '../base/result.js';
import type { ClusterConfig } from '../core/config/cluster-config.js';
import { expandVm, findSpec } from '../core/instancetype/index.js';
import { type Handler, type HttpRequest, type HttpResponse, json } from '../http/index.js';
import { instancetypeSource } from '../runtime/instancetypes.js';
import { VIRTUAL_MACHINES } from '../runtime/resources.js';
import type { KubeClient } from '../runtime/types.js';
import { answering, keyOf, nameOf } from './handling.js';
import { parseObject } from './options.js';
import { badRequest, internalError, notFound, type StatusError, statusAnswer } from './status.js';

/** What admission checks before anything else looks at an object. */
export interface StructureCheck {
  problems(kind: string, object: unknown): readonly string[];
  /** With the scalars that its kind requires. */
  completed<T>(kind: string, object: T): T;
}

export interface ExpandDeps {
  readonly client: KubeClient;
  readonly config: () => ClusterConfig;
  readonly log: Logger;
}

const KIND = 'VirtualMachine';

async function expanded({ client, config }: ExpandDeps, vm: VirtualMachine): Promise<Result<VirtualMachine, string>> {
  const source = instancetypeSource(client);
  const instancetype = await findSpec(vm, 'instancetype', source);
  if (instancetype?.ok === false) return instancetype;
  const preference = await findSpec(vm, 'preference', source);
  if (preference?.ok === false) return preference;
  const result = expandVm(vm, { instancetype: instancetype?.value, preference: preference?.value }, config());
  return result.ok ? result : fail(result.error.message);
}

const shaped = (error: StatusError, problems: readonly string[]): StatusError => ({
  ...error,
  details: { causes: problems.map((message) => ({ message })) },
});

/** The VM of the request; it may leave out its namespace, but not name another one. */
function vmIn({ body, params }: HttpRequest, structure: StructureCheck): Result<VirtualMachine, StatusError> {
  const parsed = parseObject(body);
  if (!parsed.ok) return parsed;
  if (!parsed.value) return fail(badRequest('empty request body'));
  const problems = structure.problems(KIND, parsed.value);
  if (problems.length > 0) return fail(shaped(badRequest(`Object is not a valid ${KIND}: ${problems.join(', ')}`), problems));
  const vm = structure.completed(KIND, parsed.value as unknown as VirtualMachine);
  const { namespace = params.ns ?? '' } = vm.metadata ?? {};
  if (namespace !== params.ns) return fail(badRequest(`VM namespace must be empty or ${params.ns}`));
  return ok({ ...vm, metadata: { ...vm.metadata, namespace } });
}

async function answer(deps: ExpandDeps, vm: VirtualMachine, error: (message: string) => StatusError): Promise<HttpResponse> {
  const result = await expanded(deps, vm);
  return result.ok ? json(200, result.value) : statusAnswer(error(result.error));
}

export const expandSpecHandler = (deps: ExpandDeps): Handler =>
  answering(async (request) => {
    const vm = await deps.client.find(VIRTUAL_MACHINES, keyOf(request));
    return vm ? answer(deps, vm, internalError) : statusAnswer(notFound('virtualmachine', nameOf(request)));
  }, deps.log);

export const expandVmSpecHandler = (deps: ExpandDeps & { readonly structure: StructureCheck }): Handler =>
  answering(async (request) => {
    const vm = vmIn(request, deps.structure);
    return vm.ok ? answer(deps, vm.value, badRequest) : statusAnswer(vm.error);
  }, deps.log);
