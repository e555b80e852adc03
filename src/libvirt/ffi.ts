// Declarations of the libvirt calls this room uses, nothing else. The libraries are loaded on first use, so that code which
// only imports the room runs on a machine without libvirt. Pointers are bigints and stay inside src/libvirt.
import koffi, { type LibraryHandle } from 'koffi';

export type Ptr = bigint;
type Out<T> = [T];

/** Calls that may talk to the daemon: they run on libuv's pool. */
export interface AsyncCalls {
  virConnectOpen(uri: string): Promise<Ptr | null>;
  virConnectClose(conn: Ptr): Promise<number>;
  virConnectGetVersion(conn: Ptr, version: Out<number>): Promise<number>;
  virConnectGetCapabilities(conn: Ptr): Promise<string | null>;
  virConnectGetDomainCapabilities(
    conn: Ptr,
    emulator: string | null,
    arch: string | null,
    machine: string | null,
    virtType: string | null,
    flags: number,
  ): Promise<string | null>;
  virConnectBaselineHypervisorCPU(
    conn: Ptr,
    emulator: string | null,
    arch: string | null,
    machine: string | null,
    virtType: string | null,
    cpus: string[],
    count: number,
    flags: number,
  ): Promise<string | null>;
  virConnectDomainEventRegisterAny(conn: Ptr, dom: null, id: number, callback: Ptr, opaque: null, free: null): Promise<number>;
  virConnectDomainEventDeregisterAny(conn: Ptr, callbackId: number): Promise<number>;
  virDomainDefineXMLFlags(conn: Ptr, xml: string, flags: number): Promise<Ptr | null>;
  virDomainLookupByName(conn: Ptr, name: string): Promise<Ptr | null>;
  virDomainCreateWithFlags(dom: Ptr, flags: number): Promise<number>;
  virDomainSuspend(dom: Ptr): Promise<number>;
  virDomainResume(dom: Ptr): Promise<number>;
  virDomainShutdownFlags(dom: Ptr, flags: number): Promise<number>;
  virDomainReboot(dom: Ptr, flags: number): Promise<number>;
  virDomainReset(dom: Ptr, flags: number): Promise<number>;
  virDomainDestroyFlags(dom: Ptr, flags: number): Promise<number>;
  virDomainUndefineFlags(dom: Ptr, flags: number): Promise<number>;
  virDomainGetState(dom: Ptr, state: Out<number>, reason: Out<number>, flags: number): Promise<number>;
  virDomainGetInfo(dom: Ptr, info: Partial<RawDomainInfo>): Promise<number>;
  virDomainGetXMLDesc(dom: Ptr, flags: number): Promise<string | null>;
  virDomainAttachDeviceFlags(dom: Ptr, xml: string, flags: number): Promise<number>;
  virDomainDetachDeviceFlags(dom: Ptr, xml: string, flags: number): Promise<number>;
  virDomainUpdateDeviceFlags(dom: Ptr, xml: string, flags: number): Promise<number>;
  virDomainGetGuestInfo(dom: Ptr, types: number, params: Out<Ptr | null>, count: Out<number>, flags: number): Promise<number>;
  virDomainInterfaceAddresses(dom: Ptr, list: Out<Ptr | null>, source: number, flags: number): Promise<number>;
  virDomainQemuAgentCommand(dom: Ptr, command: string, timeoutSeconds: number, flags: number): Promise<string | null>;
  virDomainCoreDumpWithFormat(dom: Ptr, path: string, format: number, flags: number): Promise<number>;
  virDomainScreenshot(dom: Ptr, stream: Ptr, screen: number, flags: number): Promise<string | null>;
  virStreamRecv(stream: Ptr, data: Buffer, size: number): Promise<number>;
  virStreamFinish(stream: Ptr): Promise<number>;
  virStreamAbort(stream: Ptr): Promise<number>;
  virDomainSetVcpusFlags(dom: Ptr, count: number, flags: number): Promise<number>;
  virDomainPinVcpuFlags(dom: Ptr, vcpu: number, map: Buffer, length: number, flags: number): Promise<number>;
  virDomainPinEmulator(dom: Ptr, map: Buffer, length: number, flags: number): Promise<number>;
  virDomainListGetStats(doms: (Ptr | null)[], types: number, list: Out<Ptr | null>, flags: number): Promise<number>;
  virDomainStartDirtyRateCalc(dom: Ptr, seconds: number, flags: number): Promise<number>;
  virDomainBlockResize(dom: Ptr, disk: string, bytes: bigint, flags: number): Promise<number>;
  virDomainGetLaunchSecurityInfo(dom: Ptr, params: Out<Ptr | null>, count: Out<number>, flags: number): Promise<number>;
  virDomainSetLaunchSecurityState(dom: Ptr, params: Ptr, count: number, flags: number): Promise<number>;
  virNodeGetSEVInfo(conn: Ptr, params: Out<Ptr | null>, count: Out<number>, flags: number): Promise<number>;
  virDomainMigrateToURI3(dom: Ptr, uri: string, params: Ptr | null, count: number, flags: number): Promise<number>;
  virDomainMigrateStartPostCopy(dom: Ptr, flags: number): Promise<number>;
  virDomainMigrateSetMaxDowntime(dom: Ptr, ms: bigint, flags: number): Promise<number>;
  virDomainAbortJob(dom: Ptr): Promise<number>;
  virDomainGetJobStats(dom: Ptr, type: Out<number>, params: Out<Ptr | null>, count: Out<number>, flags: number): Promise<number>;
}

