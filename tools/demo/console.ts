// Shows the guest's serial console the way a user would: through `kubectl virt console`, until the login prompt appears.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { KvError } from '../../src/base/errors.js';
import { ROOT } from '../run/steps.js';

const PROMPT = /login: *$/m;
// The prompt may have been printed before we looked: Enter makes the guest print it again.
const ASK_EVERY_MS = 2000;

export interface ConsoleView {
  readonly vm: string;
  readonly namespace: string;
  readonly kubeconfig: string;
  readonly timeoutMs: number;
  readonly write: (text: string) => void;
  readonly signal: AbortSignal;
}

export function showLoginPrompt({ vm, namespace, kubeconfig, timeoutMs, write, signal }: ConsoleView): Promise<void> {
  const child = spawn(process.execPath, ['--import', 'tsx', join(ROOT, 'src/main/kubectl-virt.ts'), 'console', vm, '-n', namespace], {
    cwd: ROOT,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, KUBECONFIG: kubeconfig },
  });
  let seen = '';
  return new Promise<void>((resolve, reject) => {
    const take = (data: Buffer) => {
      write(data.toString('utf8'));
      seen = (seen + data.toString('utf8')).slice(-2000);
      if (PROMPT.test(seen)) resolve();
    };
    child.stdout.on('data', take);
    child.stderr.on('data', (data: Buffer) => write(data.toString('utf8')));
    child.stdin.on('error', () => undefined); // the console ended: its exit tells why
    const ask = setInterval(() => child.stdin.write('\r'), ASK_EVERY_MS);
    const late = setTimeout(
      () => reject(new KvError('Timeout', `no login prompt on ${vm}'s console within ${timeoutMs / 1000} s`)),
      timeoutMs,
    );
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    child.once('error', reject);
    child.once('exit', (code) => {
      clearInterval(ask);
      clearTimeout(late);
      reject(new KvError('Unavailable', `\`kubectl virt console ${vm}\` ended with code ${code} before the login prompt`));
    });
  }).finally(() => child.kill());
}
