// Every verb against every state of its machine, and against bodies that nobody would send: the code of each answer, and never a crash.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { KubeObject, VirtualMachineInstance } from '../api/index.js';
import { silentLogger } from '../base/logger.js';
import { fail, ok } from '../base/result.js';
import { clusterConfigOf } from '../core/config/cluster-config.js';
import type { HttpRequest, HttpResponse } from '../http/index.js';
import type { JsonPatchOperation, KubeClient, Resource } from '../runtime/types.js';
import { agentPod } from './agent-change.js';
import type { NodeAgents } from './node-agent.js';
import { objectHandlers } from './routes.js';
import { SUBRESOURCES } from './verbs.js';

const KEY = 'default/test';
const META = { name: 'test', namespace: 'default', uid: 'u-1' };
const config = clusterConfigOf({ developerConfiguration: { featureGates: ['ObjectGraph', 'HotplugVolumes'] } });

const vmi = (phase: string, ...conditions: string[]): KubeObject =>
  ({
    metadata: { ...META, ownerReferences: [{ uid: 'vm-1', kind: 'VirtualMachine', controller: true }] },
    spec: {
      domain: { devices: {}, launchSecurity: { sev: { attestation: {} } }, memory: { guest: '64Mi' } },
      volumes: [{ name: 'extra', persistentVolumeClaim: { claimName: 'extra', hotpluggable: true } }],
    },
    status: {
      phase,
      nodeName: 'node01',
      changedBlockTracking: { state: 'Enabled' },
      evacuationNodeName: 'node01',
      conditions: conditions.map((type) => ({ type, status: 'True' })),
    },
  }) as unknown as KubeObject;

const vm = (runStrategy: string, created: boolean): KubeObject =>
  ({
    metadata: { ...META, uid: 'vm-1' },
    spec: {
      runStrategy,
      template: { spec: { domain: { devices: {} }, volumes: (vmi('Running') as VirtualMachineInstance).spec.volumes } },
    },
    status: { created, memoryDumpRequest: { claimName: 'dump', phase: 'Completed' } },
  }) as unknown as KubeObject;

const CLAIM = { metadata: { name: 'dump' }, spec: { resources: { requests: { storage: '1Gi' } } } } as KubeObject;

interface World {
  readonly vm?: KubeObject | undefined;
  readonly vmi?: KubeObject | undefined;
}

const writes: (readonly JsonPatchOperation[] | KubeObject)[] = [];

function clientOf(world: World): KubeClient {
  const objects: Record<string, KubeObject | undefined> = {
    [`virtualmachines ${KEY}`]: world.vm,
    [`virtualmachineinstances ${KEY}`]: world.vmi,
    'persistentvolumeclaims default/dump': CLAIM,
  };
  return {
    find: async (resource: Resource<KubeObject>, key: string) => objects[`${resource.plural} ${key}`],
    list: async () => ({ metadata: {}, items: [] }),
    raw: async () => ({}),
    create: async (_resource: unknown, object: KubeObject) => void writes.push(object),
    jsonPatch: async (_resource: unknown, _key: string, ops: readonly JsonPatchOperation[]) => void writes.push(ops),
  } as unknown as KubeClient;
}

/** Does what it is asked to, wherever there is one. */
const agents: NodeAgents = {
  put: async (machine) => {
    const pod = agentPod(machine, [{ metadata: { name: 'agent' }, status: { podIP: '10.0.0.1' } }]);
    return pod.ok ? undefined : pod.error.error;
  },
  get: async (machine) => {
    const pod = agentPod(machine, [{ metadata: { name: 'agent' }, status: { podIP: '10.0.0.1' } }]);
    return pod.ok ? ok({ type: 'application/json', body: Buffer.from('{}') }) : fail(pod.error.error);
  },
  stream: async () => fail({ code: 500, reason: '', message: '' }),
};

const BODIES: Readonly<Record<string, object>> = {
  addvolume: { name: 'new', disk: {}, volumeSource: { persistentVolumeClaim: { claimName: 'new' } } },
  removevolume: { name: 'extra' },
  freeze: { unfreezeTimeout: '5m' },
  'evacuate/cancel': { evacuationNodeName: 'node01' },
  'sev/setupsession': { session: 'c2Vzc2lvbg==', dhCert: 'Y2VydA==' },
  'sev/injectlaunchsecret': { header: 'aGVhZGVy', secret: 'c2VjcmV0' },
};

type Kind = 'virtualmachines' | 'virtualmachineinstances';