/** Calls that only touch this process's memory. */
export interface SyncCalls {
  virGetVersion(version: Out<number>, type: null, typeVersion: null): number;
  virSetErrorFunc(data: null, callback: Ptr): void;
  virConnSetErrorFunc(conn: Ptr, data: null, callback: Ptr): void;
  virConnectIsAlive(conn: Ptr): number;
  virConnectRegisterCloseCallback(conn: Ptr, callback: Ptr, opaque: null, free: null): number;
  virConnectUnregisterCloseCallback(conn: Ptr, callback: Ptr): number;
  virDomainGetName(dom: Ptr): string;
  virDomainGetUUIDString(dom: Ptr, buffer: Buffer): number;
  virDomainFree(dom: Ptr): number;
  virDomainInterfaceFree(iface: Ptr): void;
  virTypedParamsFree(params: Ptr, count: number): void;
  virTypedParamsAddString(params: Out<Ptr | null>, count: Out<number>, max: Out<number>, name: string, value: string): number;
  virTypedParamsAddInt(params: Out<Ptr | null>, count: Out<number>, max: Out<number>, name: string, value: number): number;
  virTypedParamsAddULLong(params: Out<Ptr | null>, count: Out<number>, max: Out<number>, name: string, value: bigint): number;
  virDomainGetConnect(dom: Ptr): Ptr;
  virStreamNew(conn: Ptr, flags: number): Ptr | null;
  virStreamFree(stream: Ptr): number;
  virDomainStatsRecordListFree(list: Ptr): void;
  virEventRegisterDefaultImpl(): number;
  virEventAddTimeout(ms: number, callback: Ptr, opaque: null, free: null): number;
  virEventUpdateTimeout(timer: number, ms: number): void;
}

export interface Libc {
  free(ptr: Ptr): void;
  _exit(code: number): void;
}

export interface RawDomainInfo {
  state: number;
  maxMem: number | bigint;
  memory: number | bigint;
  nrVirtCpu: number;
  cpuTime: number | bigint;
}

