// What libvirt says about a node, as data: CPU models and features from its domain capabilities, machine types and the time stamp counter
// from its host capabilities. The node labeller writes the documents, the node agent reads them through here.
import { KvError } from '../../base/errors.js';
import { at, childrenOf, parseXml, type XmlElement } from './xml.js';

export interface CpuModel {
  readonly name: string;
  /** Guests can run with it on this very host. */
  readonly usable: boolean;
}

export interface HostModel {
  readonly name: string;
  readonly vendor: string;
  readonly requiredFeatures: readonly string[];
}

export interface DomainCapabilities {
  readonly models: readonly CpuModel[];
  /** undefined when libvirt has no notion of the host's own model. */
  readonly hostModel?: HostModel;
  readonly sev: boolean;
  readonly sevEs: boolean;
  readonly sevSnp: boolean;
  readonly securePv: boolean;
  readonly tdx: boolean;
  /** Enlightenments that guests of this hypervisor can have, by the names of node labels. */
  readonly hyperv: readonly string[];
}

export interface TimeStampCounter {
  readonly frequencyHz: number;
  readonly scalable: boolean;
}

export interface HostCapabilities {
  readonly machines: readonly string[];
  readonly tsc?: TimeStampCounter;
}

const isRequired = ({ attributes }: XmlElement): boolean => attributes.policy === 'require';

const mode = (cpu: XmlElement | undefined, name: string): XmlElement | undefined =>
  childrenOf(cpu, 'mode').find(({ attributes }) => attributes.name === name);

/** A model without a name, or of which libvirt does not know whether it is usable, is of no use to anybody. */
const cpuModels = (cpu: XmlElement | undefined): CpuModel[] =>
  childrenOf(mode(cpu, 'custom'), 'model')
    .filter(({ attributes, text }) => attributes.usable && text !== '')
    .map(({ text, attributes }) => ({ name: text, usable: attributes.usable !== 'no' }));

function hostModel(cpu: XmlElement | undefined, arch: string): HostModel | undefined {
  const found = mode(cpu, 'host-model');
  // Guests of these hosts see the host's CPU as it is.
  if (!found || arch === 'arm64') return undefined;
  const name = at(found, 'model')?.text;
  if (!name)
    throw new KvError('Invalid', 'host model mode is expected to contain a model: libvirt knows no model for the CPU of this node');
  const vendor = at(found, 'vendor')?.text || (arch === 's390x' ? 'IBM' : '');
  return {
    name,
    vendor,
    requiredFeatures: childrenOf(found, 'feature')
      .filter(isRequired)
      .map(({ attributes }) => attributes.name ?? ''),
  };
}

const isSupported = (features: XmlElement | undefined, name: string): boolean => at(features, name)?.attributes.supported === 'yes';

/** The values that a feature lists under a name; none where the feature is not supported. */
function listed(features: XmlElement | undefined, feature: string, name: string): readonly string[] {
  const values = childrenOf(at(features, feature), 'enum').find(({ attributes }) => attributes.name === name);
  return isSupported(features, feature) ? childrenOf(values, 'value').map(({ text }) => text) : [];
}

/** libvirt's words for what node labels name otherwise, or twice. */
const ENLIGHTENMENTS: Readonly<Record<string, readonly string[]>> = { stimer: ['synictimer'], synic: ['synic', 'synic2'] };
const LABELLED = new Set(['vpindex', 'tlbflush', 'ipi', 'synic', 'frequencies', 'reset', 'runtime', 'stimer', 'reenlightenment']);

function enlightenments(features: XmlElement | undefined): string[] {
  const known = listed(features, 'hyperv', 'features').filter((name) => LABELLED.has(name));
  return isSupported(features, 'hyperv') ? ['base', ...known.flatMap((name) => ENLIGHTENMENTS[name] ?? [name])] : [];
}

/** Throws Invalid when the document is none, or names a host model without saying which. */
export function parseDomainCapabilities(xml: string, arch: string): DomainCapabilities {
  const root = parseXml(xml, "libvirt's domain capabilities");
  const cpu = at(root, 'cpu');
  const features = at(root, 'features');
  const model = hostModel(cpu, arch);
  const sev = isSupported(features, 'sev');
  const sevEs = sev && Number(at(features, 'sev', 'maxESGuests')?.text ?? 0) > 0;
  return {
    models: cpuModels(cpu),
    ...(model ? { hostModel: model } : {}),
    sev,
    sevEs,
    // Builds upon the encrypted state.
    sevSnp: sevEs && listed(features, 'launchSecurity', 'sectype').includes('sev-snp'),
    securePv: isSupported(features, 's390-pv'),
    tdx: isSupported(features, 'tdx'),
    hyperv: enlightenments(features),
  };
}

/** Features that every guest on this node can have; s390x lists them without a policy. */
export function parseSupportedFeatures(xml: string, arch: string): string[] {
  const features = childrenOf(parseXml(xml, 'the list of supported CPU features'), 'feature');
  return features
    .filter((feature) => isRequired(feature) || (arch === 's390x' && !feature.attributes.policy))
    .map(({ attributes }) => attributes.name ?? '');
}

const LIBVIRT_ARCH: Readonly<Record<string, string>> = { amd64: 'x86_64', arm64: 'aarch64', s390x: 's390x', ppc64le: 'ppc64le' };

/** Where a node keeps what libvirt says about emulated guests of another architecture, in libvirt's word for it. */
export const emulatedGuestsFile = (libvirtArch: string): string => `virsh_domcapabilities_${libvirtArch}.xml`;

/** The architectures whose guests a node of `arch` may emulate, each with the file that exists if it can. */
export const emulatedCandidates = (arch: string): readonly { readonly arch: string; readonly file: string }[] =>
  ['amd64', 'arm64']
    .filter((other) => other !== arch)
    .map((other) => ({ arch: other, file: emulatedGuestsFile(LIBVIRT_ARCH[other] ?? other) }));

/** Machine types of guests of the node's own architecture. */
export function parseHostCapabilities(xml: string, arch: string): HostCapabilities {
  const root = parseXml(xml, "libvirt's host capabilities");
  const own = childrenOf(root, 'guest')
    .map((guest) => at(guest, 'arch'))
    .filter((guest) => guest?.attributes.name === LIBVIRT_ARCH[arch]);
  const machines = own.flatMap((guest) => [guest, ...childrenOf(guest, 'domain')]).flatMap((of) => childrenOf(of, 'machine'));
  const counter = childrenOf(at(root, 'host', 'cpu'), 'counter').find(({ attributes }) => attributes.name === 'tsc');
  const frequencyHz = Number(counter?.attributes.frequency ?? 0);
  return {
    machines: [...new Set(machines.map(({ text }) => text))],
    ...(frequencyHz > 0 ? { tsc: { frequencyHz, scalable: counter?.attributes.scaling === 'yes' } } : {}),
  };
}
