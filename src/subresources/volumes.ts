// Handlers of addvolume and removevolume, of VMs and VMIs: gate and body first, then the object, then what decide-volumes.ts says.
import type { AddVolumeOptions, RemoveVolumeOptions } from '../api/index.js';
import type { Result } from '../base/result.js';
import type { ClusterConfig } from '../core/config/cluster-config.js';
import { empty, type Handler, type HttpRequest } from '../http/index.js';
import { VIRTUAL_MACHINE_INSTANCES, VIRTUAL_MACHINES } from '../runtime/resources.js';
import { type ApplyDeps, applySteps } from './apply-steps.js';
import type { Decision } from './decide-vm.js';
import { addRequest, decideVmiVolume, decideVmVolume, gateRefusal, removeRequest, type VolumeRequest } from './decide-volumes.js';
import { answering, keyOf, nameOf } from './handling.js';
import { ADD_VOLUME_FIELDS, isDryRun, type OptionFields, parseOptions, REMOVE_VOLUME_FIELDS } from './options.js';
import { badRequest, notFound, type ResourceKind, type StatusError, statusAnswer } from './status.js';

export interface VolumeDeps extends ApplyDeps {
  readonly config: () => ClusterConfig;
}

interface Kind {
  readonly kind: ResourceKind;
  /** undefined: there is no such object. */
  readonly decide: (deps: VolumeDeps, request: HttpRequest, volume: VolumeRequest) => Promise<Decision | undefined>;
}

interface Action {
  readonly fields: OptionFields;
  readonly read: (options: Partial<AddVolumeOptions & RemoveVolumeOptions>) => Result<VolumeRequest, StatusError>;
}

const VM: Kind = {
  kind: 'virtualmachine',
  async decide({ client, config }, request, volume) {
    const vm = await client.find(VIRTUAL_MACHINES, keyOf(request));
    return vm && decideVmVolume(vm, volume, config());
  },
};

const VMI: Kind = {
  kind: 'virtualmachineinstance',
  async decide({ client, config }, request, volume) {
    const vmi = await client.find(VIRTUAL_MACHINE_INSTANCES, keyOf(request));
    return vmi && decideVmiVolume(vmi, volume, config());
  },
};

const ACTIONS: Readonly<Record<string, Action>> = {
  addvolume: { fields: ADD_VOLUME_FIELDS, read: addRequest },
  removevolume: { fields: REMOVE_VOLUME_FIELDS, read: removeRequest },
};

const NO_BODY = badRequest('Request with no body, a new name is expected as the request body');

function volumeVerb(deps: VolumeDeps, { kind, decide }: Kind, { fields, read }: Action): Handler {
  return async (request) => {
    const off = gateRefusal(deps.config());
    if (off) return statusAnswer(off);
    if (request.body.length === 0) return statusAnswer(NO_BODY);
    const options = parseOptions<Partial<AddVolumeOptions>>(request.body, fields);
    if (!options.ok) return statusAnswer(options.error);
    const volume = read(options.value);
    if (!volume.ok) return statusAnswer(volume.error);
    const decision = await decide(deps, request, volume.value);
    if (!decision) return statusAnswer(notFound(kind, nameOf(request)));
    if ('refusal' in decision) return statusAnswer(decision.refusal);
    const failure = await applySteps(deps, request, decision.steps, { dryRun: isDryRun(options.value), invalidPasses: true, kind });
    return failure ? statusAnswer(failure) : empty(202);
  };
}

const verbsOf = (deps: VolumeDeps, kind: Kind): Readonly<Record<string, Handler>> =>
  Object.fromEntries(Object.entries(ACTIONS).map(([verb, action]) => [verb, answering(volumeVerb(deps, kind, action), deps.log)]));

export const vmVolumeHandlers = (deps: VolumeDeps): Readonly<Record<string, Handler>> => verbsOf(deps, VM);
export const vmiVolumeHandlers = (deps: VolumeDeps): Readonly<Record<string, Handler>> => verbsOf(deps, VMI);
