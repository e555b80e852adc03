// Node hooks of plugins on real sockets: who is called when, what failures mean, and the life of a VM with hooks at each of its points.
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { NODE, nodeVmi } from '../../../test/builders/node-vm.js';
import { AgentWorld } from '../../../test/fakes/agent-world.js';
import { fakeNodeHook, type NodeHookRequest } from '../../../test/fakes/fake-hook-sidecar.js';
import { scratchDir } from '../../../test/fakes/scratch.js';
import type { Plugin, PluginNodeHook } from '../../api/index.js';
import { metaTime, systemClock } from '../../base/clock.js';
import { makeCtx } from '../../base/context.js';
import { silentLogger } from '../../base/logger.js';
import { createNodeHooks, type NodeHookPoint } from './node-hooks.js';

const ALL: NodeHookPoint[] = ['PreVMStart', 'PostVMStart', 'PreVMStop', 'PostVMStop'];
const ctx = makeCtx(new AbortController().signal, silentLogger, systemClock);
const vmi = nodeVmi();

let directory: string;
let called: string[];
let requests: NodeHookRequest[];
let events: string[];
const closes: (() => void)[] = [];
beforeEach(() => {
  directory = scratchDir();
  [called, requests, events] = [[], [], []];
});
afterEach(() => {
  for (const close of closes.splice(0)) close();
});

const socketOf = (name: string): string => join(directory, `${name}.sock`);
const hook = (name: string, more: Partial<PluginNodeHook> = {}): PluginNodeHook => ({
  socket: socketOf(name),
  permittedHooks: ALL,
  ...more,
});
const plugin = (name: string, hooks: PluginNodeHook[], spec: Partial<Plugin['spec']> = {}): Plugin => ({
  metadata: { name },
  spec: { nodeHooks: hooks, ...spec },
});

async function listen(name: string, { refuses = (): boolean => false, hangs = false } = {}): Promise<void> {
  const answer = (request: NodeHookRequest): object => {
    if (refuses()) throw new Error('the switch does not answer');
    called.push(`${name} ${request.hookPoint}`);
    requests.push(request);
    return {};
  };
  closes.push(await fakeNodeHook(socketOf(name), answer, { hangs }));
}

const call = (
  plugins: readonly Plugin[],
  { point = 'PreVMStart' as NodeHookPoint, told = new Set<string>(), of = vmi, enabled = true } = {},
): Promise<void> =>
  createNodeHooks({
    node: NODE,
    isEnabled: () => enabled,
    plugins: async () => plugins,
    events: { event: (_object, type, reason, message) => void events.push(`${type} ${reason}: ${message}`) },
    hostRoot: join(directory, 'host'),
  }).call(ctx, point, of, told);

describe('who is called', () => {
  it('plugins by name, hooks as they are written, with the VMI, the node and the point', async () => {
    for (const name of ['a1', 'a2', 'b']) await listen(name);
    await call([plugin('b', [hook('b')]), plugin('a', [hook('a1'), hook('a2')])]);
    expect(called).toEqual(['a1 PreVMStart', 'a2 PreVMStart', 'b PreVMStart']);
    expect(requests[0]?.node_context).toEqual({ node_name: NODE });
    expect(JSON.parse(requests[0]?.vmi.toString() ?? '')).toEqual(JSON.parse(JSON.stringify(vmi)));
  });

  it.each<[string, Partial<PluginNodeHook>, Partial<Plugin['spec']>, boolean]>([
    ['at a point that it permits', {}, {}, true],
    ['not at others', { permittedHooks: ['PostVMStop'] }, {}, false],
    ['for a VMI that its condition means', { condition: 'vmi.metadata.name == "vm" && !has(vmi.metadata.labels.gone)' }, {}, true],
    ['not for others', { condition: 'vmi.spec.domain.devices.disks.exists(d, d.name == "x")' }, {}, false],
    ['not where the plugin is for others', {}, { condition: 'vmi.Name == "other"' }, false],
  ])('a hook %s', async (_, more, spec, expected) => {
    await listen('p');
    await call([plugin('p', [hook('p', more)], spec)]);
    expect(called).toEqual(expected ? ['p PreVMStart'] : []);
  });

  it('nobody while the gate is off, and nobody twice', async () => {
    await listen('p');
    await call([plugin('p', [hook('p')])], { enabled: false });
    expect(called).toEqual([]);
    const told = new Set<string>();
    for (let i = 0; i < 2; i++) await call([plugin('p', [hook('p')])], { told });
    await call([plugin('p', [hook('p')])], { told, point: 'PreVMStop' });
    expect(called).toEqual(['p PreVMStart', 'p PreVMStop']);
  });

  it('a service whose socket only the node has', async () => {
    closes.push(await fakeNodeHook(join(directory, 'host', socketOf('far')), () => ({})));
    await call([plugin('p', [hook('far')])]);
  });
});

