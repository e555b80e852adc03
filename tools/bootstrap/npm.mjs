// The npm packages exactly as package-lock.json says. A stamp with the lock's hash spares the comparison next time.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Problem } from './problem.mjs';
import { isOnPath, runVisibly } from './run.mjs';

export async function ensureNpmPackages(root, say) {
  const lock = readFileSync(join(root, 'package-lock.json'));
  const hash = createHash('sha256').update(lock).digest('hex');
  const stamp = join(root, 'node_modules', '.kubevirt-ts-lock');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === hash) return;
  if (!isInstalled(JSON.parse(lock), readInstalled(root))) {
    say('installing the npm packages of package-lock.json');
    if (!isOnPath('npm'))
      throw new Problem('there is no npm on the PATH; install it (it comes with Node; on Debian: apt-get install npm) and try again');
    if (!(await runVisibly('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: root }))) {
      throw new Problem('`npm ci --ignore-scripts` failed (see above); check the access to the npm registry and try again');
    }
  }
  if (!existsSync(join(root, 'node_modules', '.bin', 'node'))) {
    throw new Problem(
      `there is no Node for ${process.platform}-${process.arch} among the packages; this project runs on linux-x64 and linux-arm64`,
    );
  }
  writeFileSync(stamp, hash);
}

function readInstalled(root) {
  const file = join(root, 'node_modules', '.package-lock.json');
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
}

/** True when every package of the lock that every machine gets is there in the locked version. */
export function isInstalled(lock, installed) {
  if (!installed) return false;
  return Object.entries(lock.packages).every(
    ([path, wanted]) => path === '' || wanted.optional || wanted.devOptional || installed.packages[path]?.version === wanted.version,
  );
}
