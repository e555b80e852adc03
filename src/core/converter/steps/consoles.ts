// How people reach the guest: serial console, screen, and the channels of the guest agent and downward metrics.
import { DOWNWARD_METRICS_SOCKET, serialLog, serialSocket, vncSocket } from '../../storage/paths.js';
import type { DomainChannel, VideoModel } from '../domain-devices.js';
import type { Scope } from '../scope.js';
import { type Fragment, NOTHING, type Step } from '../step.js';

const uidOf = ({ vmi }: Pick<Scope, 'vmi'>): string => vmi.metadata.uid ?? '';

export const serialConsole: Step<'vmi' | 'devices' | 'arch' | 'serialConsoleLogDisabled'> = {
  name: 'serial-console',
  render(scope): Fragment {
    if (scope.devices.autoattachSerialConsole === false) return NOTHING;
    const uid = uidOf(scope);
    const logged = scope.devices.logSerialConsole ?? !scope.serialConsoleLogDisabled;
    return {
      devices: {
        serial: [
          {
            type: 'unix',
            target: { type: scope.arch.serialTarget, port: 0 },
            source: { mode: 'bind', path: serialSocket(uid) },
            log: logged ? { file: serialLog(uid), append: true } : undefined,
          },
        ],
        console: [{ type: 'pty', target: { type: 'serial', port: 0 } }],
      },
    };
  },
};

export const AGENT_CHANNEL = 'org.qemu.guest_agent.0';

/** No path: libvirt chooses one and follows the domain through migrations. */
const GUEST_AGENT: DomainChannel = { type: 'unix', target: { type: 'virtio', name: AGENT_CHANNEL } };

const DOWNWARD_METRICS: DomainChannel = {
  type: 'unix',
  source: { mode: 'bind', path: DOWNWARD_METRICS_SOCKET },
  target: { type: 'virtio', name: 'org.github.vhostmd.1' },
};

export const channels: Step<'devices'> = {
  name: 'channels',
  render: ({ devices }): Fragment => ({ devices: { channel: devices.downwardMetrics ? [GUEST_AGENT, DOWNWARD_METRICS] : [GUEST_AGENT] } }),
};

/** KiB of video memory of adapters that have a fixed amount. */
const VRAM = 16384;

type GraphicsNeeds = 'vmi' | 'domain' | 'devices' | 'arch' | 'bochsForEfiGuests' | 'crossArchEmulation';

export const graphics: Step<GraphicsNeeds> = {
  name: 'graphics',
  render(scope): Fragment {
    if (scope.devices.autoattachGraphicsDevice === false || scope.crossArchEmulation) return NOTHING;
    return {
      devices: {
        video: [{ model: videoModel(scope) }],
        graphics: [{ type: 'vnc', listen: [{ type: 'socket', socket: vncSocket(uidOf(scope)) }] }],
      },
    };
  },
};

function videoModel({ devices, domain, arch, bochsForEfiGuests }: Pick<Scope, GraphicsNeeds>): VideoModel {
  if (devices.video) return { type: devices.video.type, heads: 1, vram: VRAM };
  if (arch.video === 'virtio') return { type: 'virtio', heads: 1 };
  const efi = domain.firmware?.bootloader?.efi !== undefined;
  return efi && bochsForEfiGuests ? { type: 'bochs', heads: 1 } : { type: 'vga', heads: 1, vram: VRAM };
}
