// Debian packages: installs only what is missing, and says what to do where it cannot.
import { Problem } from './problem.mjs';
import { output, runVisibly } from './run.mjs';

export async function ensureDebianPackages(wanted, say) {
  if (wanted.length === 0) return;
  const missing = missingPackages(wanted);
  if (missing.length === 0) return;
  const names = missing.join(' ');
  if (process.getuid() !== 0)
    throw new Problem(
      `these Debian packages are missing: ${names}\ninstall them (sudo apt-get install ${names}) or run this command as root`,
    );
  say(`installing the Debian packages ${names}`);
  await updateLists();
  if (await installPackages(missing)) return;
  throw new Problem(`apt-get could not install ${names} (see above); install them by hand and try again`);
}

/** A mirror that fails once does not end a run. */
const aptGet = (...args) =>
  runVisibly('apt-get', ['-q', '-o', 'Acquire::Retries=3', ...args], { env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } });

/** A new machine has no lists. */
export const updateLists = () => aptGet('update');

/** Whether it worked. */
export const installPackages = (names) => aptGet('install', '-y', '-o', 'Dpkg::Use-Pty=0', '--no-install-recommends', ...names);

function missingPackages(wanted) {
  if (output('dpkg-query', ['--version']) === undefined) {
    throw new Problem(
      `this is no Debian system (there is no dpkg-query). The command needs what these Debian packages bring: ${wanted.join(' ')}\nrun it on Debian 12 or later, for example in a virtual machine`,
    );
  }
  // dpkg-query fails when it does not know one of the names, and still prints the others.
  const list = output('sh', ['-c', `dpkg-query -W -f '\${Package} \${db:Status-Status}\\n' ${wanted.join(' ')} 2>/dev/null || true`]) ?? '';
  return missingOf(wanted, list);
}

/** `list` has a line "NAME STATUS" a known package. */
export function missingOf(wanted, list) {
  const present = new Set(list.split('\n').flatMap((line) => (line.endsWith(' installed') ? [line.split(' ')[0]] : [])));
  return wanted.filter((name) => !present.has(name));
}
