// The handlers of what VMs are made from: replica sets, pools, presets, instance types, preferences and plugins.
import type {
  KubeObject,
  Plugin,
  VirtualMachineInstanceReplicaSet,
  VirtualMachineInstancetypeSpec,
  VirtualMachinePool,
  VirtualMachinePreferenceSpec,
} from '../../api/index.js';
import type { VirtualMachineInstancePreset } from '../mutate/preset.js';
import { responseOf } from '../review.js';
import { admitInstancetype } from '../validate/instancetype/instancetype.js';
import { admitPreference } from '../validate/instancetype/preference.js';
import { admitPluginCreate, admitPluginUpdate } from '../validate/plugin/admit.js';
import { admitPool } from '../validate/scale/pool.js';
import { admitPreset } from '../validate/scale/preset.js';
import { admitReplicaSet } from '../validate/scale/replica-set.js';
import { type Admitter, about, type Kind, oldOf, own } from './context.js';

const core = (resource: string, kind: string): Kind => ({ group: 'kubevirt.io', versions: ['v1', 'v1alpha3'], resource, kind });
const instancetypes = (resource: string, kind: string): Kind => ({
  group: 'instancetype.kubevirt.io',
  versions: ['v1beta1'],
  resource,
  kind,
});
const POOL: Kind = {
  group: 'pool.kubevirt.io',
  versions: ['v1alpha1', 'v1beta1'],
  resource: 'virtualmachinepools',
  kind: 'VirtualMachinePool',
};

const PLUGIN: Kind = { group: 'plugin.kubevirt.io', versions: ['v1alpha1'], resource: 'plugins', kind: 'Plugin' };

const replicaSet = about(core('virtualmachineinstancereplicasets', 'VirtualMachineInstanceReplicaSet'), (object, request, { config }) =>
  responseOf(admitReplicaSet(object as VirtualMachineInstanceReplicaSet, request.operation === 'CREATE', config())),
);

const pool = about(POOL, (object, request, context) => {
  const old = oldOf<VirtualMachinePool>(request);
  const asked = { pool: object as VirtualMachinePool, ...(old ? { old } : {}), isOwnAccount: own(request, context) };
  return responseOf(admitPool(asked, context.config()));
});

const preset = about(core('virtualmachineinstancepresets', 'VirtualMachineInstancePreset'), (object, _request, { config }) =>
  responseOf(admitPreset(object as VirtualMachineInstancePreset, config())),
);

const instancetype = (kind: Kind): Admitter =>
  about(kind, (object) => responseOf(admitInstancetype((object as KubeObject & { spec: VirtualMachineInstancetypeSpec }).spec)));
const preference = (kind: Kind): Admitter =>
  about(kind, (object) => responseOf(admitPreference((object as KubeObject & { spec: VirtualMachinePreferenceSpec }).spec)));

const plugin = about(PLUGIN, (object, request, { config }) =>
  responseOf(request.operation === 'CREATE' ? admitPluginCreate(object as Plugin, config()) : admitPluginUpdate(object as Plugin)),
);

export const SETS: Readonly<Record<string, Admitter>> = {
  '/virtualmachinereplicaset-validate': replicaSet,
  '/virtualmachinepool-validate': pool,
  '/vmipreset-validate': preset,
  '/plugin-validate': plugin,
  '/virtualmachineinstancetypes-validate': instancetype(instancetypes('virtualmachineinstancetypes', 'VirtualMachineInstancetype')),
  '/virtualmachineclusterinstancetypes-validate': instancetype(
    instancetypes('virtualmachineclusterinstancetypes', 'VirtualMachineClusterInstancetype'),
  ),
  '/virtualmachinepreferences-validate': preference(instancetypes('virtualmachinepreferences', 'VirtualMachinePreference')),
  '/virtualmachineclusterpreferences-validate': preference(
    instancetypes('virtualmachineclusterpreferences', 'VirtualMachineClusterPreference'),
  ),
};
