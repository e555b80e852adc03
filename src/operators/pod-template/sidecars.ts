// Containers beside compute that a VMI brings along: hook sidecars (by annotation or by a network binding plugin) and one virtiofs daemon a
// shared file system.
import { createHash } from 'node:crypto';
import { posix } from 'node:path';
import { ANNOTATION, type Container, type VirtualMachineInstance } from '../../api/index.js';
import { KvError } from '../../base/errors.js';
import { supportResources } from '../../core/resources/support-resources.js';
import { configPaths, NETWORK_INFO_FILE, VIRTIOFS_DIR, virtiofsSocket, volumeDir } from '../../core/storage/paths.js';
import type { PodContext } from './context.js';
import { emptyDir, type Parts, type VolumeMount } from './parts.js';
import { sidecarSecurity, stateDirectories, unprivileged } from './security.js';
import type { Volume } from './volumes.js';

const SOCKETS_VOLUME = 'hook-sidecar-sockets';
const HOOK_SOCKETS_DIR = '/var/run/kubevirt-hooks';
const FILESYSTEM_SOCKETS = 'virtiofs-containers';
/** Volumes of the pod that no ConfigMap and no claim may take the place of. */
const OWN_VOLUMES = [
  ...['private', 'public', 'sockets', 'ephemeral-disks', 'container-disks', 'hotplug-disks', 'libvirt-runtime', 'private-libvirt'],
  ...['private-libvirt-qemu', 'hugepages', 'hugetblfs-dir', 'vm-state', 'network-info-annotation', 'kubevirt-plugin-sockets'],
  ...[SOCKETS_VOLUME, FILESYSTEM_SOCKETS],
];
const SHIM = ['/usr/bin/sidecar-shim'];
/** 0755: hooks are scripts. */
const EXECUTABLE = 0o755;

interface HookSidecar {
  readonly image?: string;
  readonly imagePullPolicy?: string;
  readonly command?: string[];
  readonly args?: string[];
  readonly configMap?: { readonly name: string; readonly key: string; readonly hookPath: string };
  readonly pvc?: { readonly name: string; readonly volumePath: string; readonly sharedComputePath?: string };
  readonly downwardAPI?: string;
  /** The network binding plugin that brings it. */
  readonly plugin?: string;
}

const isText = (value: unknown): boolean => typeof value === 'string' && value !== '';
const isTextList = (value: unknown): boolean => Array.isArray(value) && value.every((item) => typeof item === 'string');

/** An object with texts under all of these keys. */
const hasTexts =
  (...keys: string[]) =>
  (value: unknown): boolean =>
    typeof value === 'object' && value !== null && keys.every((key) => isText((value as Record<string, unknown>)[key]));

/** What an entry may say, and how to say it. */
const FIELDS: Readonly<Record<string, readonly [(value: unknown) => boolean, string]>> = {
  image: [(value) => typeof value === 'string', 'a text'],
  imagePullPolicy: [(value) => typeof value === 'string', 'a text'],
  command: [isTextList, 'a list of texts'],
  args: [isTextList, 'a list of texts'],
  configMap: [hasTexts('name', 'key', 'hookPath'), 'an object with name, key and hookPath'],
  pvc: [hasTexts('name', 'volumePath'), 'an object with name and volumePath'],
};

/** What is wrong with an entry of the annotation; undefined for one that can be rendered. */
function mistakeIn(entry: unknown): string | undefined {
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) return 'is no object';
  const given = Object.entries(entry).filter(([, value]) => value !== null);
  const wrong = given.find(([field, value]) => Object.hasOwn(FIELDS, field) && FIELDS[field]?.[0](value) === false);
  return wrong && `${wrong[0]} must be ${FIELDS[wrong[0]]?.[1]}`;
}

/** What else an entry says is not the user's to say. */
const knownFields = (entry: object): HookSidecar =>
  Object.fromEntries(Object.entries(entry).filter(([field, value]) => Object.hasOwn(FIELDS, field) && value !== null));

function annotated(vmi: VirtualMachineInstance): HookSidecar[] {
  const text = vmi.metadata.annotations?.[ANNOTATION.hookSidecars];
  if (!text) return [];
  const refusal = (why: string, cause?: unknown): KvError =>
    new KvError('Invalid', `annotation ${ANNOTATION.hookSidecars} of ${vmi.metadata.name} ${why}`, { cause });
  let hooks: unknown;
  try {
    hooks = JSON.parse(text);
  } catch (cause) {
    throw refusal('is no JSON list', cause);
  }
  if (!Array.isArray(hooks)) throw refusal('is no JSON list');
  for (const [index, hook] of hooks.entries()) {
    const mistake = mistakeIn(hook);
    if (mistake !== undefined) throw refusal(`cannot be used: entry ${index}: ${mistake}`);
  }
  return hooks.map(knownFields);
}

