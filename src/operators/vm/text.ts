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
  notServed: (field: string) =>
    `${field} is not supported by this installation yet: remove the field, or write what it stands for into the template`,
  vmiOwnedByOther: (vmi: string, owner: string) =>
    `a virtual machine instance named ${vmi} exists and belongs to ${owner}: rename the VM or delete that instance`,
} as const;
