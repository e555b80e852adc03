// Where our installation differs from the recorded one on purpose, each with its reason. An explanation that explains nothing any more
// fails the comparison too, so that this list stays true.

/** Recorded objects that we do not install. */
export const ABSENT: readonly (readonly [id: RegExp, reason: string])[] = [
  [
    /\.virt-template-|subresources\.template\.kubevirt\.io|virt-template-/,
    'templates of virtual machines are a project of their own, not part of this one',
  ],
  [/exportproxy/, 'exports are not served yet, so there is nothing to proxy'],
  [/synchronization-controller/, 'migration between clusters is not served yet'],
];

export interface Explanation {
  readonly id: RegExp;
  /** A difference as compare.ts writes it. */
  readonly path: RegExp;
  readonly reason: string;
}

const explain = (id: RegExp, path: RegExp, reason: string): Explanation => ({ id, path, reason });

const WORKLOAD = /\/(deployment|daemonset)\./;
const CONTAINER = '/spec/template/spec/(initC|c)ontainers/[^/]+';

export const DIFFERENT: readonly Explanation[] = [
  explain(/\/virtualmachineclusterinstancetype\./, /annotations\/instancetype\.kubevirt\.io\/description$/, 'said in our own words'),
  explain(/\/priorityclass\./, /^\/description$/, 'said in our own words'),
  explain(
    WORKLOAD,
    new RegExp(`^[-]?${CONTAINER}/(command|args)$`),
    'our processes are started by Node, and not all flags of the reference exist',
  ),
  explain(
    WORKLOAD,
    new RegExp(`^[-+]?${CONTAINER}/(startupProbe/.*|(liveness|readiness)Probe/initialDelaySeconds)$`),
    'asked from the first second instead of after a fixed delay, which every start would wait out',
  ),
  explain(
    /virt-operator$/,
    /\/(env\/VIRT_[A-Z]+_IMAGE|env\/KUBEVIRT_VERSION)\//,
    'five processes share two images, so their names cannot be derived',
  ),
  explain(/virt-operator$/, /\/env\/WATCH_NAMESPACE\//, 'the operator looks only at its own namespace'),
  explain(/deployment\.virt-api$/, /\/env\/KUBEVIRT_VERSION\//, 'the version that the subresource of this name answers'),
  explain(
    /deployment\.virt-controller$/,
    /\/env\/SIDECAR_SHIM_IMAGE\//,
    'hooks run in the image that a machine names for them; there is no image of a shim',
  ),
  explain(
    /\/(deployment\.virt-(api|controller)|daemonset\.)/,
    /^\+\/spec\/template\/spec\/(affinity\/nodeAffinity|tolerations\/[12]|nodeSelector)\//,
    'the recording was made before the placement is added',
  ),
  explain(WORKLOAD, new RegExp(`^${CONTAINER}/resources/requests/cpu$`), 'weight enough not to be starved by guests (ADR 0009)'),
  explain(/\/daemonset\./, /terminationGracePeriodSeconds$/, 'the recording was made before it is added'),
  explain(/\/daemonset\./, /securityContext\/runAsUser$/, 'one image serves all components and has an ordinary user; the agent needs root'),
  explain(/\/daemonset\./, /\/env\/UV_THREADPOOL_SIZE\//, "storage that hangs holds one of Node's threads, of which it has four otherwise"),
  explain(/\/daemonset\./, /kubelet-pods\/mountPropagation$/, "container disks are mounted by the agent into the launchers' folders"),
  explain(
    /\/clusterrole\.kubevirt-handler$/,
    /^-\/rules\//,
    'narrower: the node agent does not use these rights, and its token lies on every node',
  ),
  explain(
    /\/clusterrole\.kubevirt-operator$/,
    /^-\/rules\/.*(pods\/exec|security\.openshift\.io|template\.kubevirt\.io|\/metrics|batch\/jobs|controllerrevisions|export\.kubevirt\.io|configmaps|\/endpoints)/,
    'narrower: the operator does not use these rights',
  ),
  explain(
    /validatingadmissionpolicy\./,
    /\/(variables|validations|matchConditions)\/.*(expression|name)$/,
    'the same rules, written by us and sound for objects without labels',
  ),
  explain(
    /\/prometheusrule\./,
    /^-\/spec\/groups\/(recordingRules|alerts)\.rules\/rules\//,
    'rules about series that our processes do not export yet',
  ),
  explain(/\/prometheusrule\./, /rules\/[^/]+\/annotations\/summary$/, 'said in our own words'),
  explain(/\/prometheusrule\./, /rules\/(Virt\w+RESTErrorsBurst)\/expr$/, 'the same condition, written otherwise'),
];
