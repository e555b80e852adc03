// virt-launcher: runs the one VM of a pod. Reads flags and environment, turns signals into a wish to stop, and exits with what the
// launcher room returns. The last line on stderr is a sentence for people: the kubelet shows it on a failed pod.
import { randomUUID } from 'node:crypto';
import { systemClock } from '../base/clock.js';
import { makeCtx } from '../base/context.js';
import { messageOf } from '../base/errors.js';
import { createLogger } from '../base/logger.js';
import { RECORDED_CAPABILITIES } from '../launcher/capabilities-cache.js';
import { type DaemonLayout, sessionLayout, systemLayout } from '../launcher/daemon-config.js';
import { type Outcome, runLauncher } from '../launcher/launcher.js';
import { type LauncherOptions, parseLauncherOptions } from '../launcher/options.js';
import { StrayFaults } from '../launcher/stray-faults.js';
import { createLibvirt, exitAtOnce } from '../libvirt/index.js';
import { run } from '../linux/exec.js';

const DEFAULT_VERBOSITY = 2;

function options(): LauncherOptions {
  const parsed = parseLauncherOptions(process.argv.slice(2));
  if (parsed.ok) return parsed.value;
  process.stderr.write(`virt-launcher: ${parsed.error}\n`);
  process.exit(2);
}

function layout(asRoot: boolean): DaemonLayout {
  if (asRoot) return systemLayout();
  return sessionLayout(process.env.XDG_RUNTIME_DIR ?? '/var/run', process.env.XDG_CONFIG_HOME ?? '/var/run/kubevirt-private');
}

function end({ exitCode, lastWords }: Outcome): never {
  if (lastWords !== undefined) process.stderr.write(`${lastWords}\n`);
  exitAtOnce(exitCode);
}

async function main(): Promise<void> {
  const opts = options();
  const verbosity = Number(process.env.VIRT_LAUNCHER_LOG_VERBOSITY ?? DEFAULT_VERBOSITY);
  const log = createLogger('virt-launcher', verbosity).child({ namespace: opts.namespace, name: opts.name, uid: opts.uid });
  const fatal = (err: unknown): never => {
    log.fatal({ err }, 'virt-launcher failed');
    return end({ exitCode: 1, lastWords: `virt-launcher of VM ${opts.name} failed: ${messageOf(err)}` });
  };
  const faults = new StrayFaults(log, fatal);
  process.on('uncaughtException', faults.hear);
  process.on('unhandledRejection', faults.hear);
  const terminate = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGQUIT'] as const) process.on(signal, () => terminate.abort());

  const asRoot = process.getuid?.() === 0;
  const setup = {
    options: opts,
    env: process.env,
    verbosity,
    libvirt: createLibvirt(log),
    run,
    layout: layout(asRoot),
    settings: { hostUuid: randomUUID(), logFilters: opts.libvirtLogFilters, asRoot },
    recordedCapabilities: RECORDED_CAPABILITIES,
  };
  const ctx = makeCtx(new AbortController().signal, log, systemClock);
  await runLauncher(ctx, setup, { terminate: terminate.signal, guestRuns: () => faults.guestRuns() }).then(end, fatal);
}

main().catch((err: unknown) => end({ exitCode: 1, lastWords: `virt-launcher could not start: ${messageOf(err)}` }));
