// Lets libvirt judge our domains: `schema` by its schema, all architectures; `define` by its daemon with its QEMU, amd64, whose description must also
// survive being read and written. Prints figures and what was refused; ends with 1 if anything was. Run by `npm test`.
import { join } from 'node:path';
import { launcherRoot } from '../../images/main.js';
import { messageOf } from '../../src/base/errors.js';
import { parseXml, readDomain, renderDomain } from '../../src/core/converter/index.js';
import { RECORDINGS } from '../../tools/run/oracle.js';
import { grouped } from '../builders/grouped.js';
import { startImageLibvirt } from './image-libvirt.js';
import { collectSamples, type Sample } from './samples.js';
import { validate } from './schema.js';

const SHOWN = 10;
const say = (line: string): void => console.log(line);

interface Refused {
  readonly sample: Sample;
  readonly why: string;
}

function report(title: string, samples: readonly Sample[], refused: readonly Refused[]): void {
  for (const { sample, why } of refused.slice(0, SHOWN)) say(`  ${sample.name}: ${why}`);
  const groups = [...new Set(samples.map(({ group }) => group))].map((group) => {
    const all = samples.filter((sample) => sample.group === group).length;
    return `${group} ${all - refused.filter(({ sample }) => sample.group === group).length}/${all}`;
  });
  say(`${title}: ${samples.length - refused.length}/${samples.length} (${groups.join(', ')})`);
}

async function bySchema(samples: readonly Sample[]): Promise<readonly Refused[]> {
  const schema = join(await launcherRoot(), 'usr/share/libvirt/schemas/domain.rng');
  const verdicts = await validate(
    schema,
    samples.map(({ xml }) => xml),
  );
  const refused = samples.flatMap((sample, i) => (verdicts[i] === undefined ? [] : [{ sample, why: verdicts[i] }]));
  report('schema validity', samples, refused);
  const recorded = samples.flatMap((sample) => sample.recorded ?? []);
  if (recorded.length > 0) {
    const valid = (await validate(schema, recorded)).filter((verdict) => verdict === undefined).length;
    say(
      `  for comparison, what the reference writes for these inputs: ${valid}/${recorded.length} (it leaves empty elements that no schema has)`,
    );
  }
  return refused;
}

/** What only another machine or image could take, by libvirt's words, and of which guests they are believed. */
const ELSEWHERE: readonly { readonly what: string; readonly words: RegExp; readonly of: (sample: Sample) => boolean }[] = [
  {
    what: 'AMD SEV, which takes such a CPU',
    words: /'sev' launch security is not supported with this QEMU binary/,
    of: ({ vmi }) => vmi.spec.domain.launchSecurity?.sev !== undefined,
  },
  {
    what: "machine types of another distribution's QEMU",
    words: /does not support machine type '[^']*-rhel/,
    of: ({ vmi }) => vmi.spec.domain.machine?.type?.includes('-rhel') === true,
  },
];

async function byDaemon(all: readonly Sample[]): Promise<readonly Refused[]> {
  const samples = all.filter(({ xml }) => xml.includes('<type arch="x86_64"'));
  const libvirt = await startImageLibvirt(await launcherRoot());
  const refused: Refused[] = [];
  const elsewhere = new Map<Sample, string>();
  try {
    for (const sample of samples) {
      const why = await define(libvirt.conn, sample);
      const known = why === undefined ? undefined : ELSEWHERE.find(({ words, of }) => words.test(why) && of(sample));
      if (known) elsewhere.set(sample, known.what);
      else if (why !== undefined) refused.push({ sample, why });
    }
  } finally {
    await libvirt.stop();
  }
  const judged = samples.filter((sample) => !elsewhere.has(sample));
  report("accepted by the launcher image's libvirt", judged, refused);
  const reasons = [...elsewhere.values()];
  for (const what of new Set(reasons)) say(`  ${reasons.filter((each) => each === what).length} more cannot be judged here: ${what}`);
  return refused;
}

/** Undefined when libvirt takes it, and what it makes of it is the same after it was read and written. */
async function define(conn: Awaited<ReturnType<typeof startImageLibvirt>>['conn'], { xml }: Sample): Promise<string | undefined> {
  try {
    const domain = await conn.defineDomain(xml);
    const made = await domain.xml();
    await domain.undefine({ nvram: true });
    domain.close();
    const [given, back] = [made, renderDomain(readDomain(made))].map((each) => JSON.stringify(grouped(parseXml(each))));
    return given === back ? undefined : "libvirt's own description of it is another after it was read and written";
  } catch (err) {
    return messageOf(err);
  }
}

const JUDGES: Readonly<Record<string, (samples: readonly Sample[]) => Promise<readonly Refused[]>>> = {
  schema: bySchema,
  define: byDaemon,
};

const judge = JUDGES[process.argv[2] ?? ''];
if (!judge) {
  process.stderr.write(`usage: main.ts ${Object.keys(JUDGES).join(' | ')}\n`);
  process.exit(2);
}
const { samples, refused, faults } = collectSamples(join(RECORDINGS, 'convert'));
for (const fault of faults.slice(0, SHOWN)) say(`  ${fault}`);
const bad = await judge(samples);
const kinds = [...refused].sort(([, a], [, b]) => b - a).map(([kind, count]) => `${count} ${kind}`);
say(`  guests without a domain, since the converter refuses what cannot be: ${kinds.join('; ')}`);
process.exit(bad.length + faults.length > 0 ? 1 : 0);
