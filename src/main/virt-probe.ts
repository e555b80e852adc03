// virt-probe: in the launcher pod, run by the kubelet for a VMI's probes. Exit code 0 = fine, 2 = wrong command line, else the code of the
// program in the guest or 1. Runs every few seconds in every pod with a probe, so it loads next to nothing.
import { parseProbe, probeDeadlineMs, runProbe } from '../launcher/tools/probe.js';
import { lightCmdClient } from '../rpc/light/client.js';
import { endTool, runTool } from './tool.js';

const parsed = parseProbe(process.argv.slice(2));
if (!parsed.ok) endTool('virt-probe', { exitCode: 2, stderr: parsed.error });
else runTool('virt-probe', runProbe(lightCmdClient(parsed.value.socket, { deadlineMs: probeDeadlineMs(parsed.value) }), parsed.value));
