// Runs a program; its output goes to our standard error, so that the command's own standard output stays clean.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

export function runVisibly(file, args, options = {}) {
  return new Promise((resolve) => {
    const child = spawn(file, args, { stdio: ['ignore', 2, 2], ...options });
    child.once('error', () => resolve(false));
    child.once('exit', (code) => resolve(code === 0));
  });
}

export function isOnPath(program) {
  return (process.env.PATH ?? '').split(':').some((dir) => existsSync(join(dir, program)));
}

/** Standard output, or undefined when the program is missing or fails. */
export function output(file, args, options = {}) {
  const done = spawnSync(file, args, { encoding: 'utf8', ...options });
  return done.status === 0 ? done.stdout : undefined;
}