const ASYNC: Record<keyof AsyncCalls, string> = {
  virConnectOpen: 'void *virConnectOpen(const char *uri)',
  virConnectClose: 'int virConnectClose(void *conn)',
  virConnectGetVersion: 'int virConnectGetVersion(void *conn, _Out_ ulong *version)',
  virConnectGetCapabilities: 'str! virConnectGetCapabilities(void *conn)',
  virConnectGetDomainCapabilities:
    'str! virConnectGetDomainCapabilities(void *conn, const char *emulator, const char *arch, const char *machine, const char *type, uint flags)',
  virConnectBaselineHypervisorCPU:
    'str! virConnectBaselineHypervisorCPU(void *conn, const char *emulator, const char *arch, const char *machine, const char *type, const char **cpus, uint count, uint flags)',
  virConnectDomainEventRegisterAny:
    'int virConnectDomainEventRegisterAny(void *conn, void *dom, int id, void *callback, void *opaque, void *freecb)',
  virConnectDomainEventDeregisterAny: 'int virConnectDomainEventDeregisterAny(void *conn, int id)',
  virDomainDefineXMLFlags: 'void *virDomainDefineXMLFlags(void *conn, const char *xml, uint flags)',
  virDomainLookupByName: 'void *virDomainLookupByName(void *conn, const char *name)',
  virDomainCreateWithFlags: 'int virDomainCreateWithFlags(void *dom, uint flags)',
  virDomainSuspend: 'int virDomainSuspend(void *dom)',
  virDomainResume: 'int virDomainResume(void *dom)',
  virDomainShutdownFlags: 'int virDomainShutdownFlags(void *dom, uint flags)',
  virDomainReboot: 'int virDomainReboot(void *dom, uint flags)',
  virDomainReset: 'int virDomainReset(void *dom, uint flags)',
  virDomainDestroyFlags: 'int virDomainDestroyFlags(void *dom, uint flags)',
  virDomainUndefineFlags: 'int virDomainUndefineFlags(void *dom, uint flags)',
  virDomainGetState: 'int virDomainGetState(void *dom, _Out_ int *state, _Out_ int *reason, uint flags)',
  virDomainGetInfo: 'int virDomainGetInfo(void *dom, _Out_ kv_domain_info *info)',
  virDomainGetXMLDesc: 'str! virDomainGetXMLDesc(void *dom, uint flags)',
  virDomainAttachDeviceFlags: 'int virDomainAttachDeviceFlags(void *dom, const char *xml, uint flags)',
  virDomainDetachDeviceFlags: 'int virDomainDetachDeviceFlags(void *dom, const char *xml, uint flags)',
  virDomainUpdateDeviceFlags: 'int virDomainUpdateDeviceFlags(void *dom, const char *xml, uint flags)',
  virDomainGetGuestInfo: 'int virDomainGetGuestInfo(void *dom, uint types, _Out_ void **params, _Out_ int *count, uint flags)',
  virDomainInterfaceAddresses: 'int virDomainInterfaceAddresses(void *dom, _Out_ void **list, uint source, uint flags)',
  virDomainQemuAgentCommand: 'str! virDomainQemuAgentCommand(void *dom, const char *cmd, int timeout, uint flags)',
  virDomainCoreDumpWithFormat: 'int virDomainCoreDumpWithFormat(void *dom, const char *to, uint format, uint flags)',
  virDomainScreenshot: 'str! virDomainScreenshot(void *dom, void *stream, uint screen, uint flags)',
  virStreamRecv: 'int virStreamRecv(void *stream, _Out_ uint8_t *data, size_t size)',
  virStreamFinish: 'int virStreamFinish(void *stream)',
  virStreamAbort: 'int virStreamAbort(void *stream)',
  virDomainSetVcpusFlags: 'int virDomainSetVcpusFlags(void *dom, uint count, uint flags)',
  virDomainPinVcpuFlags: 'int virDomainPinVcpuFlags(void *dom, uint vcpu, uint8_t *map, int length, uint flags)',
  virDomainPinEmulator: 'int virDomainPinEmulator(void *dom, uint8_t *map, int length, uint flags)',
  virDomainListGetStats: 'int virDomainListGetStats(void **doms, uint types, _Out_ void **list, uint flags)',
  virDomainStartDirtyRateCalc: 'int virDomainStartDirtyRateCalc(void *dom, int seconds, uint flags)',
  virDomainBlockResize: 'int virDomainBlockResize(void *dom, const char *disk, ulonglong size, uint flags)',
  virDomainGetLaunchSecurityInfo: 'int virDomainGetLaunchSecurityInfo(void *dom, _Out_ void **params, _Out_ int *count, uint flags)',
  virDomainSetLaunchSecurityState: 'int virDomainSetLaunchSecurityState(void *dom, void *params, int count, uint flags)',
  virNodeGetSEVInfo: 'int virNodeGetSEVInfo(void *conn, _Out_ void **params, _Out_ int *count, uint flags)',
  virDomainMigrateToURI3: 'int virDomainMigrateToURI3(void *dom, const char *uri, void *params, uint count, uint flags)',
  virDomainMigrateStartPostCopy: 'int virDomainMigrateStartPostCopy(void *dom, uint flags)',
  virDomainMigrateSetMaxDowntime: 'int virDomainMigrateSetMaxDowntime(void *dom, ulonglong ms, uint flags)',
  virDomainAbortJob: 'int virDomainAbortJob(void *dom)',
  virDomainGetJobStats: 'int virDomainGetJobStats(void *dom, _Out_ int *type, _Out_ void **params, _Out_ int *count, uint flags)',
};

