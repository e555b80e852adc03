// Offers the devices of this node that the KubeVirt CR permits for guests: follows the CR and the hardware, starts a plugin for each resource
// of which the node has something, and withdraws it when the CR no longer names it. Says what keeps a device from guests. Run by the node
// agent until the context ends; never throws.
import type { Ctx } from '../../../base/context.js';
import { messageOf } from '../../../base/errors.js';
import type { ClusterConfig } from '../../../core/config/cluster-config.js';
import type { DeviceKind } from '../../../core/devices/device-env.js';
import { type PermittedDevices, permittedDevices } from '../../../core/devices/permitted.js';
import { type DevicePluginOptions, offerDevice } from '../device-plugin.js';
import { offerSource } from './source.js';
import { readMdevs, readPci, readUsb } from './sysfs.js';
import { type Inventory, type Offer, type Offers, offersOf, type Unit } from './units.js';
import { untilChange } from './until-change.js';

export interface PermittedDevicesDeps {
  readonly options: DevicePluginOptions;
  /** undefined until the cluster's configuration is known. */
  readonly config: () => ClusterConfig | undefined;
  /** Tells the cluster that no device of a resource can be handed out though the node has some. */
  readonly warn: (message: string) => void;
  /** How often the hardware is looked at; a change of the configuration does not wait for it. */
  readonly scanMs?: number;
}

const SCAN_MS = 10_000;

interface Running {
  readonly kind: DeviceKind;
  /** What its plugin looks at. */
  readonly current: { units: readonly Unit[] };
  withdraw(): Promise<void>;
}

export async function offerPermitted(ctx: Ctx, deps: PermittedDevicesDeps): Promise<void> {
  const running = new Map<string, Running>();
  const told = new Set<string>();
  let before: readonly Offer[] = [];
  const relevant = (): readonly unknown[] => [deps.config()?.spec.permittedHostDevices, !deps.config()];
  while (!ctx.signal.aborted) {
    const seen = relevant();
    const config = deps.config();
    if (config) {
      try {
        const permitted = permittedDevices(config.spec.permittedHostDevices);
        const found = offersOf(permitted, await readInventory(permitted, deps.options.hostRoot), before);
        before = found.offers;
        await reconcile(ctx, deps, running, found.offers, permitted);
        report(ctx, deps, told, newsOf(permitted, found));
      } catch (err) {
        ctx.log.warn({ err: messageOf(err) }, 'Cannot look for the devices that guests may have; looking again');
      }
    }
    await untilChange(ctx, deps.scanMs ?? SCAN_MS, relevant, seen);
  }
  await Promise.all([...running.values()].map(({ withdraw }) => withdraw()));
}

/** Reads only what the cluster permits something of: most permit nothing. */
async function readInventory({ pci, mdev, usb }: PermittedDevices, hostRoot: string): Promise<Inventory> {
  const [functions, mdevs, devices] = await Promise.all([
    pci.size > 0 ? readPci(hostRoot, (id) => pci.has(id)) : { all: new Map(), wanted: [] },
    mdev.size > 0 ? readMdevs(hostRoot) : [],
    usb.length > 0 ? readUsb(hostRoot) : [],
  ]);
  return { pci: functions, mdevs, usb: devices };
}

const kindsOf = ({ pci, mdev, usb }: PermittedDevices): ReadonlyMap<string, DeviceKind> =>
  new Map<string, DeviceKind>([
    ...[...pci.values()].map((name) => [name, 'pci'] as const),
    ...[...mdev.values()].map((name) => [name, 'mdev'] as const),
    ...usb.map(({ resourceName }) => [resourceName, 'usb'] as const),
  ]);

/** A plugin whose last device went stays, and has none to give: the device may come back. */
async function reconcile(
  ctx: Ctx,
  { options }: PermittedDevicesDeps,
  running: Map<string, Running>,
  offers: readonly Offer[],
  permitted: PermittedDevices,
): Promise<void> {
  const kinds = kindsOf(permitted);
  for (const [resourceName, plugin] of running) {
    plugin.current.units = offers.find((offer) => offer.resourceName === resourceName)?.units ?? [];
    if (kinds.get(resourceName) === plugin.kind) continue;
    await plugin.withdraw();
    running.delete(resourceName);
  }
  for (const offer of offers) if (!running.has(offer.resourceName)) running.set(offer.resourceName, start(ctx, offer, options));
}

function start(ctx: Ctx, offer: Offer, options: DevicePluginOptions): Running {
  const current: { units: readonly Unit[] } = { units: offer.units };
  const { withdraw } = offerDevice(
    ctx,
    offerSource(offer, () => current.units, options.hostRoot),
    options,
  );
  return { kind: offer.kind, current, withdraw };
}

/** Each thing once, and again when it was otherwise meanwhile. */
function report(ctx: Ctx, { warn }: PermittedDevicesDeps, told: Set<string>, news: readonly News[]): void {
  const current = new Set(news.map(({ text }) => text));
  for (const text of told) if (!current.has(text)) told.delete(text);
  for (const { text, urgency } of news) {
    if (told.has(text)) continue;
    told.add(text);
    ctx.log[urgency === 'note' ? 'info' : 'warn']({ urgency }, text);
    if (urgency === 'alarm') warn(text);
  }
}

interface News {
  readonly text: string;
  /** An alarm is for those who look at the cluster and not at the log. */
  readonly urgency: 'note' | 'warning' | 'alarm';
}

/** A node that keeps some of several devices for itself is as it should be; one that has devices and can give none is hardly. */
function newsOf(permitted: PermittedDevices, { offers, findings }: Offers): News[] {
  const usable = new Set(offers.filter(({ units }) => units.some(({ isLost }) => !isLost)).map(({ resourceName }) => resourceName));
  const present = new Set([...offers, ...findings].map(({ resourceName }) => resourceName));
  const absent = [...kindsOf(permitted).keys()].filter((name) => !present.has(name));
  return [
    ...permitted.problems.map((problem): News => ({ text: `permittedHostDevices: ${problem}`, urgency: 'warning' })),
    ...findings.map(
      ({ message, resourceName }): News => ({
        text: `${message}; until then guests get no ${resourceName} from it`,
        urgency: usable.has(resourceName) ? 'warning' : 'alarm',
      }),
    ),
    ...absent.map((name): News => ({ text: `permittedHostDevices: this node has nothing that is selected for ${name}`, urgency: 'note' })),
  ];
}
