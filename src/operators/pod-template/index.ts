// The public face of the folder: one renderer a kind of pod.
export type { PodContext } from './context.js';
export { OWNER_NAME, OWNER_UID, renderHotplugPod, renderHotplugTriggerPod } from './hotplug.js';
export { renderLauncherPod, renderMigrationTargetPod, renderTemporaryPod } from './launcher.js';
export { controllerReference } from './metadata.js';
export { MULTUS_NETWORKS, networkAnnotations } from './networks.js';
export { needsBackendStorage, tracksBlocks } from './own-volumes.js';
export { hookConfigMaps } from './sidecars.js';
export { isHotplugged } from './volumes.js';
