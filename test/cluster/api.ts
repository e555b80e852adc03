// A very small client of the cluster's API with the admin's certificate: what `up` needs to set objects and to ask for health.
// Not for tests of the project: those use kubectl or the runtime room.
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { join } from 'node:path';
import { KvError } from '../../src/base/errors.js';
import { apiUrl, type ClusterConfig } from './config.js';

export interface ApiObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
}

export interface Answer {
  readonly status: number;
  readonly body: string;
}

export interface Api {
  readonly get: (path: string) => Promise<Answer>;
  readonly read: <T>(path: string) => Promise<T>;
  /** Server-side apply. */
  readonly apply: (collection: string, object: ApiObject) => Promise<void>;
  readonly close: () => void;
}

const TIMEOUT_MS = 5000;
const FIELD_MANAGER = 'kubevirt-ts-cluster';

export function openApi(config: ClusterConfig): Api {
  const pki = (file: string) => readFileSync(join(config.pkiDir, file));
  const agent = new Agent({ keepAlive: true, ca: pki('ca.crt'), cert: pki('admin.crt'), key: pki('admin.key') });
  const send = (method: string, path: string, body?: string): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const headers = body === undefined ? {} : { 'content-type': 'application/apply-patch+yaml' };
      const call = request(`${apiUrl(config)}${path}`, { method, agent, headers, timeout: TIMEOUT_MS }, (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body: Buffer.concat(chunks).toString('utf8') }));
        answer.on('error', reject);
      });
      call.on('timeout', () => call.destroy(new Error(`no answer to ${method} ${path} within ${TIMEOUT_MS / 1000} s`)));
      call.on('error', reject);
      call.end(body);
    });
  const good = async (method: string, path: string, body?: string): Promise<string> => {
    const answer = await send(method, path, body);
    if (answer.status < 300) return answer.body;
    throw new KvError('Unavailable', `the API server answers ${answer.status} to ${method} ${path}: ${answer.body.slice(0, 500)}`);
  };
  return {
    get: (path) => send('GET', path),
    read: async <T>(path: string) => JSON.parse(await good('GET', path)) as T,
    apply: async (collection, object) => {
      await good('PATCH', `${collection}/${object.metadata.name}?fieldManager=${FIELD_MANAGER}&force=true`, JSON.stringify(object));
    },
    close: () => agent.destroy(),
  };
}
