// Devices of one element each: balloon, random numbers, watchdog, sound, TPM, vsock, panic notifiers, USB redirection, shared directories.
import { KvError } from '../../../base/errors.js';
import { LOCAL_VSOCK_CID } from '../../devices/vsock.js';
import { usbRedirectionSocket, virtiofsSocket } from '../../storage/paths.js';
import type { Scope } from '../scope.js';
import { NOTHING, type Step } from '../step.js';
import { el, onOff, textEl } from '../xml.js';
import { alias, iommuDriver } from './device.js';

export const balloon: Step<'vmi' | 'domain' | 'devices' | 'virtioModel' | 'iommu' | 'memBalloonStatsPeriod' | 'freePageReportingDisabled'> =
  {
    name: 'balloon',
    render(scope) {
      if (scope.devices.autoattachMemBalloon === false) return { devices: [el('memballoon', { model: 'none' })] };
      const { memBalloonStatsPeriod: period, virtioModel: model } = scope;
      const stats = period > 0 && el('stats', { period });
      return {
        devices: [el('memballoon', { model, freePageReporting: onOff(reportsFreePages(scope)) }, [stats, iommuDriver(scope.iommu)])],
      };
    },
  };

/** Returning pages to the host costs latency, which guests with dedicated CPUs, real time or huge pages were bought to avoid. */
function reportsFreePages({
  vmi,
  domain,
  freePageReportingDisabled,
}: Pick<Scope, 'vmi' | 'domain' | 'freePageReportingDisabled'>): boolean {
  const highPerformance = domain.cpu?.dedicatedCpuPlacement || domain.cpu?.realtime || domain.memory?.hugepages;
  return (
    !freePageReportingDisabled && !highPerformance && vmi.metadata.annotations?.['kubevirt.io/free-page-reporting-disabled'] !== 'true'
  );
}

export const rng: Step<'devices' | 'virtioModel' | 'iommu'> = {
  name: 'rng',
  render({ devices, virtioModel: model, iommu }) {
    if (!devices.rng) return NOTHING;
    return { devices: [el('rng', { model }, [textEl('backend', '/dev/urandom', { model: 'random' }), iommuDriver(iommu)])] };
  },
};

export const watchdog: Step<'devices' | 'arch'> = {
  name: 'watchdog',
  render({ devices, arch }) {
    const wanted = devices.watchdog;
    if (!wanted) return NOTHING;
    const model = arch.watchdog;
    if (!model) throw new KvError('Invalid', `watchdog ${wanted.name} is not supported on architecture ${arch.name}: remove it`);
    const settings = wanted[model];
    if (!settings) {
      throw new KvError('Invalid', `watchdog ${wanted.name} can't be mapped, no watchdog type specified: set devices.watchdog.${model}`);
    }
    return { devices: [el('watchdog', { model, action: settings.action }, [alias(wanted.name)])] };
  },
};

export const sound: Step<'devices'> = {
  name: 'sound',
  render({ devices }) {
    if (!devices.sound) return NOTHING;
    const { model = '', name } = devices.sound;
    if (!['', 'ich9', 'ac97'].includes(model)) throw new KvError('Invalid', `invalid model: ${model}: sound ${name} can be ich9 or ac97`);
    return { devices: [el('sound', { model: model || 'ich9' }, [alias(name)])] };
  },
};

export const tpm: Step<'devices' | 'arch'> = {
  name: 'tpm',
  render({ devices, arch }) {
    if (!devices.tpm || devices.tpm.enabled === false) return NOTHING;
    const persistent = devices.tpm.persistent === true;
    const backend = el('backend', { type: 'emulator', version: '2.0', persistent_state: persistent ? 'yes' : undefined });
    return { devices: [el('tpm', { model: arch.tpmModel(persistent) }, [backend])] };
  },
};

export const vsock: Step<'vmi' | 'localVsockNamespace'> = {
  name: 'vsock',
  render({ vmi, localVsockNamespace }) {
    const cid = vmi.status?.VSOCKCID;
    if (cid === undefined) return NOTHING;
    // vhost-vsock exists as a modern device only.
    const address = el('cid', { auto: 'no', address: localVsockNamespace ? LOCAL_VSOCK_CID : cid });
    return { devices: [el('vsock', { model: 'virtio-non-transitional' }, [address])] };
  },
};

export const panicDevices: Step<'devices'> = {
  name: 'panic-devices',
  render: ({ devices }) => ({ devices: (devices.panicDevices ?? []).map(({ model }) => el('panic', { model })) }),
};

/** Sockets for `usbredir` clients; the number is part of the API. */
const REDIRECTIONS = 4;

export const usbRedirection: Step<'vmi' | 'devices'> = {
  name: 'usb-redirection',
  render({ vmi, devices }) {
    if (!devices.clientPassthrough) return NOTHING;
    const source = (index: number) => el('source', { mode: 'bind', path: usbRedirectionSocket(vmi.metadata.uid ?? '', index) });
    return { devices: Array.from({ length: REDIRECTIONS }, (_, index) => el('redirdev', { type: 'unix', bus: 'usb' }, [source(index)])) };
  },
};

export const filesystems: Step<'devices'> = {
  name: 'filesystems',
  render: ({ devices }) => ({
    devices: (devices.filesystems ?? [])
      .filter(({ virtiofs }) => virtiofs !== undefined)
      .map(({ name }) =>
        el('filesystem', { type: 'mount', accessmode: 'passthrough' }, [
          el('source', { socket: virtiofsSocket(name) }),
          el('target', { dir: name }),
          el('driver', { type: 'virtiofs', queue: 1024 }),
        ]),
      ),
  }),
};
