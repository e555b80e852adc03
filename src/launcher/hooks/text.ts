// Sentences about hook sidecars and plugins that users see in the conditions of a VMI.

export const text = {
  /** CamelCase reason of conditions and events. */
  reason: 'HookSidecarFailed',
  noVersion: (container: string, versions: readonly string[]): string =>
    `hook sidecar ${container} speaks ${versions.join(', ') || 'no version'}; virt-launcher speaks v1alpha3, v1alpha2 and v1alpha1`,
  notStarted: (count: number): string =>
    `${count} ${count === 1 ? 'container has' : 'containers have'} not started; see kubectl describe pod`,
  noSocket: 'it has made no socket in /var/run/kubevirt-hooks; see its log',
  noAnswer: (socket: string, why: string): string => `it does not answer on ${socket} (${why}); see its log`,
  missing: (found: number, wanted: number, reasons: readonly string[]): string =>
    `waiting for hook sidecars: ${found} of ${wanted} have announced themselves. ${reasons.join('. ')}`,
  failed: (sidecar: string, point: string, why: string): string => `hook sidecar ${sidecar} failed at ${point}: ${why}`,
  noDomain: 'it gave back no domain; a script must print the whole domain XML to its standard output',
  notDomain: (start: string): string =>
    `what it gave back is no domain XML: it begins with ${JSON.stringify(start)}. A script must print nothing else to its standard output`,
  changedIdentity: (what: string, before: string, after: string): string =>
    `it changed the ${what} of the domain from ${before} to ${after || 'nothing'}, by which the VM is known; leave it as it was`,
  noCloudInit: 'it gave back no cloud-init data; a script must print the whole data as JSON to its standard output',
  notCloudInit: 'what it gave back is no JSON of cloud-init data',
  changedSource: (before: string, after: string): string =>
    `it changed the data source from ${before} to ${after}; the disk of the VM is made for ${before}`,
  afterHooks: (failure: string, changedBy: readonly string[]): string =>
    `${failure}. This is the domain as ${changedBy.join(', ')} left it: look there first`,
  noPlugins: 'the plugins in the message are no JSON list; the peer runs another version',
  noHook: 'it says neither cel nor sidecar',
  ignored: (failure: string): string => `${failure}. The guest starts without it: the hook’s failureStrategy is Ignore`,
  foreignSocket: (path: string, plugin: string): string =>
    `${path} does not lie in /var/run/kubevirt-plugin/${plugin}/, where the sidecars of this plugin listen`,
  noPluginSocket: (path: string): string => `${path} is no socket`,
  pluginNotReady: (directory: string, seconds: number): string =>
    `its sidecar made no socket in ${directory} within ${seconds} s; see the containers of the pod`,
} as const;
