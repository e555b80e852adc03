// Programs as their users see them: exit code and both outputs, whatever the code is. Used by the journeys of the clients.
import { execFile } from 'node:child_process';
import { cluster } from '../harness.js';

export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const MAX_OUTPUT = 64 * 1024 * 1024;
const TIMEOUT_MS = 300_000;

/** Runs with the cluster's kubeconfig; rejects only when the program cannot be run. */
export async function runClient(command: readonly string[], input = ''): Promise<Outcome> {
  const [file = '', ...args] = command;
  const env = { ...process.env, KUBECONFIG: (await cluster()).kubeconfig };
  return new Promise((resolve, reject) => {
    const child = execFile(file, args, { env, maxBuffer: MAX_OUTPUT, timeout: TIMEOUT_MS }, (err, stdout, stderr) => {
      if (err && typeof err.code !== 'number') reject(err);
      else resolve({ code: Number(err?.code ?? 0), stdout, stderr });
    });
    child.stdin?.end(input);
  });
}

/** Lines without the empty ones. */
export const linesOf = (text: string): string[] => text.split('\n').filter((line) => line.trim() !== '');
