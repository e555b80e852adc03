// What the libvirt daemon of one pod is told: two configuration files, its environment and where everything of it lies. Pure text;
// daemon.ts writes and starts. "session" is the unprivileged daemon of a launcher, "system" the one a root process starts.
import { posix } from 'node:path';

export interface DaemonLayout {
  readonly configFile: string;
  readonly qemuConfigFile: string;
  readonly socket: string;
  readonly capabilitiesCacheDir: string;
  /** libvirt keeps one file here for each running QEMU. */
  readonly pidDir: string;
  /** QEMU's own messages, one file a domain. */
  readonly qemuLogDir: string;
  /** Where libvirt is reached. */
  readonly uri: string;
  readonly env: Readonly<Record<string, string>>;
}

const uriOf = (mode: 'session' | 'system', socket: string): string => `qemu+unix:///${mode}?socket=${socket}`;

/** `runtimeDir` and `stateDir` are the XDG directories of the launcher pod. */
export function sessionLayout(runtimeDir: string, stateDir: string): DaemonLayout {
  const socket = posix.join(runtimeDir, 'libvirt/libvirt-sock');
  return {
    configFile: posix.join(stateDir, 'libvirt/libvirtd.conf'),
    qemuConfigFile: posix.join(stateDir, 'libvirt/qemu.conf'),
    socket,
    capabilitiesCacheDir: posix.join(stateDir, 'libvirt/qemu/cache/capabilities'),
    pidDir: posix.join(runtimeDir, 'libvirt/qemu/run'),
    qemuLogDir: posix.join(stateDir, 'libvirt/qemu/log'),
    uri: uriOf('session', socket),
    env: {
      HOME: stateDir,
      XDG_RUNTIME_DIR: runtimeDir,
      XDG_CONFIG_HOME: stateDir,
      XDG_CACHE_HOME: stateDir,
      XDG_DATA_HOME: stateDir,
    },
  };
}

/** libvirt's fixed places when its daemon runs as root. */
export function systemLayout(): DaemonLayout {
  const socket = '/var/run/libvirt/libvirt-sock';
  return {
    configFile: '/var/run/libvirt/libvirtd.conf',
    qemuConfigFile: '/etc/libvirt/qemu.conf',
    socket,
    capabilitiesCacheDir: '/var/cache/libvirt/qemu/capabilities',
    pidDir: '/var/run/libvirt/qemu',
    qemuLogDir: '/var/log/libvirt/qemu',
    uri: uriOf('system', socket),
    env: {},
  };
}

export interface DaemonSettings {
  /** Random for each pod: libvirt refuses to migrate between two daemons of one host UUID, and pods of a node would share it. */
  readonly hostUuid: string;
  /** libvirt's log_filters syntax. */
  readonly logFilters: string | undefined;
  /** QEMU runs as root; only for the system daemon, whose default user the image does not have. */
  readonly asRoot: boolean;
}

type ConfigValue = string | number | readonly string[];

function render(values: Readonly<Record<string, ConfigValue>>): string {
  const lines = Object.entries(values).map(([key, value]) => `${key} = ${JSON.stringify(value)}\n`);
  return lines.join('');
}

/** libvirtd.conf: a unix socket, few threads (every VM pays for them), warnings to stderr. */
export function libvirtdConf({ hostUuid, logFilters }: DaemonSettings): string {
  return render({
    listen_tls: 0,
    listen_tcp: 0,
    host_uuid: hostUuid,
    min_workers: 1,
    max_workers: 8,
    prio_workers: 1,
    max_clients: 20,
    // The only client is the launcher, which notices a dead socket by itself.
    keepalive_interval: -1,
    admin_min_workers: 1,
    admin_max_workers: 1,
    log_outputs: logFilters === undefined ? '3:stderr' : '1:stderr',
    ...(logFilters === undefined ? {} : { log_filters: logFilters }),
  });
}

/** qemu.conf: the pod is the sandbox, so libvirt builds none; logs go to files directly, which saves the log daemon. */
export function qemuConf({ asRoot }: DaemonSettings): string {
  return render({
    stdio_handler: 'file',
    namespaces: [],
    cgroup_controllers: [],
    security_driver: 'none',
    dynamic_ownership: 0,
    remember_owner: 0,
    max_core: 0,
    ...(asRoot ? { user: 'root', group: 'root' } : {}),
  });
}
