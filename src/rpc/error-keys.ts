// Names of the trailing headers that carry a KvError beside the answer's message. Read and written by every end of a service.
export const ERROR_KEY = { code: 'kubevirt-error-code', reason: 'kubevirt-error-reason', retry: 'kubevirt-error-retry' } as const;
