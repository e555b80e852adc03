// `npm run cluster -- COMMAND`: the local cluster's command line. Only argv, output and exit codes live here.
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../../src/base/errors.js';
import { loadEverywhere, nodePid } from './cluster.js';
import { type ClusterConfig, clusterConfig } from './config.js';
import { down } from './down.js';
import { statusReason } from './health.js';
import { readRecord } from './process-records.js';
import { logTail } from './processes.js';
import { timedLog } from './progress.js';
import { run } from './run.js';
import { up } from './up.js';

const USAGE = `usage: npm run cluster -- COMMAND
  up                 start the two-node cluster, or repair it
  down               take it away completely (logs stay)
  status             say whether it is well; exit code 1 when not
  kubeconfig         print the path of the kubeconfig (with npm run -s: only that)
  kubectl ARGS…      run kubectl against it
  virt ARGS…         run kubectl virt against it, such as: virt console demo
  load ARCHIVE…      load image archives (OCI or docker) into both nodes
  shell NODE [ARGS…] a shell (or a command) inside a node
  logs [COMPONENT]   list the log files, or show the end of one`;

const VIRT = join(import.meta.dirname, '..', '..', 'src', 'main', 'kubectl-virt.ts');

type Command = (config: ClusterConfig, args: readonly string[]) => Promise<number>;

const say = (line: string) => console.log(line);

const COMMANDS: Readonly<Record<string, Command>> = {
  up: async (config) => {
    await up(config, timedLog(say));
    return 0;
  },
  down: async (config) => {
    await down(config, timedLog(say));
    return 0;
  },
  status,
  kubeconfig: async (config) => {
    say(config.kubeconfig);
    return 0;
  },
  kubectl: (config, args) => foreground([join(config.binDir, 'kubectl'), '--kubeconfig', config.kubeconfig, ...args]),
  virt: (config, args) => foreground([process.execPath, '--import', 'tsx', VIRT, ...args], { KUBECONFIG: config.kubeconfig }),
  load: async (config, args) => {
    if (args.length === 0) return usage();
    const log = timedLog(say);
    for (const archive of args) {
      const names = await loadEverywhere(config, archive);
      log(`both nodes have ${names.join(', ')}`);
    }
    return 0;
  },
  shell: (config, [node = '', ...command]) => {
    const shell = command.length > 0 ? command : ['bash', '-l'];
    return foreground(['nsenter', '-t', String(nodePid(config, node)), '-m', '-n', '-u', '-p', '--', ...shell]);
  },
  logs,
};

async function status(config: ClusterConfig): Promise<number> {
  const reason = await statusReason(config);
  if (reason !== undefined) {
    say(`the cluster is not up: ${reason}; start or repair it with \`npm run cluster -- up\``);
    return 1;
  }
  say(`the cluster is up: ${config.nodes.map((node) => `${node.name} (${node.ip})`).join(', ')}; kubeconfig ${config.kubeconfig}`);
  say(await run([join(config.binDir, 'kubectl'), '--kubeconfig', config.kubeconfig, 'get', 'nodes', '-o', 'wide']));
  return 0;
}

async function logs(config: ClusterConfig, [component]: readonly string[]): Promise<number> {
  if (component !== undefined) {
    say(logTail(config, component, 200));
    return 0;
  }
  if (!existsSync(config.logsDir)) {
    say('there are no logs yet; start the cluster with `npm run cluster -- up`');
    return 1;
  }
  for (const file of readdirSync(config.logsDir).sort()) {
    const record = readRecord(config.pidsDir, file.replace(/\.log$/, ''));
    say(
      `${join(config.logsDir, file)}  ${Math.ceil(statSync(join(config.logsDir, file)).size / 1024)} KiB${record ? `  pid ${record.pid}` : ''}`,
    );
  }
  return 0;
}

function foreground(command: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<number> {
  const [file = '', ...args] = command;
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { stdio: 'inherit', env: { ...process.env, ...env } });
    // The terminal sends Ctrl-C to both; the child decides what it means.
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal));
    child.once('error', (err) => reject(new Error(`cannot run ${file}; is the cluster up? (npm run cluster -- up)`, { cause: err })));
    child.once('exit', (code) => resolve(code ?? 1));
  });
}

async function usage(): Promise<number> {
  console.error(USAGE);
  return 2;
}

const [name = '', ...args] = process.argv.slice(2);
try {
  process.exitCode = await (COMMANDS[name] ?? usage)(clusterConfig(process.env), args);
} catch (err) {
  console.error(messageOf(err));
  process.exitCode = 1;
}
