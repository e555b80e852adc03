// virt-freezer: in the launcher pod, run by backup tools before and after they copy the VM's disks. Exit code 0 = done, or nothing to do;
// 1 = failed; 2 = wrong command line.
import { parseFreezer, runFreezer } from '../launcher/tools/freezer.js';
import { lightCmdClient } from '../rpc/light/client.js';
import { endTool, runTool } from './tool.js';

/** Velero ends a hook after 60 s; our own sentence comes before that. */
const DEADLINE_MS = 55_000;

const parsed = parseFreezer(process.argv.slice(2));
if (!parsed.ok) endTool('virt-freezer', { exitCode: 2, stderr: parsed.error });
else runTool('virt-freezer', runFreezer(lightCmdClient(parsed.value.socket, { deadlineMs: DEADLINE_MS }), parsed.value));
