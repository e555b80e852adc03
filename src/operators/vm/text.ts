// Every sentence that the VM controller shows to users. Reasons and the fixed parts of event messages are what scripts match.

export const text = {
  started: (vmi: string) => `Started the virtual machine by creating the new virtual machine instance ${vmi}`,
  createFailed: (why: string) => `Error creating virtual machine instance: ${why}`,
  stopped: (uid: string) => `Stopped the virtual machine by deleting the virtual machine instance ${uid}`,
  deleteFailed: (vmi: string, why: string) => `Error deleting virtual machine instance ${vmi}: ${why}`,
  haltedStartRequested:
    'Failure while starting VMI: the VM is Halted and a start was requested; its run strategy is being changed to Always',
  nonReceiverVmi: 'Found non receiver VMI while VM is receiver',
  runningAndStrategy: 'running and runstrategy are mutually exclusive: remove spec.running, which is deprecated, or spec.runStrategy',
  unknownRunStrategy: (strategy: string) =>
    `unknown runstrategy: ${strategy}; use Always, RerunOnFailure, Manual, Halted, Once or WaitAsReceiver`,
  storing: (why: string) => `error encountered while storing instancetype.kubevirt.io controllerRevisions: ${why}`,
  upgrading: (why: string) => `error encountered while upgrading instancetype.kubevirt.io controllerRevisions: ${why}`,
  expanding: (why: string) => `error encountered while expanding into VirtualMachine: ${why}`,
  applyFailed: (why: string) => `Failed to apply instancetype: ${why}`,
  revisionDiffers: (name: string) =>
    `found existing ControllerRevision with unexpected data: ${name}; delete it if no other VM uses it, a new one is made then`,
  vmiMissing: 'VMI does not exist',
  vmiConditionMissing: 'VMI is missing the Ready condition',
  restartRequired: 'a non-live-updatable field was changed in the template spec',
  sockets: {
    tooMany: "CPU sockets updated in template spec to a value higher than what's available",
    fewer: 'Reduction of CPU socket count requires a restart',
    arm: "ARM doesn't support CPU hotplug",
    fixed: 'CPU sockets updated in template spec: a guest with dedicated CPUs or a CPU limit gets them with a restart',
    busy: 'another CPU hotplug is in progress: the new number of sockets follows when it is over',
  },
  memory: {
    failed: 'memory updated in template spec. Memory-hotplug failed and is not available for this VM configuration',
    noCeiling: 'memory updated in template spec. Memory-hotplug is not available for this VM configuration',
    barred: (why: string) => `memory hotplug not supported, ${why}`,
    tooLow: 'memory updated in template spec to a value lower than what the VM started with',
    tooHigh: "memory updated in template spec to a value higher than what's available",
    fixed: 'memory updated in template spec: a guest with huge pages or a memory limit gets it with a restart',
    busy: 'another memory hotplug is in progress: the new size follows when it is over',
  },
  migrating: 'the guest is being migrated: changes follow when that is over',
  dumpFailed: 'Memory dump failed',
  dumpInterrupted: 'the guest stopped before its memory was written: start it and ask again',
  noCdi: (names: string) =>
    `spec.dataVolumeTemplates needs CDI, the Containerized Data Importer, to fill ${names}, and this cluster has none: install it, or create PersistentVolumeClaims of these names`,
  dataVolumeCreated: (name: string) => `Created DataVolume ${name}`,
  dataVolumeFailed: (name: string, why: string) => `Error creating DataVolume ${name}: ${why}`,
  mayNotClone: (name: string, user: string, source: string) =>
    `Not authorized to create DataVolume ${name}: ${user} may not clone ${source}; let it create datavolumes/source in that namespace`,
  sourceMissing: (source: string, target: string) =>
    `Source PVC ${source} not available: Target PVC ${target} will remain unpopulated until source is created`,
  noDataSource: (key: string) => `DataSource ${key} does not exist, waiting for it to appear`,
  emptyDataSource: (key: string) => `DataSource ${key} refers to no claim or snapshot yet: see kubectl describe datasource`,
  importFailed: (name: string) => `DataVolume ${name} failed to import disk image`,
  importExceedsQuota: (name: string) => `DataVolume ${name} exceeds quota limits`,
  vmiOwnedByOther: (vmi: string, owner: string) =>
    `a virtual machine instance named ${vmi} exists and belongs to ${owner}: rename the VM or delete that instance`,
} as const;