async function ask(world: World, kind: Kind, verb: string, body?: Buffer): Promise<HttpResponse> {
  const handler = objectHandlers({ client: clientOf(world), config: () => config, log: silentLogger }, agents)[kind][verb];
  if (!handler) throw new Error(`no handler of ${verb}`);
  const sent = body ?? Buffer.from(JSON.stringify(BODIES[verb] ?? {}));
  return await handler({ params: { ns: 'default', name: 'test' }, body: sent, path: verb } as unknown as HttpRequest);
}

const STATES = {
  none: undefined,
  '-': vmi(''),
  Pending: vmi('Pending'),
  Scheduling: vmi('Scheduling'),
  Scheduled: vmi('Scheduled'),
  Running: vmi('Running', 'AgentConnected'),
  Paused: vmi('Running', 'AgentConnected', 'Paused'),
  Succeeded: vmi('Succeeded'),
  Failed: vmi('Failed'),
  Unknown: vmi('Unknown'),
} as const;

const early = (code: number): number[] => Array<number>(4).fill(code);
const late = (code: number): number[] => Array<number>(3).fill(code);

describe('verbs of a VMI', () => {
  // Codes in the order of STATES: none, four phases before it runs, running, paused, and three after.
  it.each([
    ['pause', [404, ...early(409), 200, 409, ...late(409)]],
    ['unpause', [404, ...early(409), 409, 200, ...late(409)]],
    ['freeze', [404, ...early(409), 200, 200, ...late(409)]],
    ['unfreeze', [404, ...early(409), 200, 200, ...late(409)]],
    ['reset', [404, 400, 400, 400, 200, 200, 200, ...late(400)]],
    ['softreboot', [404, ...early(409), 200, 409, ...late(409)]],
    ['backup', [404, ...early(409), 200, 200, ...late(409)]],
    ['redefine-checkpoint', [404, 400, 400, 400, 200, 200, 200, ...late(400)]],
    ['guestosinfo', [404, ...early(500), 200, 200, ...late(500)]],
    ['userlist', [404, ...early(500), 200, 200, ...late(500)]],
    ['filesystemlist', [404, ...early(500), 200, 200, ...late(500)]],
    ['vnc/screenshot', [404, ...early(500), 200, 200, ...late(500)]],
    ['addvolume', [404, ...early(409), 202, 202, ...late(409)]],
    ['removevolume', [404, ...early(409), 202, 202, ...late(409)]],
    ['objectgraph', [404, ...early(200), 200, 200, ...late(200)]],
    ['evacuate/cancel', [404, ...early(200), 200, 200, ...late(200)]],
    ['sev/fetchcertchain', [404, 500, 500, 500, 200, 200, 200, ...late(500)]],
    ['sev/querylaunchmeasurement', [404, ...early(500), 500, 200, ...late(500)]],
    ['sev/setupsession', [404, 409, 409, 409, 202, 409, 409, ...late(409)]],
    ['sev/injectlaunchsecret', [404, ...early(409), 409, 200, ...late(409)]],
  ])('%s', async (verb, codes) => {
    const answers = await Promise.all(Object.values(STATES).map((machine) => ask({ vmi: machine }, 'virtualmachineinstances', verb)));
    expect(answers.map(({ status }) => status)).toEqual(codes);
  });
});

