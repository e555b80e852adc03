// Devices that come from dynamic resource allocation: claims are named well, devices refer to listed claims, and no two devices take the
// same request of the same claim. Pure.

import { type FieldPath, field } from '../../../api/field-path.js';
import type { GPU, HostDevice, VirtualMachineInstanceResourceClaim, VirtualMachineInstanceSpec } from '../../../api/index.js';
import type { ClusterConfig } from '../../../core/config/cluster-config.js';
import { gateOff } from '../gate-off.js';
import { dnsLabelProblems, dnsSubdomainProblems } from '../kubernetes/names.js';
import { type Cause, type Causes, duplicate, invalid, type Rule, required } from '../rule.js';

type Device = GPU | HostDevice;

interface Family {
  readonly list: 'gpus' | 'hostDevices';
  readonly label: string;
  readonly gate: string;
  readonly mayMix: boolean;
}

const GPUS: Family = { list: 'gpus', label: 'GPU', gate: 'GPUsWithDRA', mayMix: false };
const HOST_DEVICES: Family = { list: 'hostDevices', label: 'HostDevice', gate: 'HostDevicesWithDRA', mayMix: true };

function* nameCauses(claim: VirtualMachineInstanceResourceClaim, seen: ReadonlySet<string>, at: FieldPath): Causes {
  const path = field(at, 'name');
  if (!claim.name) yield required(path, `${path} is missing: name the claim, so that devices can refer to it`);
  else if (seen.has(claim.name))
    yield duplicate(path, `resourceClaims name "${claim.name}" is given twice: choose another for one of them`);
  else {
    const problems = dnsLabelProblems(claim.name);
    if (problems.length > 0) yield invalid(path, `${path} "${claim.name}" ${problems.join(', ')}`);
  }
}

function* claimCauses(claims: readonly VirtualMachineInstanceResourceClaim[], at: FieldPath): Causes {
  const seen = new Set<string>();
  for (const [i, claim] of claims.entries()) {
    const path = field(at, i);
    yield* nameCauses(claim, seen, path);
    if (claim.name) seen.add(claim.name);
    const { resourceClaimName, resourceClaimTemplateName } = claim;
    if (resourceClaimName !== undefined && resourceClaimTemplateName !== undefined) {
      yield invalid(path, 'resourceClaimName and resourceClaimTemplateName exclude each other: keep one');
    }
    if (resourceClaimName === undefined && resourceClaimTemplateName === undefined) {
      yield invalid(path, 'the claim has no origin: set resourceClaimName or resourceClaimTemplateName');
    }
    for (const key of ['resourceClaimName', 'resourceClaimTemplateName'] as const) {
      const name = claim[key];
      if (name === undefined) continue;
      for (const problem of dnsSubdomainProblems(name)) yield invalid(field(path, key), problem);
    }
  }
}

const hasClaim = (d: Device): boolean => d.claimName !== undefined || d.requestName !== undefined;
const isDra = (d: Device): boolean => !d.deviceName && hasClaim(d);

interface Found {
  readonly causes: readonly Cause[];
  readonly claims: readonly string[];
  /** claim/request → first index. */
  readonly pairs: ReadonlyMap<string, number>;
}

const nothing = (causes: readonly Cause[]): Found => ({ causes, claims: [], pairs: new Map() });

function* plainDeviceCauses(devices: readonly Device[], { list, label }: Family, at: FieldPath): Causes {
  const where = `vmi.spec.domain.devices.${list}`;
  for (const device of devices.filter((d) => !isDra(d))) {
    if (!device.deviceName) {
      yield required(at, `${where} has a ${label} of no origin: give each a deviceName, or claimName and requestName`);
    } else if (hasClaim(device)) {
      yield invalid(at, `${where} has a ${label} of two origins: keep deviceName, or claimName and requestName`);
    }
  }
}

