// How the benchmark reads what it is shown: which VM a pod belongs to, where a console's log lies on the node, and when the launcher
// says that it defined the domain. Pure.
import type { Pod } from '../../src/api/index.js';

/** The label that benchVm() gives the template, and that travels on to VMI and pod. */
export const vmOfPod = (pod: Pod): string | undefined => pod.metadata.labels?.bench;

/** Through the node's first process, since each node has its own mounts. */
export function consoleLogPath(nodePid: number, podUid: string, vmiUid: string): string {
  return `/proc/${nodePid}/root/var/lib/kubelet/pods/${podUid}/volumes/kubernetes.io~empty-dir/private/${vmiUid}/virt-serial0-log`;
}

interface LogLine {
  readonly msg?: string;
  readonly time?: string;
  readonly startMs?: number;
}

/** From the launcher's log: its line about the start says how long QEMU took after the definition. */
export function definedAt(log: string): number | undefined {
  const line = log.split('\n').find((text) => text.startsWith('{') && text.includes('"Started the guest"'));
  if (line === undefined) return undefined;
  const { time, startMs } = JSON.parse(line) as LogLine;
  return time === undefined || startMs === undefined ? undefined : Date.parse(time) - startMs;
}