/** ConfigMaps that scripts of the VMI's hooks come from. */
export const hookConfigMaps = (vmi: VirtualMachineInstance): string[] => annotated(vmi).flatMap(({ configMap }) => configMap?.name ?? []);

/** One sidecar a binding plugin, however many interfaces use it. */
function ofPlugins(vmi: VirtualMachineInstance, { config }: PodContext): HookSidecar[] {
  const names = new Set((vmi.spec.domain.devices.interfaces ?? []).flatMap(({ binding }) => binding?.name ?? []));
  return [...names].flatMap((name) => {
    const plugin = config.spec.network?.binding?.[name];
    if (!plugin?.sidecarImage) return [];
    return [{ image: plugin.sidecarImage, plugin: name, ...(plugin.downwardAPI ? { downwardAPI: plugin.downwardAPI } : {}) }];
  });
}

export const hookSidecars = (vmi: VirtualMachineInstance, ctx: PodContext): HookSidecar[] => [...annotated(vmi), ...ofPlugins(vmi, ctx)];

/** A label of DNS; names of ConfigMaps and claims may be longer, and have dots. */
const VOLUME_NAME = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/** Called as what it holds, unless that is no name for a volume, or is the name of another volume of the pod. */
function hookVolumeName(kind: 'configMap' | 'pvc', name: string, vmi: VirtualMachineInstance): string {
  const other = vmi.spec.volumes?.find((volume) => volume.name === name);
  const isSame = kind === 'pvc' && other?.persistentVolumeClaim?.claimName === name;
  if (VOLUME_NAME.test(name) && !OWN_VOLUMES.includes(name) && (other === undefined || isSame)) return name;
  return `hook-${kind.toLowerCase()}-${createHash('sha256').update(name).digest('hex').slice(0, 10)}`;
}

function hookMounts({ configMap, pvc, downwardAPI }: HookSidecar, name: string, vmi: VirtualMachineInstance): VolumeMount[] {
  return [
    { name: SOCKETS_VOLUME, mountPath: HOOK_SOCKETS_DIR, subPath: name },
    ...(configMap
      ? [{ name: hookVolumeName('configMap', configMap.name, vmi), mountPath: configMap.hookPath, subPath: configMap.key }]
      : []),
    ...(pvc ? [{ name: hookVolumeName('pvc', pvc.name, vmi), mountPath: pvc.volumePath }] : []),
    ...(downwardAPI === 'device-info' ? [{ name: 'network-info-annotation', mountPath: posix.dirname(NETWORK_INFO_FILE) }] : []),
  ];
}

/** Without an image of its own the hook is a script, which the shim in our image runs. */
function program({ image, command, args }: HookSidecar, { launcherImage }: PodContext): Pick<Container, 'image' | 'command' | 'args'> {
  const started = command ?? (image ? undefined : SHIM);
  return { image: image || launcherImage, ...(started ? { command: started } : {}), ...(args ? { args } : {}) };
}

function hookContainer(hook: HookSidecar, index: number, vmi: VirtualMachineInstance, ctx: PodContext): Container {
  const name = `hook-sidecar-${index}`;
  const pullPolicy = hook.imagePullPolicy || ctx.config.spec.imagePullPolicy;
  return {
    name,
    ...program(hook, ctx),
    ...(pullPolicy ? { imagePullPolicy: pullPolicy } : {}),
    env: [
      ...stateDirectories(vmi),
      { name: 'CONTAINER_NAME', value: name },
      ...(hook.plugin === undefined ? [] : [{ name: 'NETWORK_BINDING_PLUGIN_NAME', value: hook.plugin }]),
    ],
    resources: supportResources('sidecar', ctx.config, vmi.spec.domain) as NonNullable<Container['resources']>,
    securityContext: sidecarSecurity(vmi),
    volumeMounts: hookMounts(hook, name, vmi),
  };
}