const SYNC: Record<keyof SyncCalls, string> = {
  virGetVersion: 'int virGetVersion(_Out_ ulong *version, const char *type, void *typeVersion)',
  virSetErrorFunc: 'void virSetErrorFunc(void *data, void *callback)',
  virConnSetErrorFunc: 'void virConnSetErrorFunc(void *conn, void *data, void *callback)',
  virConnectIsAlive: 'int virConnectIsAlive(void *conn)',
  virConnectRegisterCloseCallback: 'int virConnectRegisterCloseCallback(void *conn, void *callback, void *opaque, void *freecb)',
  virConnectUnregisterCloseCallback: 'int virConnectUnregisterCloseCallback(void *conn, void *callback)',
  virDomainGetName: 'const char *virDomainGetName(void *dom)',
  virDomainGetUUIDString: 'int virDomainGetUUIDString(void *dom, _Out_ char *buffer)',
  virDomainFree: 'int virDomainFree(void *dom)',
  virDomainInterfaceFree: 'void virDomainInterfaceFree(void *iface)',
  virTypedParamsFree: 'void virTypedParamsFree(void *params, int count)',
  virTypedParamsAddString:
    'int virTypedParamsAddString(_Inout_ void **params, _Inout_ int *count, _Inout_ int *max, const char *name, const char *value)',
  virTypedParamsAddInt:
    'int virTypedParamsAddInt(_Inout_ void **params, _Inout_ int *count, _Inout_ int *max, const char *name, int value)',
  virTypedParamsAddULLong:
    'int virTypedParamsAddULLong(_Inout_ void **params, _Inout_ int *count, _Inout_ int *max, const char *name, ulonglong value)',
  virDomainGetConnect: 'void *virDomainGetConnect(void *dom)',
  virStreamNew: 'void *virStreamNew(void *conn, uint flags)',
  virStreamFree: 'int virStreamFree(void *stream)',
  virDomainStatsRecordListFree: 'void virDomainStatsRecordListFree(void *list)',
  virEventRegisterDefaultImpl: 'int virEventRegisterDefaultImpl(void)',
  virEventAddTimeout: 'int virEventAddTimeout(int ms, void *callback, void *opaque, void *freecb)',
  virEventUpdateTimeout: 'void virEventUpdateTimeout(int timer, int ms)',
};

export interface Ffi {
  readonly async: AsyncCalls;
  readonly sync: SyncCalls;
  readonly libc: Libc;
  /** One turn of libvirt's event loop: blocks its pool thread until something happens. */
  runEventLoopOnce(): Promise<number>;
  /** Address of a C function with the shape of a timer callback that does nothing: usable while JavaScript cannot run. */
  readonly idleTimer: Ptr;
  /** Makes a C function pointer of a JavaScript one; lives as long as the process unless released. */
  callback(prototype: CallbackName, fn: (...args: never[]) => unknown): Ptr;
  release(callback: Ptr): void;
  decodeError(ptr: Ptr): { code: number; domain: number; message: string | null; level: number };
  decodeTypedParams(ptr: Ptr, count: number): RawTypedParam[];
  decodePointers(ptr: Ptr, count: number): Ptr[];
  decodeStatsRecord(ptr: Ptr): { params: Ptr | null; nparams: number };
  decodeInterface(ptr: Ptr): { name: string; hwaddr: string | null; naddrs: number; addrs: Ptr | null };
  decodeAddresses(ptr: Ptr, count: number): { type: number; addr: string; prefix: number }[];
  decodeString(ptr: Ptr): string;
}

export interface RawTypedParam {
  field: string;
  type: number;
  value: Uint8Array;
}

const CALLBACKS = {
  error: 'void kv_error_cb(void *data, void *error)',
  close: 'void kv_close_cb(void *conn, int reason, void *opaque)',
  lifecycle: 'int kv_lifecycle_cb(void *conn, void *dom, int event, int detail, void *opaque)',
  generic: 'void kv_generic_cb(void *conn, void *dom, void *opaque)',
  ioErrorReason:
    'void kv_io_error_cb(void *conn, void *dom, const char *path, const char *alias, int action, const char *reason, void *opaque)',
  alias: 'void kv_alias_cb(void *conn, void *dom, const char *alias, void *opaque)',
  agent: 'void kv_agent_cb(void *conn, void *dom, int state, int reason, void *opaque)',
  memoryDevice: 'void kv_memory_cb(void *conn, void *dom, const char *alias, uint64_t size, void *opaque)',
  iteration: 'void kv_iteration_cb(void *conn, void *dom, int iteration, void *opaque)',
  jobCompleted: 'void kv_job_cb(void *conn, void *dom, void *params, int count, void *opaque)',
} as const;
export type CallbackName = keyof typeof CALLBACKS;

