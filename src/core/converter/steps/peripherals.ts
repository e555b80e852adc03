// Devices of one element each: balloon, random numbers, watchdog, sound, TPM, vsock, panic notifiers, USB redirection, shared directories.
import { KvError } from '../../../base/errors.js';
import { LOCAL_VSOCK_CID } from '../../devices/vsock.js';
import { usbRedirectionSocket, virtiofsSocket } from '../../storage/paths.js';
import type { DomainDevices } from '../domain-devices.js';
import type { ItemOf } from '../domain-fields.js';
import type { Scope } from '../scope.js';
import { type Fragment, NOTHING, type Step } from '../step.js';
import { aliased, iommuDriver } from './device.js';

export const balloon: Step<'vmi' | 'domain' | 'devices' | 'virtioModel' | 'iommu' | 'memBalloonStatsPeriod' | 'freePageReportingDisabled'> =
  {
    name: 'balloon',
    render(scope): Fragment {
      if (scope.devices.autoattachMemBalloon === false) return { devices: { memballoon: { model: 'none' } } };
      const { memBalloonStatsPeriod: period, virtioModel: model, iommu } = scope;
      const stats = period > 0 ? { period } : undefined;
      return { devices: { memballoon: { model, freePageReporting: reportsFreePages(scope), stats, driver: iommuDriver(iommu) } } };
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
  render({ devices, virtioModel: model, iommu }): Fragment {
    if (!devices.rng) return NOTHING;
    return { devices: { rng: [{ model, backend: { model: 'random', value: '/dev/urandom' }, driver: iommuDriver(iommu) }] } };
  },
};

export const watchdog: Step<'devices' | 'arch'> = {
  name: 'watchdog',
  render({ devices, arch }): Fragment {
    const wanted = devices.watchdog;
    if (!wanted) return NOTHING;
    const model = arch.watchdog;
    if (!model) throw new KvError('Invalid', `watchdog ${wanted.name} is not supported on architecture ${arch.name}: remove it`);
    const settings = wanted[model];
    if (!settings) {
      throw new KvError('Invalid', `watchdog ${wanted.name} can't be mapped, no watchdog type specified: set devices.watchdog.${model}`);
    }
    return { devices: { watchdog: [{ model, action: settings.action, ...aliased(wanted.name) }] } };
  },
};

const SOUND_MODELS = ['ich9', 'ac97'] as const;

export const sound: Step<'devices'> = {
  name: 'sound',
  render({ devices }): Fragment {
    if (!devices.sound) return NOTHING;
    const { model, name } = devices.sound;
    const known = SOUND_MODELS.find((each) => each === (model || 'ich9'));
    if (!known) throw new KvError('Invalid', `invalid model: ${model}: sound ${name} can be ich9 or ac97`);
    return { devices: { sound: [{ model: known, ...aliased(name) }] } };
  },
};

export const tpm: Step<'devices' | 'arch'> = {
  name: 'tpm',
  render({ devices, arch }): Fragment {
    if (!devices.tpm || devices.tpm.enabled === false) return NOTHING;
    const persistent = devices.tpm.persistent === true;
    const backend = { type: 'emulator', version: '2.0', persistent_state: persistent || undefined } as const;
    return { devices: { tpm: [{ model: arch.tpmModel(persistent), backend }] } };
  },
};

export const vsock: Step<'vmi' | 'localVsockNamespace'> = {
  name: 'vsock',
  render({ vmi, localVsockNamespace }): Fragment {
    const cid = vmi.status?.VSOCKCID;
    if (cid === undefined) return NOTHING;
    // vhost-vsock exists as a modern device only.
    const model = 'virtio-non-transitional';
    return { devices: { vsock: { model, cid: { auto: false, address: localVsockNamespace ? LOCAL_VSOCK_CID : cid } } } };
  },
};

export const panicDevices: Step<'devices'> = {
  name: 'panic-devices',
  render: ({ devices }): Fragment => ({
    devices: { panic: (devices.panicDevices ?? []).map(({ model }): ItemOf<DomainDevices['panic']> => ({ model })) },
  }),
};

/** Sockets for `usbredir` clients; the number is part of the API. */
const REDIRECTIONS = 4;

export const usbRedirection: Step<'vmi' | 'devices'> = {
  name: 'usb-redirection',
  render({ vmi, devices }): Fragment {
    if (!devices.clientPassthrough) return NOTHING;
    const redirection = (index: number): ItemOf<DomainDevices['redirdev']> => ({
      type: 'unix',
      bus: 'usb',
      source: { mode: 'bind', path: usbRedirectionSocket(vmi.metadata.uid ?? '', index) },
    });
    return { devices: { redirdev: Array.from({ length: REDIRECTIONS }, (_, index) => redirection(index)) } };
  },
};

const sharedDirectory = (name: string): ItemOf<DomainDevices['filesystem']> => ({
  type: 'mount',
  accessmode: 'passthrough',
  source: { socket: virtiofsSocket(name) },
  target: { dir: name },
  driver: { type: 'virtiofs', queue: 1024 },
});

export const filesystems: Step<'devices'> = {
  name: 'filesystems',
  render: ({ devices }): Fragment => ({
    devices: {
      filesystem: (devices.filesystems ?? []).filter(({ virtiofs }) => virtiofs !== undefined).map(({ name }) => sharedDirectory(name)),
    },
  }),
};
