// Which mediated devices a node is to have, against those it has: which types the configuration wants there, which devices to remove, and
// which to make on which card. A card gives devices of one type at a time. Pure; the node agent reads the kernel and carries it out.
import type { ClusterConfig } from '../config/cluster-config.js';
import { mdevTypeName } from './permitted.js';

/** A type that a card can be divided into. */
export interface MdevType {
  readonly parent: string;
  /** Directory below mdev_supported_types. */
  readonly id: string;
  /** Normalised; empty where it has none. */
  readonly name: string;
  /** How many more the card has room for. */
  readonly available: number;
}

export interface ExistingMdev {
  readonly uuid: string;
  readonly parent: string;
  readonly typeId: string;
  readonly typeName: string;
}

export interface MdevOrder {
  readonly parent: string;
  readonly typeId: string;
  readonly count: number;
}

export interface MdevWish {
  /** Names or ids, in the order of the configuration. */
  readonly types: readonly string[];
  /** Somebody else makes, and removes, devices of these. */
  readonly foreign: ReadonlySet<string>;
}

interface Types {
  readonly mediatedDeviceTypes?: string[];
  readonly mediatedDevicesTypes?: string[];
}

/** The second is how the field was once spelt. */
const listed = ({ mediatedDeviceTypes = [], mediatedDevicesTypes = [] }: Types): string[] =>
  mediatedDeviceTypes.length > 0 ? mediatedDeviceTypes : mediatedDevicesTypes;

/** True when the types depend on the node's labels. */
export const dependsOnNode = ({ spec }: ClusterConfig): boolean =>
  (spec.mediatedDevicesConfiguration?.nodeMediatedDeviceTypes?.length ?? 0) > 0;

/** undefined: the cluster wants its mediated devices left alone. What is configured for the node replaces what is for all. */
export function wantedMdevs(config: ClusterConfig, labels: Readonly<Record<string, string>>): MdevWish | undefined {
  const { mediatedDevicesConfiguration: given = {}, permittedHostDevices } = config.spec;
  if (!(given.enabled ?? !config.isEnabled('DisableMDEVConfiguration'))) return undefined;
  const ofNode = (given.nodeMediatedDeviceTypes ?? [])
    .filter(({ nodeSelector }) => Object.entries(nodeSelector).every(([key, value]) => labels[key] === value))
    .flatMap(listed);
  const types = (ofNode.length > 0 ? ofNode : listed(given)).map(mdevTypeName).filter(Boolean);
  const foreign = (permittedHostDevices?.mediatedDevices ?? []).filter(({ externalResourceProvider }) => externalResourceProvider === true);
  return { types: [...new Set(types)], foreign: new Set(foreign.map(({ mdevNameSelector }) => mdevTypeName(mdevNameSelector))) };
}

const isOneOf = (names: { has(name: string): boolean }, { id, name }: { readonly id: string; readonly name: string }): boolean =>
  names.has(id) || (name !== '' && names.has(name));

/**
 * Devices of no wanted type: those that this agent made (`own`), and others where their card is to give what is wanted. What somebody else
 * provides stays.
 */
export function mdevsToRemove<T extends ExistingMdev>(
  { types, foreign }: MdevWish,
  existing: readonly T[],
  supported: readonly MdevType[],
  own: ReadonlySet<string>,
): T[] {
  const wanted = new Set(types);
  const needed = new Set(supported.filter((type) => isOneOf(wanted, type)).map(({ parent }) => parent));
  return existing.filter(({ uuid, parent, typeId, typeName }) => {
    const type = { id: typeId, name: typeName };
    return !isOneOf(wanted, type) && !isOneOf(foreign, type) && (own.has(uuid) || needed.has(parent));
  });
}

/** Types take turns with the cards that give nothing yet; each card gives as many as it can. */
export function mdevsToCreate({ types }: MdevWish, existing: readonly ExistingMdev[], supported: readonly MdevType[]): MdevOrder[] {
  const taken = new Set(existing.map(({ parent }) => parent));
  const candidates = types.map((wanted) =>
    supported.filter(({ id, name, available }) => available > 0 && (id === wanted || name === wanted)),
  );
  const orders: MdevOrder[] = [];
  for (let before = -1; before < orders.length; ) {
    before = orders.length;
    for (const choices of candidates) {
      const choice = choices.find(({ parent }) => !taken.has(parent));
      if (!choice) continue;
      taken.add(choice.parent);
      orders.push({ parent: choice.parent, typeId: choice.id, count: choice.available });
    }
  }
  return orders;
}
