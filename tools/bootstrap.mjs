// `node tools/bootstrap.mjs COMMAND [ARGS…]`: makes a fresh clone ready for a command (npm packages, Debian packages, Go) and
// runs it with the project's own Node. Plain JavaScript without dependencies: it must work with any Node from 20 on.
// Does nothing but a few file checks when all is there; whatever it installs, it says so on standard error.
import { spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { COMMANDS } from './bootstrap/commands.mjs';
import { ensureDebianPackages } from './bootstrap/debian.mjs';
import { ensureGo } from './bootstrap/go.mjs';
import { ensureNpmPackages } from './bootstrap/npm.mjs';
import { Problem } from './bootstrap/problem.mjs';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');

function say(line) {
  process.stderr.write(`${line}\n`);
}

async function prepare(command, args) {
  const needs = command.needs(args);
  await ensureNpmPackages(ROOT, say);
  await ensureDebianPackages(needs.debian, say);
  return needs.go ? await ensureGo(say) : {};
}

/** The command gets every signal that we get and decides what it means; its exit code is ours. */
function runEntry(entry, args, extraEnv) {
  const bin = join(ROOT, 'node_modules', '.bin');
  const path = `${bin}:${extraEnv.PATH ?? process.env.PATH}`;
  const child = spawn(join(bin, 'node'), ['--import', 'tsx', join(ROOT, entry), ...args], {
    cwd: ROOT,
    stdio: 'inherit',
    env: { ...process.env, ...extraEnv, PATH: path },
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.once('error', (err) => {
    say(`cannot run ${entry} with ${join(bin, 'node')}: ${err.message}; remove node_modules and try again`);
    process.exit(1);
  });
  child.once('exit', (code, signal) => process.exit(code ?? (signal === 'SIGINT' ? 130 : 143)));
}

const [name = '', ...args] = process.argv.slice(2);
const command = COMMANDS[name];
if (!command) {
  say(`usage: node tools/bootstrap.mjs COMMAND [ARGS…]; the commands are ${Object.keys(COMMANDS).join(', ')}`);
  process.exit(2);
}
try {
  runEntry(command.entry, args, await prepare(command, args));
} catch (err) {
  say(err instanceof Problem ? err.message : err.stack);
  process.exit(1);
}