function promised(lib: LibraryHandle, prototype: string): (...args: unknown[]) => Promise<unknown> {
  const fn = lib.func(prototype);
  return (...args) =>
    new Promise((resolve, reject) => {
      fn.async(...args, (err: unknown, value: unknown) => (err ? reject(err) : resolve(value)));
    });
}

type Callable = (...args: unknown[]) => unknown;

/** Each call is bound when it is first made: most guests never need most of them, and every binding takes memory. */
function onFirstUse(prototypes: Readonly<Record<string, string>>, make: (name: string, text: string) => unknown): Record<string, Callable> {
  const made = new Map<string, Callable>();
  const of = (name: string, text: string): Callable => {
    const known = made.get(name) ?? (make(name, text) as Callable);
    made.set(name, known);
    return known;
  };
  return Object.fromEntries(Object.entries(prototypes).map(([name, text]) => [name, (...args: unknown[]) => of(name, text)(...args)]));
}

function bind(): Ffi {
  const lib = koffi.load('libvirt.so.0');
  const qemu = koffi.load('libvirt-qemu.so.0');
  const c = koffi.load('libc.so.6');
  koffi.struct('kv_domain_info', { state: 'uchar', maxMem: 'ulong', memory: 'ulong', nrVirtCpu: 'ushort', cpuTime: 'ulonglong' });
  const errorHead = koffi.struct('kv_error', { code: 'int', domain: 'int', message: 'const char *', level: 'int' });
  // The value is a union with an 8-byte member, so it starts at offset 88: after name (80), type (4) and 4 bytes of padding.
  const typedParam = koffi.struct('kv_typed_param', {
    field: koffi.array('char', 80, 'String'),
    type: 'int',
    padding: 'int',
    value: koffi.array('uint8_t', 8, 'Typed'),
  });
  const iface = koffi.struct('kv_interface', { name: 'const char *', hwaddr: 'const char *', naddrs: 'uint', addrs: 'void *' });
  const statsRecord = koffi.struct('kv_stats_record', { dom: 'void *', params: 'void *', nparams: 'int' });
  const address = koffi.struct('kv_address', { type: 'int', addr: 'const char *', prefix: 'uint' });
  const protos = Object.fromEntries(Object.entries(CALLBACKS).map(([name, text]) => [name, koffi.pointer(koffi.proto(text))]));
  const fromLib = (name: string): LibraryHandle => (name.includes('Qemu') ? qemu : lib);
  return {
    async: onFirstUse(ASYNC, (name, text) => promised(fromLib(name), text)) as unknown as AsyncCalls,
    sync: onFirstUse(SYNC, (_, text) => lib.func(text)) as unknown as SyncCalls,
    libc: {
      free: c.func('void free(void *ptr)') as unknown as Libc['free'],
      _exit: c.func('void _exit(int code)') as unknown as Libc['_exit'],
    },
    runEventLoopOnce: promised(lib, 'int virEventRunDefaultImpl(void)') as () => Promise<number>,
    idleTimer: c.symbol('abs') as Ptr,
    callback: (prototype, fn) => koffi.register(fn, protos[prototype] as ReturnType<typeof koffi.pointer>),
    release: (callback) => koffi.unregister(callback),
    decodeError: (ptr) => koffi.decode(ptr, errorHead),
    // One at a time: an array type would be made for each length, and types are never freed.
    decodeTypedParams: (ptr, count) => Array.from({ length: count }, (_, i) => koffi.decode(ptr, i * koffi.sizeof(typedParam), typedParam)),
    decodePointers: (ptr, count) => koffi.decode(ptr, koffi.array('void *', count)),
    decodeStatsRecord: (ptr) => koffi.decode(ptr, statsRecord),
    decodeInterface: (ptr) => koffi.decode(ptr, iface),
    decodeAddresses: (ptr, count) => koffi.decode(ptr, koffi.array(address, count)),
    decodeString: (ptr) => koffi.decode.string(ptr),
  };
}

let bound: Ffi | undefined;

export function ffi(): Ffi {
  bound ??= bind();
  return bound;
}