describe('a failure', () => {
  it.each<[string, Partial<PluginNodeHook>, string]>([
    ['of a service that refuses', { socket: 'no' }, 'the switch does not answer'],
    ['of one that hangs', { socket: 'deaf', timeout: '100ms' }, 'no answer on .*deaf.sock within 0.1 s'],
    ['of one that is not there', { socket: 'none' }, 'there is no socket .*none.sock on the node'],
  ])('%s stops the step, and says which plugin, hook and node, why, and what to do', async (_, { socket = '', ...more }, why) => {
    await listen('no', { refuses: () => true });
    await listen('deaf', { hangs: true });
    await listen('next');
    await expect(call([plugin('p', [hook(socket, more)]), plugin('q', [hook('next')])])).rejects.toMatchObject({
      code: 'Internal',
      reason: 'PluginFailed',
      message: expect.stringMatching(
        new RegExp(
          `^plugin p, node hook 0 at PreVMStart on node ${NODE} failed: .*${why}.*\\. Mend the plugin, or set the failureStrategy`,
        ),
      ),
    });
    expect(called).toEqual([]);
  });

  it.each<[Partial<PluginNodeHook>, Partial<Plugin['spec']>]>([
    [{ failureStrategy: 'Ignore' }, {}],
    [{}, { failureStrategy: 'Ignore' }],
  ])('that is to be ignored is an event', async (more, spec) => {
    await listen('next');
    await call([plugin('p', [hook('none', more)], spec), plugin('q', [hook('next')])]);
    expect(called).toEqual(['next PreVMStart']);
    expect(events).toEqual([
      expect.stringMatching(/^Warning PluginFailed: plugin p, node hook 0 .*there is no socket.*Nothing waits for it/),
    ]);
  });

  it('of a condition calls nobody, whatever the strategy', async () => {
    await listen('p');
    const failing = plugin('q', [hook('p', { condition: '1 / 0 == 1', failureStrategy: 'Ignore' })]);
    await expect(call([plugin('p', [hook('p')]), failing])).rejects.toThrow('the condition of plugin q, node hook 0 cannot be evaluated');
    expect(called).toEqual([]);
  });

  it('after the end of a VMI is an event, as no condition is written any more', async () => {
    const of = nodeVmi({ status: { phase: 'Succeeded' } });
    await expect(call([plugin('p', [hook('none')])], { point: 'PostVMStop', of })).rejects.toThrow('plugin p');
    expect(events).toEqual([expect.stringContaining('Warning PluginFailed: plugin p, node hook 0 at PostVMStop')]);
  });

  it('of a relative path', async () => {
    await expect(call([plugin('p', [hook('p', { socket: 'run/p.sock' })])])).rejects.toThrow('is no absolute path');
  });
});

describe('the life of a VM', () => {
  let world: AgentWorld;
  beforeEach(async () => {
    world = await AgentWorld.create();
    await world.launcher.publish();
  });
  afterEach(() => world.close());

  it('is told at each point, once', async () => {
    await listen('p');
    world.plugins = [plugin('p', [hook('p')])];
    await world.reconcile();
    expect(called).toEqual(['p PreVMStart', 'p PostVMStart']);
    world.catchUp();
    await world.reconcile();
    world.change({ metadata: { deletionTimestamp: metaTime(world.now) } });
    await world.reconcile();
    expect(called.slice(2)).toEqual(['p PreVMStop', 'p PostVMStop']);
    expect(world.launcher.commands).toContain('shutdown');
  });

  it('does not begin before a plugin has agreed, and says what it waits for', async () => {
    let refuses = true;
    await listen('p', { refuses: () => refuses });
    world.plugins = [plugin('p', [hook('p')])];
    await expect(world.reconcile()).rejects.toMatchObject({ reason: 'PluginFailed' });
    expect(world.launcher.commands).toEqual([]);
    expect(world.writes.at(-1)?.status?.conditions).toContainEqual(
      expect.objectContaining({
        type: 'Synchronized',
        status: 'False',
        reason: 'PluginFailed',
        message: expect.stringContaining('the switch does not answer'),
      }),
    );
    refuses = false;
    world.catchUp();
    await world.reconcile();
    expect(world.launcher.commands).toEqual(['sync']);
  });

  it('ends when its guest has, and is told before it is forgotten', async () => {
    await listen('p');
    world.plugins = [plugin('p', [hook('p', { permittedHooks: ['PostVMStop'] })])];
    await world.reconcile();
    world.catchUp();
    await world.launcher.set('Shutoff', 'Shutdown');
    await world.reconcile();
    expect(called).toEqual(['p PostVMStop']);
    expect(world.writes.at(-1)?.status?.phase).toBe('Succeeded');
  });
});
