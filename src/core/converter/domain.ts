// What a domain may contain, of libvirt's words: those that we write and those that we read of a running guest. Keys are libvirt's own names, except
// where the comment says so. Steps return parts of a Domain; an element, attribute or word that is not here does not compile. What libvirt or a hook
// adds beyond this survives unread (domain-xml.ts). A new element is a new line here.
import { devices, size } from './domain-devices.js';
import { big, child, children, content, flag, int, leaf, type Model, named, onOff, text, word, yesNo } from './domain-fields.js';

const onlyText = { value: content(text) };
const state = child({ state: onOff });

// Processors and memory

const cell = {
  id: int,
  cpus: text,
  memory: big,
  unit: word('b', 'KiB'),
  distances: child({ sibling: children({ id: int, value: int }) }),
};
export interface NumaCell extends Model<typeof cell> {}

const cpuFeature = { name: text, policy: text };
export interface DomainCpuFeature extends Model<typeof cpuFeature> {}

const cpu = {
  mode: word('custom', 'host-model', 'host-passthrough', 'maximum'),
  model: child(onlyText),
  feature: children(cpuFeature),
  topology: child({ sockets: int, cores: int, threads: int }),
  numa: child({ cell: children(cell) }),
};
export interface DomainCpu extends Model<typeof cpu> {}

const pinned = { cpuset: text };
const cputune = {
  vcpupin: children({ vcpu: int, ...pinned }),
  emulatorpin: child(pinned),
  iothreadpin: children({ iothread: int, ...pinned }),
};
export interface CpuTune extends Model<typeof cputune> {}

const vcpus = { vcpu: children({ id: int, enabled: yesNo, hotpluggable: yesNo }) };
export interface Vcpus extends Model<typeof vcpus> {}

const memoryMode = word('strict', 'preferred', 'interleave', 'restrictive');
const numatune = {
  memory: child({ mode: memoryMode, nodeset: text }),
  memnode: children({ cellid: int, mode: memoryMode, nodeset: text }),
};
export interface NumaTune extends Model<typeof numatune> {}

const memoryBacking = {
  hugepages: child({ page: children({ size: big, unit: word('b', 'KiB', 'M', 'G'), nodeset: text }) }),
  source: child({ type: word('memfd', 'file', 'anonymous') }),
  access: child({ mode: word('shared', 'private') }),
  allocation: child({ mode: word('immediate', 'ondemand') }),
  nosharepages: flag,
};
export interface MemoryBacking extends Model<typeof memoryBacking> {}

// Machine

const table = { entry: children({ name: text, ...onlyText }) };
export interface SmbiosTable extends Model<typeof table> {}

const sysinfo = {
  type: word('smbios', 'fwcfg'),
  system: child(table),
  bios: child(table),
  baseBoard: children(table),
  chassis: child(table),
};

const acpi = { table: children({ type: word('slic', 'msdm', 'raw'), ...onlyText }) };
export interface AcpiTables extends Model<typeof acpi> {}

const os = {
  firmware: word('efi', 'bios'),
  type: child({ arch: text, machine: text, value: content(word('hvm')) }),
  /** <firmware>. */
  firmwareFeatures: named('firmware', child({ feature: children({ enabled: yesNo, name: word('secure-boot', 'enrolled-keys') }) })),
  loader: child({ readonly: yesNo, secure: yesNo, type: word('rom', 'pflash'), ...onlyText }),
  nvram: child({ template: text, format: word('raw', 'qcow2'), ...onlyText }),
  acpi: child(acpi),
  smbios: child({ mode: word('sysinfo', 'host', 'emulate') }),
  bootmenu: child({ enable: yesNo, timeout: int }),
  bios: child({ useserial: yesNo }),
  kernel: leaf(text),
  initrd: leaf(text),
  cmdline: leaf(text),
};
export interface DomainOs extends Model<typeof os> {}

const hyperv = {
  mode: word('custom', 'passthrough'),
  relaxed: state,
  vapic: state,
  spinlocks: child({ state: onOff, retries: int }),
  vpindex: state,
  runtime: state,
  synic: state,
  stimer: child({ state: onOff, direct: state }),
  reset: state,
  vendor_id: child({ state: onOff, value: text }),
  frequencies: state,
  reenlightenment: state,
  tlbflush: child({ state: onOff, direct: state, extended: state }),
  ipi: state,
  evmcs: state,
};
export interface HypervFeatures extends Model<typeof hyperv> {}

const features = {
  acpi: flag,
  apic: child({ eoi: onOff }),
  smm: state,
  hyperv: child(hyperv),
  pvspinlock: state,
  kvm: child({ hidden: state, 'hint-dedicated': state }),
  pmu: state,
  vmport: state,
  tcg: child({ 'tb-cache': child({ unit: word('MiB'), value: content(int) }) }),
};
export interface DomainFeatures extends Model<typeof features> {}

const timer = {
  name: word('rtc', 'pit', 'kvmclock', 'hpet', 'hypervclock', 'tsc', 'platform', 'armvtimer'),
  tickpolicy: text,
  present: yesNo,
  track: text,
  frequency: int,
};
export interface ClockTimer extends Model<typeof timer> {}

const clock = {
  offset: word('utc', 'timezone', 'localtime', 'variable', 'absolute'),
  adjustment: text,
  timezone: text,
  timer: children(timer),
};
export interface DomainClock extends Model<typeof clock> {}

const launchSecurity = {
  type: word('sev', 'sev-snp', 'tdx', 's390-pv'),
  dhCert: leaf(text),
  session: leaf(text),
  policy: leaf(text),
  quoteGenerationService: child({ path: text }),
};
export interface DomainLaunchSecurity extends Model<typeof launchSecurity> {}

// The whole

const metadata = child({
  kubevirt: child({ xmlns: text, uid: leaf(text), graceperiod: child({ deletionGracePeriodSeconds: leaf(int) }) }),
});

export const DOMAIN = {
  type: word('kvm', 'qemu', 'hyperv'),
  'xmlns:qemu': text,
  name: leaf(text),
  uuid: leaf(text),
  metadata,
  memory: child(size),
  currentMemory: child(size),
  maxMemory: child(size),
  memoryBacking: child(memoryBacking),
  cpu: child(cpu),
  vcpu: child({ placement: word('static', 'auto'), current: int, value: content(int) }),
  vcpus: child(vcpus),
  iothreads: leaf(int),
  cputune: child(cputune),
  numatune: child(numatune),
  sysinfo: child(sysinfo),
  os: child(os),
  features: child(features),
  clock: child(clock),
  on_reboot: leaf(word('destroy', 'restart', 'preserve')),
  launchSecurity: child(launchSecurity),
  iommufd: child({ enabled: yesNo, fdgroup: text }),
  devices: child(devices),
  'qemu:commandline': child({ 'qemu:arg': children({ value: text }) }),
};
export interface Domain extends Model<typeof DOMAIN> {}