describe('verbs of a VM', () => {
  const strategies = ['Always', 'Once', 'Manual', 'RerunOnFailure', 'Halted', 'WaitAsReceiver'];
  const codesOf = (verb: string, strategy: string): Promise<number[]> =>
    Promise.all(
      Object.values(STATES).map(async (machine) => {
        const world = { vm: vm(strategy, machine !== undefined), vmi: machine };
        return (await ask(world, 'virtualmachines', verb)).status;
      }),
    );

  it.each([
    ['start', 'Always', [409, 409, ...Array<number>(5).fill(409), 409, 409, 409]],
    ['start', 'Manual', [202, 202, ...Array<number>(5).fill(409), 202, 202, 202]],
    ['start', 'RerunOnFailure', [202, 202, ...Array<number>(5).fill(409), 202, 409, 202]],
    ['start', 'Halted', [202, 202, ...Array<number>(5).fill(409), 202, 202, 202]],
    ['stop', 'Always', Array<number>(10).fill(202)],
    ['stop', 'Manual', [409, ...Array<number>(6).fill(202), 409, 409, 202]],
    ['stop', 'Halted', Array<number>(10).fill(409)],
    ['restart', 'Always', [409, ...Array<number>(9).fill(202)]],
    ['restart', 'Once', Array<number>(10).fill(409)],
    ['restart', 'Halted', Array<number>(10).fill(409)],
  ])('%s, %s', async (verb, strategy, codes) => {
    expect(await codesOf(verb, strategy)).toEqual(codes);
  });

  it.each([
    ['migrate', [404, ...early(409), 202, 202, ...late(409)]],
    ['addvolume', Array<number>(10).fill(202)],
    ['removevolume', Array<number>(10).fill(202)],
    ['memorydump', [404, ...early(409), 202, 202, ...late(409)]],
    ['removememorydump', Array<number>(10).fill(202)],
    ['objectgraph', Array<number>(10).fill(200)],
    ['evacuate/cancel', [409, ...Array<number>(9).fill(200)]],
  ])('%s, whatever the run strategy', async (verb, codes) => {
    for (const strategy of strategies) expect(await codesOf(verb, strategy)).toEqual(codes);
  });

  it('needs the VM', async () => {
    const verbs = SUBRESOURCES.filter((row) => row.resource === 'virtualmachines' && !row.stream && !row.missing);
    for (const { name } of verbs) expect([name, (await ask({}, 'virtualmachines', name)).status]).toEqual([name, 404]);
  });

  it('cancels the evacuation that is under way, and no other', async () => {
    const cancel = (body: string) => ask({ vmi: vmi('Running') }, 'virtualmachineinstances', 'evacuate/cancel', Buffer.from(body));
    writes.splice(0);
    const answers = [await cancel(''), await cancel('{}'), await cancel('{"evacuationNodeName":"node01"}')];
    expect(answers.map(({ status }) => status)).toEqual([400, 409, 200]);
    expect(String(answers[1]?.body)).toContain('it is being evacuated from node \\"node01\\", not from \\"\\"');
    expect(writes).toHaveLength(1);
  });

  it('records what was asked for', async () => {
    writes.splice(0);
    await ask({ vm: vm('Manual', true), vmi: vmi('Running') }, 'virtualmachines', 'migrate', Buffer.from('addedNodeSelector: {zone: b}'));
    expect(writes).toEqual([
      {
        apiVersion: 'kubevirt.io/v1',
        kind: 'VirtualMachineInstanceMigration',
        metadata: { generateName: 'kubevirt-migrate-vm-', namespace: 'default' },
        spec: { vmiName: 'test', addedNodeSelector: { zone: 'b' } },
      },
    ]);
  });
});

/** Refusals in plain text are 500, whatever their reason; the rest is what the API says of a strange VM or a lost race. */
const KNOWN_500 = /mutually exclusive|already underway/;

describe('bodies', () => {
  const rows = SUBRESOURCES.filter((row) => !row.stream && !row.missing);
  const garbage = fc.oneof(
    fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
    fc.jsonValue().map((value) => Buffer.from(JSON.stringify(value))),
    fc.string({ maxLength: 200 }).map((text) => Buffer.from(text)),
    fc
      .dictionary(
        fc.constantFrom(
          'name',
          'disk',
          'volumeSource',
          'dryRun',
          'claimName',
          'labelSelector',
          'paused',
          'gracePeriod',
          'session',
          '__proto__',
        ),
        fc.oneof(fc.jsonValue(), fc.constant({ persistentVolumeClaim: null }), fc.constant({ dataVolume: 'x' }), fc.constant(['All'])),
      )
      .map((value) => Buffer.from(JSON.stringify(value))),
  );

  it('never fail the server', async () => {
    const worlds = Object.values(STATES).map((machine) => ({ vm: vm('Manual', machine !== undefined), vmi: machine }));
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...rows), fc.constantFrom(...worlds), garbage, async ({ resource, name, method }, world, body) => {
        const answer = await ask(world, resource, name, body);
        expect(answer.status).toBeGreaterThanOrEqual(200);
        if (method === 'PUT' && !KNOWN_500.test(String(answer.body))) expect(answer.status).toBeLessThan(500);
      }),
      { numRuns: 1500 },
    );
  });

  it.each([
    ['billion laughs', `a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\n${Array.from({ length: 200 }, () => 'd: [*c,*c]').join('\n')}`],
    ['too large', `{"name": "${'x'.repeat(300 * 1024)}"}`],
    ['two documents', 'a: 1\n---\nb: 2'],
    ['no text', '\u0000\u0001'],
  ])('%s', async (_title, body) => {
    const answer = await ask({ vm: vm('Manual', false) }, 'virtualmachines', 'start', Buffer.from(body));
    expect(answer.status).toBe(400);
    expect(String(answer.body)).toContain('Can not unmarshal Request body to struct, error: ');
  });
});
