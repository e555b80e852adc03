// What the devices of a domain may contain: the part of the model (domain.ts) that most steps return, by the names of libvirt's elements.
import { big, child, children, content, flag, int, leaf, type Model, onOff, text, word, yesNo } from './domain-fields.js';

/** libvirt's sizes are KiB unless they say otherwise. */
export const size = {
  unit: word('b', 'bytes', 'KB', 'k', 'KiB', 'MB', 'M', 'MiB', 'GB', 'G', 'GiB', 'TB', 'T', 'TiB'),
  slots: int,
  value: content(big),
};
export interface Size extends Model<typeof size> {}

/** PCI addresses are written in hexadecimal, places on a drive's bus in decimal. */
const address = {
  type: word('pci', 'drive', 'usb', 'virtio-serial', 'ccw', 'virtio-mmio', 'isa', 'spapr-vio', 'dimm'),
  domain: text,
  controller: text,
  bus: text,
  slot: text,
  function: text,
  target: text,
  unit: text,
  device: text,
  uuid: text,
};
export interface Address extends Model<typeof address> {}

/** What devices have in common. */
const device = {
  alias: child({ name: text }),
  boot: child({ order: int }),
  address: child(address),
};
export interface Device extends Model<typeof device> {}

// Disks

const diskType = word('file', 'block', 'dir', 'network', 'volume', 'nvme', 'vhostuser', 'vhostvdpa');

const slices = child({ slice: children({ type: word('storage'), offset: big, size: big }) });
const data = { file: text, dev: text, index: int, slices };
export interface DataElement extends Model<typeof data> {}

const diskSource = {
  ...data,
  reservations: child({
    managed: yesNo,
    migration: yesNo,
    source: child({ type: word('unix'), path: text, mode: word('client', 'server') }),
  }),
  /** The data of an image that only tracks changes. */
  dataStore: child({ type: diskType, format: child({ type: text }), source: child(data) }),
};
export interface DiskSourceElement extends Model<typeof diskSource> {}

const diskDriver = {
  name: word('qemu'),
  type: text,
  cache: text,
  error_policy: word('stop', 'ignore', 'report', 'enospace'),
  io: text,
  iothread: int,
  queues: int,
  discard: word('unmap', 'ignore'),
  iommu: onOff,
  iothreads: child({ iothread: children({ id: int }) }),
};
export interface DiskDriver extends Model<typeof diskDriver> {}

const backingStore = { type: diskType, format: child({ type: text }), source: child(data) };
export interface BackingStore extends Model<typeof backingStore> {}

const blockIo = { logical_block_size: int, physical_block_size: int, discard_granularity: int };
export interface BlockIo extends Model<typeof blockIo> {}

const disk = {
  ...device,
  type: diskType,
  device: word('disk', 'lun', 'cdrom', 'floppy'),
  model: text,
  source: child(diskSource),
  target: child({ dev: text, bus: text, tray: text }),
  serial: leaf(text),
  driver: child(diskDriver),
  readonly: flag,
  shareable: flag,
  backingStore: child(backingStore),
  blockio: child(blockIo),
};
export interface DomainDisk extends Model<typeof disk> {}

const filesystem = {
  ...device,
  type: word('mount'),
  accessmode: word('passthrough', 'mapped', 'squash'),
  source: child({ socket: text, dir: text }),
  target: child({ dir: text }),
  driver: child({ type: word('virtiofs', 'path', 'handle'), queue: int }),
};

// Network

const portForward = {
  proto: word('tcp', 'udp'),
  range: children({ start: int, end: int, to: int, exclude: yesNo }),
};
export interface PortForward extends Model<typeof portForward> {}

const networkInterface = {
  ...device,
  type: word('ethernet', 'vhostuser', 'user', 'bridge', 'network', 'direct', 'hostdev', 'vdpa'),
  mac: child({ address: text }),
  source: child({ dev: text }),
  backend: child({ type: word('passt', 'default'), logFile: text }),
  portForward: children(portForward),
  target: child({ dev: text, managed: yesNo }),
  rom: child({ enabled: yesNo }),
  link: child({ state: word('up', 'down') }),
  mtu: child({ size: int }),
  model: child({ type: text }),
  driver: child({ name: word('vhost', 'qemu'), queues: int, iommu: onOff }),
  acpi: child({ index: int }),
};
export interface DomainInterface extends Model<typeof networkInterface> {}

