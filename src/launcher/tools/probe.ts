// virt-probe: the readiness or liveness of a guest, asked by the kubelet every few seconds. Either "does the guest agent answer" or a program
// run in the guest, whose exit code becomes ours. Flags as src/operators/pod-template/probes.ts writes them; src/main/virt-probe.ts runs it.
import { messageOf } from '../../base/errors.js';
import { fail, ok, type Result } from '../../base/result.js';
import { LAUNCHER_SOCKET } from '../../core/storage/paths.js';
import type { CmdApi } from '../../rpc/index.js';
import { parseToolFlags, type ToolOutcome, wholeNumber } from './flags.js';

export interface ProbeRequest {
  readonly socket: string;
  readonly domainName: string;
  readonly timeoutSeconds: number;
  /** Absent: ping the agent. */
  readonly program?: { readonly command: string; readonly args: readonly string[] };
}

const FLAGS = {
  socket: { type: 'string', default: LAUNCHER_SOCKET },
  domainName: { type: 'string', default: '' },
  timeoutSeconds: { type: 'string', default: '1' },
  command: { type: 'string', default: '' },
  guestAgentPing: { type: 'boolean', default: false },
} as const;

export function parseProbe(argv: readonly string[]): Result<ProbeRequest, string> {
  const parsed = parseToolFlags(argv, FLAGS);
  if (!parsed.ok) return parsed;
  const { values, rest } = parsed.value;
  const timeout = wholeNumber('timeoutSeconds', values.timeoutSeconds, 1);
  if (!timeout.ok) return timeout;
  if (values.domainName === '') return fail('--domainName is required: <namespace>_<name> of the VM');
  const request = { socket: String(values.socket), domainName: String(values.domainName), timeoutSeconds: timeout.value };
  if (values.guestAgentPing) return ok(request);
  if (values.command === '') return fail('nothing to probe: give --guestAgentPing or --command <program> -- <arguments>');
  return ok({ ...request, program: { command: String(values.command), args: rest } });
}

/** The launcher gives up first and says why; the kubelet waits one second longer than the probe's timeout. */
const MARGIN_MS = 500;
export const probeDeadlineMs = ({ timeoutSeconds }: ProbeRequest): number => timeoutSeconds * 1000 + MARGIN_MS;

const HIGHEST_EXIT_CODE = 255;

function ended(command: string, exitCode: number, stdOut: string): ToolOutcome {
  const stdout = stdOut === '' || stdOut.endsWith('\n') ? stdOut : `${stdOut}\n`;
  if (exitCode === 0) return { exitCode, stdout };
  // A process cannot end with a code outside 0…255; Windows programs can.
  const own = exitCode > 0 && exitCode <= HIGHEST_EXIT_CODE ? exitCode : 1;
  return { exitCode: own, stdout, stderr: `${command} ended with code ${exitCode} in the guest` };
}

export async function runProbe(client: Pick<CmdApi, 'exec' | 'guestPing'>, request: ProbeRequest): Promise<ToolOutcome> {
  const { domainName, timeoutSeconds, program } = request;
  try {
    if (program) {
      const { exitCode, stdOut } = await client.exec({ domainName, timeoutSeconds, ...program });
      return ended(program.command, exitCode, stdOut);
    }
    await client.guestPing(domainName, timeoutSeconds);
    return { exitCode: 0 };
  } catch (err) {
    const what = program ? `${program.command} could not be run in the guest` : 'the ping of the guest agent failed';
    return { exitCode: 1, stderr: `${what}: ${messageOf(err)}` };
  }
}
