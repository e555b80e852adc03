// How people reach the guest: serial console, screen, and the channels of the guest agent and downward metrics.
import { DOWNWARD_METRICS_SOCKET, serialLog, serialSocket, vncSocket } from '../../storage/paths.js';
import type { Scope } from '../scope.js';
import { NOTHING, type Step } from '../step.js';
import { el, type XmlNode } from '../xml.js';

const uidOf = ({ vmi }: Pick<Scope, 'vmi'>): string => vmi.metadata.uid ?? '';

export const serialConsole: Step<'vmi' | 'devices' | 'arch' | 'serialConsoleLogDisabled'> = {
  name: 'serial-console',
  render(scope) {
    if (scope.devices.autoattachSerialConsole === false) return NOTHING;
    const uid = uidOf(scope);
    const logged = scope.devices.logSerialConsole ?? !scope.serialConsoleLogDisabled;
    const serial = el('serial', { type: 'unix' }, [
      el('target', { type: scope.arch.serialTarget, port: 0 }),
      el('source', { mode: 'bind', path: serialSocket(uid) }),
      logged && el('log', { file: serialLog(uid), append: 'on' }),
    ]);
    return { devices: [serial, el('console', { type: 'pty' }, [el('target', { type: 'serial', port: 0 })])] };
  },
};

export const channels: Step<'devices'> = {
  name: 'channels',
  render: ({ devices }) => ({
    devices: [
      // No path: libvirt chooses one and follows the domain through migrations.
      el('channel', { type: 'unix' }, [el('target', { type: 'virtio', name: 'org.qemu.guest_agent.0' })]),
      ...(devices.downwardMetrics ? [downwardMetrics()] : []),
    ],
  }),
};

const downwardMetrics = (): XmlNode =>
  el('channel', { type: 'unix' }, [
    el('source', { mode: 'bind', path: DOWNWARD_METRICS_SOCKET }),
    el('target', { type: 'virtio', name: 'org.github.vhostmd.1' }),
  ]);

/** KiB of video memory of adapters that have a fixed amount. */
const VRAM = 16384;

type GraphicsNeeds = 'vmi' | 'domain' | 'devices' | 'arch' | 'bochsForEfiGuests' | 'crossArchEmulation';

export const graphics: Step<GraphicsNeeds> = {
  name: 'graphics',
  render(scope) {
    if (scope.devices.autoattachGraphicsDevice === false || scope.crossArchEmulation) return NOTHING;
    const listen = el('listen', { type: 'socket', socket: vncSocket(uidOf(scope)) });
    return { devices: [el('video', {}, [el('model', videoModel(scope))]), el('graphics', { type: 'vnc' }, [listen])] };
  },
};

function videoModel({ devices, domain, arch, bochsForEfiGuests }: Pick<Scope, GraphicsNeeds>): Record<string, string | number | undefined> {
  if (devices.video) return { type: devices.video.type, heads: 1, vram: VRAM };
  if (arch.video === 'virtio') return { type: 'virtio', heads: 1 };
  const efi = domain.firmware?.bootloader?.efi !== undefined;
  return efi && bochsForEfiGuests ? { type: 'bochs', heads: 1 } : { type: 'vga', heads: 1, vram: VRAM };
}
