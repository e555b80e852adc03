// A fake launcher as a process of its own, to be run in its own namespaces: prints each command that it receives as a line and ends with
// its standard input. Arguments: pods directory, pod UID, VMI UID.
import { startFakeLauncher } from '../fakes/fake-launcher.js';

const [podsDir = '', podUid = '', uid = ''] = process.argv.slice(2);

async function main(): Promise<void> {
  const launcher = await startFakeLauncher({ podsDir, podUid, uid, now: () => Date.now() });
  await launcher.publish();
  console.log('ready');
  let told = 0;
  setInterval(() => {
    for (; told < launcher.commands.length; told++) console.log(launcher.commands[told]);
  }, 20);
  process.stdin.on('end', () => process.exit(0));
  process.stdin.resume();
}

main().catch((err: unknown) => {
  console.error(err);
  process.exit(1);
});