function claimedDevices(devices: readonly Device[], { label }: Family, at: FieldPath): Found {
  const causes: Cause[] = [];
  const claims: string[] = [];
  const pairs = new Map<string, number>();
  for (const [i, device] of devices.entries()) {
    if (!isDra(device)) continue;
    const { claimName, requestName } = device;
    if (!claimName)
      causes.push(
        required(field(at, i, 'claimName'), `a ${label} from a resource claim needs claimName: name an entry of spec.resourceClaims`),
      );
    if (!requestName)
      causes.push(required(field(at, i, 'requestName'), `a ${label} from a resource claim needs requestName: name a request of the claim`));
    if (!claimName || !requestName) continue;
    claims.push(claimName);
    const pair = `${claimName}/${requestName}`;
    if (pairs.has(pair))
      causes.push(duplicate(field(at, i), `the request "${pair}" is taken by another ${label}: each device needs a request of its own`));
    else pairs.set(pair, i);
  }
  return { causes, claims, pairs };
}

function devicesOf(devices: readonly Device[], family: Family, at: FieldPath, config: ClusterConfig): Found {
  const { list, label, gate, mayMix } = family;
  const claimed = devices.some(isDra);
  if (!mayMix && claimed && !devices.every(isDra)) {
    return nothing([invalid(at, `${list} mixes ${label}s from resource claims with others: make all of them one kind`)]);
  }
  const causes = [...plainDeviceCauses(devices, family, at)];
  if (claimed && !config.isEnabled(gate)) {
    return nothing([...causes, invalid(at, gateOff(gate, `a ${label} from a resource claim`))]);
  }
  const found = claimedDevices(devices, family, at);
  return { ...found, causes: [...causes, ...found.causes] };
}

function networkPairs(spec: VirtualMachineInstanceSpec, config: ClusterConfig): ReadonlyMap<string, number> {
  const pairs = new Map<string, number>();
  if (!config.isEnabled('NetworkDevicesWithDRA')) return pairs;
  for (const [i, { resourceClaim }] of (spec.networks ?? []).entries()) {
    if (!resourceClaim?.claimName || !resourceClaim.requestName) continue;
    const pair = `${resourceClaim.claimName}/${resourceClaim.requestName}`;
    if (!pairs.has(pair)) pairs.set(pair, i);
  }
  return pairs;
}

export const resourceClaims: Rule<VirtualMachineInstanceSpec> = function* (spec, at, config) {
  yield* claimCauses(spec.resourceClaims ?? [], field(at, 'resourceClaims'));
  const [gpuPath, hostPath] = [field(at, 'domain', 'devices', 'gpus'), field(at, 'domain', 'devices', 'hostDevices')];
  const gpus = devicesOf(spec.domain.devices.gpus ?? [], GPUS, gpuPath, config);
  const hostDevices = devicesOf(spec.domain.devices.hostDevices ?? [], HOST_DEVICES, hostPath, config);
  yield* gpus.causes;
  yield* hostDevices.causes;
  const owners = new Map<string, string>();
  const sources = [
    ['GPUs', gpus.pairs, gpuPath],
    ['HostDevices', hostDevices.pairs, hostPath],
    ['Networks', networkPairs(spec, config), field(at, 'networks')],
  ] as const;
  for (const [label, pairs, path] of sources) {
    for (const [pair, i] of pairs) {
      const owner = owners.get(pair);
      if (owner)
        yield duplicate(
          field(path, i),
          `the request "${pair}" is used by ${owner} and ${label}[${i}]: each device needs a request of its own`,
        );
      else owners.set(pair, `${label}[${i}]`);
    }
  }
  const listed = new Set((spec.resourceClaims ?? []).map((c) => c.name));
  if (![...gpus.claims, ...hostDevices.claims].every((name) => listed.has(name))) {
    yield invalid(field(at, 'resourceClaims'), 'gpus or hostDevices use a claim that is not listed: add each to spec.resourceClaims');
  }
};
