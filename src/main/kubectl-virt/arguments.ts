// The command line of `kubectl virt`, read into a command or into what is wrong with it. Pure.
import { parseArgs } from 'node:util';

export type Verb = 'console' | 'vnc' | 'start' | 'stop' | 'restart' | 'pause' | 'unpause' | 'help';

export interface Command {
  readonly verb: Verb;
  readonly name: string;
  readonly namespace?: string;
  readonly kubeconfig?: string;
  readonly context?: string;
  /** Minutes to wait for the machine to run. */
  readonly timeoutMinutes: number;
  readonly paused: boolean;
  readonly dryRun: boolean;
  readonly force: boolean;
  readonly gracePeriod?: number;
  readonly proxyOnly: boolean;
  readonly port: number;
  readonly address: string;
}

export type Parsed = { readonly command: Command } | { readonly problem: string };

export const USAGE = `Control virtual machines.

Usage: kubectl virt COMMAND NAME [flags]

  console NAME              connect to the serial console; leave with Ctrl+]
  vnc NAME --proxy-only     serve the display on a local port for a VNC viewer (--port, --address)
  start NAME                start a stopped machine (--paused: with its CPUs stopped)
  stop NAME                 shut a machine down (--grace-period SECONDS, --force)
  restart NAME              stop and start a machine (--force: without waiting for the guest)
  pause NAME                stop the CPUs of a running machine
  unpause NAME              let them run again

Flags:
  -n, --namespace NAME      default: that of the kubeconfig's context
      --kubeconfig FILE     default: $KUBECONFIG, then ~/.kube/config
      --context NAME        a context of the kubeconfig
      --timeout MINUTES     how long console and vnc wait for the machine to run (default 5)
      --dry-run             ask the server, change nothing
`;

const VERBS: readonly string[] = ['console', 'vnc', 'start', 'stop', 'restart', 'pause', 'unpause', 'help'];
/** Words that may stand before the name, as in `pause vm NAME` or `vm/NAME`. */
const KINDS: readonly string[] = ['vm', 'vms', 'virtualmachine', 'virtualmachines', 'vmi', 'vmis', 'virtualmachineinstance'];

const OPTIONS = {
  namespace: { type: 'string', short: 'n' },
  kubeconfig: { type: 'string' },
  context: { type: 'string' },
  timeout: { type: 'string' },
  paused: { type: 'boolean' },
  'dry-run': { type: 'boolean' },
  force: { type: 'boolean' },
  'grace-period': { type: 'string' },
  'proxy-only': { type: 'boolean' },
  port: { type: 'string' },
  address: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
} as const;

type Values = Readonly<Record<string, string | boolean | undefined>>;

function numbers(
  values: Values,
): { readonly timeout: number; readonly port: number; readonly grace: number | undefined } | { problem: string } {
  const read = (name: string): number | undefined => (values[name] === undefined ? undefined : Number(values[name]));
  for (const name of ['timeout', 'port', 'grace-period']) {
    const value = read(name);
    if (value !== undefined && !(Number.isFinite(value) && value >= 0))
      return { problem: `--${name} needs a number, not ${String(values[name])}` };
  }
  return { timeout: read('timeout') ?? 5, port: read('port') ?? 0, grace: read('grace-period') };
}

function nameOf(positionals: readonly string[]): string | undefined {
  const [first, second] = positionals;
  if (first !== undefined && second !== undefined && KINDS.includes(first)) return second;
  const [kind, name] = first?.split('/') ?? [];
  return name !== undefined && kind !== undefined && KINDS.includes(kind) ? name : first;
}

function texts(values: Values): Pick<Command, 'namespace' | 'kubeconfig' | 'context'> {
  const given = ['namespace', 'kubeconfig', 'context'].filter((k) => typeof values[k] === 'string');
  return Object.fromEntries(given.map((k) => [k, values[k] as string]));
}

function commandOf(verb: Verb, name: string, values: Values): Parsed {
  const amounts = numbers(values);
  if ('problem' in amounts) return amounts;
  if (verb === 'vnc' && !values['proxy-only']) {
    return { problem: 'no viewer is started: add --proxy-only and point a VNC viewer at the port that is printed' };
  }
  return {
    command: {
      verb,
      name,
      ...texts(values),
      timeoutMinutes: amounts.timeout,
      paused: values.paused === true,
      dryRun: values['dry-run'] === true,
      force: values.force === true,
      ...(amounts.grace === undefined ? {} : { gracePeriod: amounts.grace }),
      proxyOnly: values['proxy-only'] === true,
      port: amounts.port,
      address: typeof values.address === 'string' ? values.address : '127.0.0.1',
    },
  };
}

export function parseCommand(argv: readonly string[]): Parsed {
  let parsed: { values: Values; positionals: string[] };
  try {
    parsed = parseArgs({ args: [...argv], options: OPTIONS, strict: true, allowPositionals: true });
  } catch (err) {
    return { problem: err instanceof Error ? err.message : String(err) };
  }
  const { values, positionals } = parsed;
  const [verb, ...rest] = positionals;
  if (values.help === true || verb === undefined || verb === 'help') return commandOf('help', '', {});
  if (!VERBS.includes(verb)) return { problem: `there is no command ${verb}` };
  const name = nameOf(rest);
  return name ? commandOf(verb as Verb, name, values) : { problem: `${verb} needs the name of a virtual machine` };
}
