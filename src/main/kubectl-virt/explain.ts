// Answers of the API turned into what a person can do about them. Pure.
import { isKvError, messageOf } from '../../base/errors.js';

export interface Subject {
  readonly verb: string;
  readonly name: string;
  readonly namespace: string;
}

interface Refusal {
  readonly status: number;
  readonly message: string;
}

/** The sentence of a Status object, or the text itself. */
export function refusalOf(status: number, body: string): Refusal {
  try {
    const { message } = JSON.parse(body) as { message?: unknown };
    if (typeof message === 'string' && message) return { status, message };
  } catch {
    // Plain text is an answer too.
  }
  return { status, message: body.trim() };
}

const PREFIX = /^Operation cannot be fulfilled on \S+ "[^"]*": /;

interface Advice {
  readonly when: RegExp;
  readonly advise: (subject: Subject) => string;
}

type Place = Pick<Subject, 'name' | 'namespace'>;

/** What to add to a command about it. */
export const flags = ({ namespace }: Place): string => (namespace === 'default' ? '' : ` -n ${namespace}`);

export const startFirst = (place: Place): string => `start it first: kubectl virt start ${place.name}${flags(place)}`;

const TASKS: Readonly<Record<string, string>> = {
  console: 'open the console of',
  vnc: 'open the display of',
  'port-forward': 'reach ports of',
  addvolume: 'add a volume to',
  removevolume: 'remove a volume of',
  guestosinfo: 'ask the guest of',
  userlist: 'ask the guest of',
  fslist: 'ask the guest of',
};

const begin = ({ verb, namespace, name }: Subject): string => `cannot ${TASKS[verb] ?? verb} ${namespace}/${name}`;

const ADVICE: readonly Advice[] = [
  {
    when: /^virtualmachineinstance\S* "[^"]*" not found/,
    advise: (s) => `it does not run, or there is no such machine: kubectl get vm${flags(s)}; ${startFirst(s)}`,
  },
  { when: /Halted does not support manual restart|VM is not running: Halted/, advise: startFirst },
  {
    when: /VMI? is not running|phase is .* instead of/i,
    advise: (s) => (s.verb === 'stop' ? `there is nothing to stop: kubectl get vm ${s.name}${flags(s)}` : startFirst(s)),
  },
  { when: /already running/, advise: (s) => `see it: kubectl get vmi ${s.name}${flags(s)}` },
  {
    when: /does not support manual start requests/,
    advise: (s) => `its run strategy starts it by itself; see why it does not run: kubectl describe vm ${s.name}${flags(s)}`,
  },
  { when: /shorter graceperiod/, advise: (s) => `it is already stopping; to hurry: kubectl virt stop ${s.name}${flags(s)} --force` },
  { when: /already underway/, advise: () => 'an earlier request is still being carried out: try again in a moment' },
  { when: /already paused/, advise: (s) => `let it run: kubectl virt unpause ${s.name}${flags(s)}` },
  {
    when: /non-GuestAgentPing LivenessProbe/,
    advise: () =>
      'paused, it would fail its liveness probe and be ended: use livenessProbe.guestAgentPing, which counts a paused guest as well',
  },
  { when: /is not paused/, advise: (s) => `it runs already: kubectl get vmi ${s.name}${flags(s)}` },
  {
    when: /No serial consoles|No graphics devices/,
    advise: () => 'the machine was created without this device: set autoattachSerialConsole or autoattachGraphicsDevice and restart it',
  },
  {
    when: /does not have guest agent connected/,
    advise: () => 'install qemu-guest-agent in the guest, or wait until it has booted',
  },
  { when: /No virt-handler/, advise: () => 'the node agent of its node is down: kubectl get pods -A -l kubevirt.io=virt-handler -o wide' },
];

function byStatus({ status, message }: Refusal, subject: Subject): string | undefined {
  const list = `kubectl get vm${flags(subject)}`;
  if (status === 404 && /" not found/.test(message)) return `check the name and the namespace: ${list}`;
  if (status === 404) return 'the cluster does not serve virtual machines: kubectl get apiservices v1.subresources.kubevirt.io';
  if (status === 401 || status === 403) return 'you lack the permission: ask for the ClusterRole kubevirt.io:edit in this namespace';
  if (status === 503) return 'virt-api is not ready: kubectl get pods -A -l kubevirt.io=virt-api';
  return undefined;
}

export function explainRefusal(refusal: Refusal, subject: Subject): string {
  const what = refusal.message.replace(PREFIX, '') || `the server answered ${refusal.status}`;
  const advice = ADVICE.find(({ when }) => when.test(what))?.advise(subject) ?? byStatus(refusal, subject);
  const failure = `${begin(subject)}: ${what}`;
  return advice ? `${failure}\n  ${advice}` : failure;
}

export function explainError(err: unknown, subject: Subject): string {
  const { status, body } = isKvError(err) ? err.details : {};
  if (typeof status === 'number' && typeof body === 'string') return explainRefusal(refusalOf(status, body), subject);
  return `${begin(subject)}: ${messageOf(err)}`;
}