// Devices of the host

const hostDevice = {
  ...device,
  type: word('pci', 'mdev', 'usb', 'scsi', 'scsi_host'),
  mode: word('subsystem', 'capabilities'),
  managed: yesNo,
  model: text,
  display: onOff,
  ramfb: onOff,
  source: child({ address: child(address) }),
};
export interface DomainHostDevice extends Model<typeof hostDevice> {}

// Other devices

const underIommu = child({ iommu: onOff });

const controller = {
  ...device,
  type: word('pci', 'usb', 'scsi', 'sata', 'ide', 'virtio-serial', 'ccid', 'fdc', 'isa'),
  index: int,
  model: text,
  driver: child({ iothread: int, queues: int, iommu: onOff }),
  target: child({ busNr: int, node: leaf(int) }),
  pcihole64: child({ unit: word('KiB'), value: content(int) }),
};
export interface DomainController extends Model<typeof controller> {}

const socketSource = child({ mode: word('bind', 'connect'), path: text });
const characterType = word('unix', 'pty', 'null', 'file', 'spicevmc', 'tcp');

const serial = {
  ...device,
  type: characterType,
  target: child({ type: text, port: int }),
  source: socketSource,
  log: child({ file: text, append: onOff }),
};
export interface DomainSerial extends Model<typeof serial> {}

const channel = {
  ...device,
  type: characterType,
  source: socketSource,
  target: child({ type: word('virtio', 'guestfwd', 'xen'), name: text, state: word('connected', 'disconnected') }),
};
export interface DomainChannel extends Model<typeof channel> {}

const input = {
  ...device,
  type: word('tablet', 'keyboard', 'mouse', 'evdev', 'passthrough'),
  bus: word('usb', 'virtio', 'ps2', 'xen'),
  model: text,
};
export interface DomainInput extends Model<typeof input> {}

const videoModel = { type: text, heads: int, vram: int };
export interface VideoModel extends Model<typeof videoModel> {}

const graphics = {
  type: word('vnc', 'spice', 'egl-headless'),
  listen: children({ type: word('socket', 'address', 'none'), socket: text }),
};

const tpm = {
  ...device,
  model: text,
  backend: child({ type: word('emulator', 'passthrough', 'external'), version: word('1.2', '2.0'), persistent_state: yesNo }),
};

const balloon = { ...device, model: text, freePageReporting: onOff, stats: child({ period: int }), driver: underIommu };

const rng = {
  ...device,
  model: text,
  backend: child({ model: word('random', 'egd', 'builtin'), value: content(text) }),
  driver: underIommu,
};

const memoryDevice = {
  ...device,
  model: word('virtio-mem', 'virtio-pmem', 'dimm', 'nvdimm', 'sgx-epc'),
  target: child({ size: child(size), node: leaf(int), block: child(size), requested: child(size), current: child(size) }),
};
export interface MemoryDevice extends Model<typeof memoryDevice> {}

const redirection = { ...device, type: characterType, bus: word('usb'), source: socketSource };

/** Kinds that a domain has several of are lists. */
export const devices = {
  emulator: leaf(text),
  interface: children(networkInterface),
  channel: children(channel),
  hostdev: children(hostDevice),
  panic: children({ ...device, model: text }),
  controller: children(controller),
  video: children({ ...device, model: child(videoModel) }),
  graphics: children(graphics),
  memballoon: child(balloon),
  disk: children(disk),
  input: children(input),
  serial: children(serial),
  console: children({ ...device, type: characterType, target: child({ type: word('serial', 'virtio', 'sclp'), port: int }) }),
  watchdog: children({ ...device, model: text, action: text }),
  rng: children(rng),
  filesystem: children(filesystem),
  redirdev: children(redirection),
  sound: children({ ...device, model: word('ich9', 'ac97', 'ich6', 'virtio', 'usb') }),
  tpm: children(tpm),
  vsock: child({ ...device, model: text, cid: child({ auto: yesNo, address: int }) }),
  memory: children(memoryDevice),
};
export interface DomainDevices extends Model<typeof devices> {}
