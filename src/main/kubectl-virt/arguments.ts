// The command line of `kubectl virt`, read into a command or into what is wrong with it. Pure.
import { parseArgs } from 'node:util';
import { type ForwardedPort, forwardedPort, GUEST_VERBS, type GuestVerb, type LifecycleVerb } from './verbs.js';

export type Verb = LifecycleVerb | GuestVerb | 'console' | 'vnc' | 'port-forward' | 'help';

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
  /** Of addvolume and removevolume. */
  readonly volumeName?: string;
  readonly serial?: string;
  /** For this run of the machine only. */
  readonly ephemeral: boolean;
  /** Of port-forward. */
  readonly ports: readonly ForwardedPort[];
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
  migrate NAME              move a running machine to another node
  addvolume NAME            give a machine a disk while it runs (--volume-name CLAIM, --serial TEXT, --ephemeral)
  removevolume NAME         take it away again (--volume-name NAME, --ephemeral)
  guestosinfo NAME          what the agent in the guest says about it; userlist and fslist likewise
  port-forward NAME [LOCAL:]PORT...
                            reach TCP ports of the guest at local ones (--address)

Flags:
  -n, --namespace NAME      default: that of the kubeconfig's context
      --kubeconfig FILE     default: $KUBECONFIG, then ~/.kube/config
      --context NAME        a context of the kubeconfig
      --timeout MINUTES     how long console and vnc wait for the machine to run (default 5)
      --dry-run             ask the server, change nothing
`;

const VERBS: readonly string[] = [
  ...['console', 'vnc', 'start', 'stop', 'restart', 'pause', 'unpause', 'migrate', 'addvolume', 'removevolume', 'port-forward', 'help'],
  ...Object.keys(GUEST_VERBS),
];
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
  'volume-name': { type: 'string' },
  serial: { type: 'string' },
  ephemeral: { type: 'boolean' },
  // For scripts made for virtctl: volumes stay unless --ephemeral is given.
  persist: { type: 'boolean' },
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

/** The machine's name, and what comes after it. */
function named(positionals: readonly string[]): { readonly name: string | undefined; readonly rest: readonly string[] } {
  const [first, second] = positionals;
  if (first !== undefined && second !== undefined && KINDS.includes(first)) return { name: second, rest: positionals.slice(2) };
  const [kind, name] = first?.split('/') ?? [];
  const isTyped = name !== undefined && kind !== undefined && KINDS.includes(kind);
  return { name: isTyped ? name : first, rest: positionals.slice(1) };
}

/** What a verb needs besides the name. */
function lack(verb: Verb, values: Values, rest: readonly string[]): string | undefined {
  if (verb === 'vnc' && !values['proxy-only']) {
    return 'no viewer is started: add --proxy-only and point a VNC viewer at the port that is printed';
  }
  if ((verb === 'addvolume' || verb === 'removevolume') && !values['volume-name']) return `${verb} needs --volume-name`;
  if (verb !== 'port-forward') return undefined;
  const wrong = rest.find((text) => forwardedPort(text) === undefined);
  if (wrong !== undefined) return `${wrong} is no port: write PORT or LOCAL:PORT`;
  return rest.length === 0 ? 'port-forward needs a port of the guest' : undefined;
}

const TEXTS = {
  namespace: 'namespace',
  kubeconfig: 'kubeconfig',
  context: 'context',
  volumeName: 'volume-name',
  serial: 'serial',
} as const;

function texts(values: Values): Pick<Command, keyof typeof TEXTS> {
  const given = Object.entries(TEXTS).filter(([, flag]) => typeof values[flag] === 'string');
  return Object.fromEntries(given.map(([key, flag]) => [key, values[flag] as string]));
}

function commandOf(verb: Verb, name: string, values: Values, rest: readonly string[] = []): Parsed {
  const amounts = numbers(values);
  if ('problem' in amounts) return amounts;
  const problem = lack(verb, values, rest);
  if (problem !== undefined) return { problem };
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
      ephemeral: values.ephemeral === true,
      ports: rest.flatMap((text) => forwardedPort(text) ?? []),
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
  const { name, rest: more } = named(rest);
  return name ? commandOf(verb as Verb, name, values, more) : { problem: `${verb} needs the name of a virtual machine` };
}
