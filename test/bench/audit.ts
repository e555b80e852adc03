// Reads the API server's audit log, which the local cluster writes for every create, update, patch and delete, and says which of them
// our own components made. Parsing and counting are pure; AuditTail reads the file.
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

export interface Write {
  /** On the clock of this machine, where the local API server runs. */
  readonly at: number;
  readonly user: string;
  readonly verb: string;
  /** `pods`, `virtualmachines/status`, … */
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  /** HTTP status. */
  readonly code: number;
}

interface AuditEvent {
  readonly stage?: string;
  readonly verb?: string;
  readonly user?: { readonly username?: string };
  readonly objectRef?: { readonly resource?: string; readonly subresource?: string; readonly namespace?: string; readonly name?: string };
  readonly responseStatus?: { readonly code?: number };
  readonly stageTimestamp?: string;
}

const OURS = /^system:serviceaccount:kubevirt:/;

/** Finished writes in a piece of the log; a line that was cut off is left out. */
export function parseAudit(text: string): Write[] {
  return text.split('\n').flatMap((line) => {
    if (!line.startsWith('{') || !line.endsWith('}')) return [];
    const { stage, verb = '', user, objectRef = {}, responseStatus, stageTimestamp = '' } = JSON.parse(line) as AuditEvent;
    if (stage !== 'ResponseComplete') return [];
    const { resource = '', subresource, namespace = '', name = '' } = objectRef;
    return [
      {
        at: Date.parse(stageTimestamp),
        user: user?.username ?? '',
        verb,
        resource: subresource ? `${resource}/${subresource}` : resource,
        namespace,
        name,
        code: responseStatus?.code ?? 0,
      },
    ];
  });
}

/** Reviews are questions that happen to be asked by POST; they store nothing. */
const isReview = ({ resource }: Write): boolean => /(access|token)reviews$/.test(resource);

export const isOurs = (write: Write): boolean => OURS.test(write.user) && !isReview(write);

export const component = (write: Write): string => write.user.replace(/^system:serviceaccount:kubevirt:kubevirt-/, '');

/** The heartbeat of the agents: their node's labels, conditions and annotation. */
export const isHeartbeat = (write: Write): boolean => /^leases$/.test(write.resource) || /^nodes(\/status)?$/.test(write.resource);

export interface Count {
  readonly component: string;
  readonly verb: string;
  readonly resource: string;
  readonly count: number;
}

/** Most frequent first. */
export function countWrites(writes: readonly Write[]): Count[] {
  const counts = new Map<string, Count>();
  for (const write of writes) {
    const key = [component(write), write.verb, write.resource].join(' ');
    const { verb, resource } = write;
    counts.set(key, { component: component(write), verb, resource, count: (counts.get(key)?.count ?? 0) + 1 });
  }
  return [...counts.values()].toSorted((a, b) => b.count - a.count || a.resource.localeCompare(b.resource));
}

/** What was appended to the log since the last look. After the server changed to a new file it reads that one from its beginning. */
export class AuditTail {
  readonly #file: string;
  #inode: number;
  #offset: number;

  constructor(file: string) {
    this.#file = file;
    const { ino, size } = this.#withFile((handle) => fstatSync(handle));
    this.#inode = ino;
    this.#offset = size;
  }

  #withFile<T>(use: (handle: number) => T): T {
    const handle = openSync(this.#file, 'r');
    try {
      return use(handle);
    } finally {
      closeSync(handle);
    }
  }

  read(): Write[] {
    return this.#withFile((handle) => {
      const { ino, size } = fstatSync(handle);
      if (ino !== this.#inode || size < this.#offset) {
        this.#inode = ino;
        this.#offset = 0;
      }
      const text = Buffer.alloc(size - this.#offset);
      const length = readSync(handle, text, 0, text.length, this.#offset);
      const whole = text.lastIndexOf('\n', length) + 1;
      this.#offset += whole;
      return parseAudit(text.toString('utf8', 0, whole));
    });
  }
}
