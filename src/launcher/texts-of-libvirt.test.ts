// Reading and writing text that libvirt and QEMU understand: configuration, XML facts, logs, recorded capabilities.
import { describe, expect, it } from 'vitest';
import { stampCapabilities } from './capabilities-cache.js';
import { libvirtdConf, qemuConf, sessionLayout } from './daemon-config.js';
import { hostModelCpu } from './node-facts.js';
import { factsOfOptions, parseCpuList, translationCacheMiB } from './prepare/facts.js';
import { lastWordsOf } from './qemu-log.js';

describe('configuration', () => {
  const settings = { hostUuid: 'u', logFilters: undefined, asRoot: false };

  it('sits where the pod’s volumes are', () => {
    expect(sessionLayout('/var/run', '/var/run/kubevirt-private')).toMatchObject({
      socket: '/var/run/libvirt/libvirt-sock',
      uri: 'qemu+unix:///session?socket=/var/run/libvirt/libvirt-sock',
      pidDir: '/var/run/libvirt/qemu/run',
      qemuConfigFile: '/var/run/kubevirt-private/libvirt/qemu.conf',
    });
  });

  it('is written in libvirt’s syntax', () => {
    expect(qemuConf(settings)).toContain('namespaces = []\n');
    expect(qemuConf(settings)).toContain('security_driver = "none"\n');
    expect(qemuConf(settings)).not.toContain('user =');
    expect(qemuConf({ ...settings, asRoot: true })).toContain('user = "root"\n');
    expect(libvirtdConf(settings)).toContain('host_uuid = "u"\n');
    expect(libvirtdConf({ ...settings, logFilters: '1:qemu' })).toContain('log_filters = "1:qemu"\n');
  });
});

describe('hostModelCpu', () => {
  it('takes the model out of the domain capabilities', () => {
    const xml = `<cpu><mode name='host-passthrough' supported='no'/><mode name='host-model' supported='yes'>\n<model>EPYC</model>\n</mode></cpu>`;
    expect(hostModelCpu(xml)).toBe('<cpu>\n<model>EPYC</model>\n</cpu>');
    expect(hostModelCpu("<mode name='host-model' supported='no'/>")).toBeUndefined();
  });
});

describe('stampCapabilities', () => {
  it('changes the two change times and nothing else', () => {
    const xml = '<qemuCaps>\n  <qemuctime>1</qemuctime>\n  <qemumoddirmtime>3</qemumoddirmtime>\n  <selfctime>2</selfctime>\n</qemuCaps>';
    expect(stampCapabilities(xml, { qemu: 10, self: 20 })).toBe(xml.replace('>1<', '>10<').replace('>2<', '>20<'));
  });
});

describe('lastWordsOf', () => {
  it.each([
    ['nothing', '', ''],
    [
      'only libvirt’s own lines',
      '2026-11-30 02:00:00.000+0000: starting up libvirt version: 11.3.0\nLC_ALL=C \\\n/usr/bin/qemu-system-x86_64 \\\n-name guest=x \\\n',
      '',
    ],
    [
      'an error of QEMU',
      'LC_ALL=C \\\n-msg timestamp=on\n2026-11-30T02:00:00.123456Z qemu-system-x86_64: cannot set up guest memory\n2026-11-30 02:00:01.000+0000: shutting down, reason=crashed\n',
      'cannot set up guest memory',
    ],
    ['a request to end', 'qemu-system-x86_64: terminating on signal 15 from pid 7\n', ''],
  ])('%s', (_, log, expected) => expect(lastWordsOf(log)).toBe(expected));
});

describe('facts', () => {
  it.each([
    ['0-2,5\n', [0, 1, 2, 5]],
    ['7', [7]],
    ['', []],
  ])('CPU list %j', (list, expected) => expect(parseCpuList(list)).toEqual(expected));

  it.each([
    [64, 32],
    [1024, 128],
    [16 * 1024, 512],
  ])('translation cache of a guest of %i MiB', (mib, expected) => expect(translationCacheMiB(BigInt(mib) * 1024n * 1024n)).toBe(expected));

  it('come out of what the node agent sends', () => {
    const sent = {
      MemBalloonStatsPeriod: 10,
      PreallocatedVolumes: ['a'],
      interfaceDomainAttachment: { default: 'tap' },
      VirtualMachineSMBios: { product: 'P' },
      clusterConfig: { FreePageReportingDisabled: true },
      topology: { numa_cells: [{ id: 1, cpus: [{ id: 2, siblings: [2, 3] }], distances: [{ id: 0, value: 10 }] }] },
    };
    expect(factsOfOptions(sent)).toEqual({
      memBalloonStatsPeriod: 10,
      preallocatedVolumes: new Set(['a']),
      interfaceAttachments: { default: 'tap' },
      freePageReportingDisabled: true,
      serialConsoleLogDisabled: false,
      bochsForEfiGuests: false,
      vgpuLiveMigration: false,
      smbios: { product: 'P' },
      topology: { cells: [{ id: 1, cpus: [{ id: 2, siblings: [2, 3] }], distances: [{ id: 0, value: 10 }] }] },
    });
  });
});
