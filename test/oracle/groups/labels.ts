// Recorded node labels, answered by core/node-labels. Documents that the recording keeps in files (@<set>/<path>) are looked for below
// ORACLE_PAIRS, else below the recordings that lie beside this clone.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { KubeVirtConfiguration } from '../../../src/api/index.js';
import { clusterConfigOf } from '../../../src/core/config/cluster-config.js';
import { nodeLabels, parseDomainCapabilities, parseSupportedFeatures } from '../../../src/core/node-labels/index.js';
import type { OracleCase } from '../oracle-case.js';

interface LabelParams {
  readonly domcapabilities: string;
  readonly supportedFeatures?: string;
  readonly machines?: readonly string[];
  readonly hypervFeatures?: readonly string[];
  readonly tsc?: { readonly Frequency: number; readonly Scaling: string };
}

function roots(): string[] {
  const parent = dirname(process.cwd());
  return [process.env.ORACLE_PAIRS ?? '', ...readdirSync(parent).map((name) => join(parent, name, 'oracles', 'pairs'))];
}

function document(given: string | undefined): string {
  if (!given?.startsWith('@')) return given ?? '';
  const [set = '', ...path] = given.slice(1).split('/');
  const places = roots().flatMap((root) => [join(root, ...path), join(dirname(root), set, ...path)]);
  const found = places.find((place) => existsSync(place));
  if (found === undefined) throw new Error(`no recording holds ${given}; set ORACLE_PAIRS`);
  return readFileSync(found, 'utf8');
}

export function answer({ params, config, gates, arch: given }: OracleCase): unknown {
  const { domcapabilities, supportedFeatures, machines = [], hypervFeatures = [], tsc } = params as unknown as LabelParams;
  const arch = String(given ?? 'amd64');
  const settings = { ...((config ?? {}) as KubeVirtConfiguration) };
  const features = document(supportedFeatures);
  const labels = nodeLabels(
    {
      arch,
      domain: parseDomainCapabilities(document(domcapabilities), arch),
      features: features ? parseSupportedFeatures(features, arch) : [],
      machines,
      hyperv: hypervFeatures,
      realtime: false,
      ...(tsc ? { tsc: { frequencyHz: tsc.Frequency, scalable: tsc.Scaling === 'yes' } } : {}),
    },
    clusterConfigOf({
      ...settings,
      developerConfiguration: { ...settings.developerConfiguration, featureGates: (gates ?? []) as string[] },
    }),
  );
  return { labels };
}
