// Hands the device nodes of a launcher's container to the user it runs as: containers get them with the host's owner, and a launcher
// without privileges could not open them. The nodes are the container's own; the host's stay as they are.
import { chown, stat } from 'node:fs/promises';
import { hasCode } from '../../base/errors.js';
import { existsBeneath, withBeneath } from '../../linux/safe-path.js';
import { type Isolation, rootOf } from '../launchers/launcher.js';

const DEVICES = ['/dev/kvm', '/dev/net/tun', '/dev/vhost-net'];

/** Devices that the container does not have are skipped. */
export async function claimDevices(isolation: Isolation, devices: readonly string[] = DEVICES): Promise<void> {
  if (isolation.uid === 0) return;
  for (const device of devices) await claim(rootOf(isolation), device, isolation.uid);
}

async function claim(root: string, device: string, uid: number): Promise<void> {
  try {
    await withBeneath(root, device, async ({ path }) => {
      if ((await stat(path)).isCharacterDevice()) await chown(path, uid, uid);
    });
  } catch (err) {
    if (!hasCode(err, 'NotFound')) throw err;
  }
}

/** Whether the launcher's container was given /dev/kvm. */
export const hasKvm = (isolation: Isolation): Promise<boolean> => existsBeneath(rootOf(isolation), '/dev/kvm');
