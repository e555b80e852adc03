// Domains to be judged by libvirt: of the recorded inputs where they are at hand, of the same inputs as POWER guests, and of guests made at
// random. All as our launcher would define them on a node without hardware virtualization.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { VirtualMachineInstance } from '../../src/api/index.js';
import { KvError, messageOf } from '../../src/base/errors.js';
import { type Arch, type DomainFacts, renderDomainXml } from '../../src/core/converter/index.js';
import { admittedGuest, nodeOf } from '../fuzz/guests.js';
import { factsOf } from '../oracle/groups/convert.js';
import type { OracleCase } from '../oracle/oracle-case.js';

export interface Sample {
  readonly name: string;
  /** "recorded amd64", "generated arm64", …: what the figures are told by. */
  readonly group: string;
  readonly vmi: VirtualMachineInstance;
  readonly xml: string;
  /** What the reference made of it. */
  readonly recorded?: string;
}

export interface Samples {
  readonly samples: readonly Sample[];
  /** Guests that have no domain, by what is wrong with them. */
  readonly refused: ReadonlyMap<string, number>;
  /** Anything else that was thrown. */
  readonly faults: readonly string[];
}

interface Input {
  readonly name: string;
  readonly group: string;
  readonly vmi: VirtualMachineInstance;
  readonly facts: DomainFacts;
  readonly recorded?: string;
}

const GENERATED: Readonly<Record<Arch, number>> = { amd64: 300, arm64: 100, s390x: 100, ppc64le: 100 };

const LAUNCHER: Partial<DomainFacts> = {
  hypervisor: 'kvm',
  hypervisorDevicePresent: false,
  allowEmulation: true,
  adaptCpuToEmulation: true,
  translationCacheMiB: 32,
  hotplugPorts: true,
  libvirtVersion: 11_003_000,
  metadata: { uid: '11111111-2222-3333-4444-555555555555', gracePeriodSeconds: 30 },
};

interface RecordedCase extends OracleCase {
  readonly expected: { readonly xml?: string };
}

function casesIn(file: string): RecordedCase[] {
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean);
  return lines.map((line) => JSON.parse(line) as RecordedCase);
}

const ARCH_NAMES: Readonly<Record<string, string>> = { x86_64: 'amd64', aarch64: 'arm64' };
const archIn = (xml: string): string => {
  const name = /<type arch="([^"]*)"/.exec(xml)?.[1] ?? '';
  return ARCH_NAMES[name] ?? name;
};

function recordedInputs(dir: string): Input[] {
  if (!existsSync(dir)) return [];
  const files = readdirSync(dir).filter((name) => name.endsWith('.jsonl'));
  return files.flatMap((file) => casesIn(join(dir, file))).flatMap(inputsOf);
}

/** Inputs that the reference refuses are none. */
function inputsOf(testCase: RecordedCase): Input[] {
  const { xml } = testCase.expected;
  if (xml === undefined) return [];
  const vmi = testCase.object as VirtualMachineInstance;
  const names = (vmi.spec.domain.devices.disks ?? []).map(({ name }) => name);
  const diskBackends = Object.fromEntries(names.map((name) => [name, { directIo: true, preallocated: false }]));
  const facts = { ...factsOf(vmi, testCase), ...LAUNCHER, diskBackends };
  const arch = archIn(xml);
  const input: Input = { name: testCase.id, group: `recorded ${arch}`, vmi, facts, recorded: xml };
  return arch === 'amd64' && !facts.crossArchEmulation ? [input, asPower(input)] : [input];
}

function asPower({ name, vmi, facts }: Input): Input {
  const spec = { ...vmi.spec, architecture: 'ppc64le', domain: { ...vmi.spec.domain, machine: { type: 'pseries' } } };
  return {
    name: `${name} as ppc64le`,
    group: 'ppc64le',
    vmi: { ...vmi, spec },
    facts: { ...facts, hostArch: 'ppc64le', crossArchEmulation: false },
  };
}

function* generatedInputs(arch: Arch): Generator<Input> {
  for (let seed = 0; ; seed++) {
    const vmi = admittedGuest(seed, arch);
    if (vmi) yield { name: `guest ${seed} of ${arch}`, group: `generated ${arch}`, vmi, facts: nodeOf(vmi) };
  }
}

/** The field, or the sentence where it names a device in place of a path; undefined for what is no answer to a person. */
function refusalOf(err: unknown): string | undefined {
  if (!(err instanceof KvError) || err.code !== 'Invalid') return undefined;
  const [start = ''] = err.message.split(': ');
  return (start.startsWith('spec.') ? start : err.message.slice(0, 60)).replace(/\d+/g, 'N');
}

/** `recordings`: folder of the recorded inputs; without it there are only generated guests. */
export function collectSamples(recordings: string): Samples {
  const samples: Sample[] = [];
  const faults: string[] = [];
  const refused = new Map<string, number>();
  const recorded = recordedInputs(recordings);
  const convert = ({ facts, ...input }: Input): void => {
    try {
      samples.push({ ...input, xml: renderDomainXml(input.vmi, facts) });
    } catch (err) {
      const kind = refusalOf(err);
      if (kind) refused.set(kind, (refused.get(kind) ?? 0) + 1);
      else faults.push(`${input.name}: ${messageOf(err)}`);
    }
  };
  recorded.forEach(convert);
  for (const [arch, count] of Object.entries(GENERATED) as [Arch, number][]) {
    const wanted = samples.length + count;
    for (const input of generatedInputs(arch)) {
      if (samples.length >= wanted || faults.length > 0) break;
      convert(input);
    }
  }
  return { samples, refused, faults };
}