/** Without the key the kubelet would make an empty directory in the script's place, and the hook would do nothing without a word. */
function requireScript({ name, key }: NonNullable<HookSidecar['configMap']>, { configMaps }: PodContext): void {
  const keys = configMaps?.get(name);
  if (keys?.has(key)) return;
  const what = keys ? `configmap ${name} has no key ${key}` : `configmaps "${name}" not found`;
  throw new KvError('NotFound', `${what}: a hook sidecar needs it`, { reason: 'ConfigMapNotFound' });
}

function hookVolumes({ configMap, pvc }: HookSidecar, vmi: VirtualMachineInstance, ctx: PodContext): Parts[] {
  const parts: Parts[] = [];
  if (configMap) {
    requireScript(configMap, ctx);
    const name = hookVolumeName('configMap', configMap.name, vmi);
    parts.push({ volumes: [{ name, configMap: { name: configMap.name, defaultMode: EXECUTABLE } }] });
  }
  if (pvc) {
    const name = hookVolumeName('pvc', pvc.name, vmi);
    const { sharedComputePath } = pvc;
    parts.push({
      volumes: [{ name, persistentVolumeClaim: { claimName: pvc.name } }],
      ...(sharedComputePath ? { mounts: [{ name, mountPath: sharedComputePath }] } : {}),
    });
  }
  return parts;
}

export function hookParts(vmi: VirtualMachineInstance, ctx: PodContext): Parts[] {
  const hooks = hookSidecars(vmi, ctx);
  if (hooks.length === 0) return [];
  return [
    { volumes: [emptyDir(SOCKETS_VOLUME)], mounts: [{ name: SOCKETS_VOLUME, mountPath: HOOK_SOCKETS_DIR }] },
    ...hooks.flatMap((hook) => hookVolumes(hook, vmi, ctx)),
    { containers: hooks.map((hook, index) => hookContainer(hook, index, vmi, ctx)) },
  ];
}

/** Where the daemon finds the files it shows; the token of a service account is mounted by the kubelet. */
function sharedDirectory({ name, ...source }: Volume): { readonly path: string; readonly isMounted: boolean } {
  if (source.serviceAccount) return { path: configPaths('serviceAccount', name).source, isMounted: false };
  const kind = (['configMap', 'secret', 'downwardAPI'] as const).find((candidate) => source[candidate] !== undefined);
  return { path: kind ? configPaths(kind, name).source : volumeDir(name), isMounted: true };
}

const ROOT_AS_QEMU = '--translate-uid=host:107:0:1';

function virtiofsContainer(volume: Volume, vmi: VirtualMachineInstance, ctx: PodContext): Container {
  const shared = sharedDirectory(volume);
  return {
    name: `virtiofs-${volume.name}`,
    image: ctx.launcherImage,
    ...(ctx.config.spec.imagePullPolicy ? { imagePullPolicy: ctx.config.spec.imagePullPolicy } : {}),
    command: ['/usr/libexec/virtiofsd'],
    args: [
      `--socket-path=${virtiofsSocket(volume.name)}`,
      `--shared-dir=${shared.path}`,
      '--sandbox=none',
      '--cache=auto',
      '--migration-on-error=guest-error',
      '--migration-mode=find-paths',
      ...(volume.serviceAccount ? [ROOT_AS_QEMU] : []),
    ],
    resources: supportResources('virtiofs', ctx.config, vmi.spec.domain) as NonNullable<Container['resources']>,
    securityContext: unprivileged,
    volumeMounts: [
      { name: FILESYSTEM_SOCKETS, mountPath: VIRTIOFS_DIR },
      ...(shared.isMounted ? [{ name: volume.name, mountPath: shared.path }] : []),
    ],
  };
}

/**
 * Paths of compute's own container get their daemons when the pod is created, from virt-api's webhook: what is mounted there is known only
 * then. The directory for the sockets is here for them too.
 */
export function filesystemParts(vmi: VirtualMachineInstance, ctx: PodContext): Parts[] {
  const names = new Set((vmi.spec.domain.devices.filesystems ?? []).map(({ name }) => name));
  const shown = (vmi.spec.volumes ?? []).filter(({ name }) => names.has(name));
  if (shown.length === 0) return [];
  return [
    { volumes: [emptyDir(FILESYSTEM_SOCKETS)], mounts: [{ name: FILESYSTEM_SOCKETS, mountPath: VIRTIOFS_DIR }] },
    { containers: shown.filter((volume) => !volume.containerPath).map((volume) => virtiofsContainer(volume, vmi, ctx)) },
  ];
}
