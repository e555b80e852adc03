// Plugins' sidecars on real sockets: who is asked, in which order, and what a failure means.
import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { guest } from '../../../test/builders/domain.js';
import { fakeDomainHook, type MutateRequest } from '../../../test/fakes/fake-hook-sidecar.js';
import { scratchDir } from '../../../test/fakes/scratch.js';
import type { Plugin, PluginDomainHook } from '../../api/index.js';
import { systemClock } from '../../base/clock.js';
import { makeCtx } from '../../base/context.js';
import { silentLogger } from '../../base/logger.js';
import { parseXml } from '../../core/converter/index.js';
import { pluginHooks, pluginsOf } from './plugins.js';

const ctx = makeCtx(new AbortController().signal, silentLogger, systemClock);
const vmi = guest({});
const domain = parseXml('<domain><name>vm</name></domain>');

let directory: string;
const closes: (() => void)[] = [];
beforeEach(async () => {
  directory = scratchDir();
});
afterEach(async () => {
  for (const close of closes.splice(0)) close();
});

const socketOf = (plugin: string): string => join(directory, plugin, 'hook.sock');
const hookOf = (plugin: string, more: Partial<PluginDomainHook> = {}): PluginDomainHook => ({
  sidecar: { socketPath: socketOf(plugin) },
  ...more,
});
const plugin = (name: string, hooks: PluginDomainHook[], spec: Partial<Plugin['spec']> = {}): Plugin =>
  ({ metadata: { name }, spec: { domainHooks: hooks, ...spec } }) as Plugin;
const seen: MutateRequest[] = [];

async function listen(name: string, word = name): Promise<void> {
  const answer = (request: MutateRequest): object => {
    seen.push(request);
    return { domain: Buffer.from(request.domain.toString().replace('</domain>', `<${word}/></domain>`)) };
  };
  closes.push(await fakeDomainHook(socketOf(name), answer));
}

const SETTINGS = { pollMs: 10, readyMs: 100, callMs: 300 };
const apply = async (...plugins: Plugin[]): Promise<string | undefined> =>
  (await pluginHooks(ctx, { vmi, plugins, context: 'Boot' }, { directory, ...SETTINGS })(domain, undefined))?.xml;

describe('who is asked', () => {
  it('plugins by name, with domain, VMI and occasion', async () => {
    await listen('a');
    await listen('b');
    seen.length = 0;
    expect(await apply(plugin('b', [hookOf('b')]), plugin('a', [hookOf('a')]))).toBe('<domain>\n  <name>vm</name>\n<a/><b/></domain>');
    expect(seen[0]).toMatchObject({ domain_type: 'libvirt', sidecar_context: { invocation_context: 'Boot' } });
    expect(JSON.parse(seen[0]?.vmi.toString() ?? '')).toEqual(JSON.parse(JSON.stringify(vmi)));
  });

  it.each<[string, Partial<Plugin['spec']>, Partial<PluginDomainHook>, boolean]>([
    ['without conditions', {}, {}, true],
    ['of a plugin that is for this VMI', { condition: 'vmi.Name == "vm"' }, {}, true],
    ['of a plugin that is for others', { condition: 'vmi.Name == "other"' }, {}, false],
    ['that is for this VMI', {}, { condition: 'has(vmi.Spec.Domain)' }, true],
    ['that is for others', {}, { condition: '"gpu" in vmi.Labels' }, false],
  ])('a hook %s', async (_, spec, hook, expected) => {
    await listen('p');
    expect(await apply(plugin('p', [hookOf('p', hook)], spec))).toEqual(expected ? expect.stringContaining('<p/>') : undefined);
  });
});

describe('a failure', () => {
  const CEL: PluginDomainHook = { cel: { expression: 'Domain{Title: "x"}' } };
  it.each<[string, PluginDomainHook, string]>([
    ['no socket', { sidecar: { socketPath: '/nowhere' } }, 'does not lie in'],
    ['a change by CEL', CEL, 'not carried out in this version'],
  ])('keeps the guest from starting: %s', async (_, hook, message) => {
    const failing = plugin('p', [hook]);
    await expect(apply(failing)).rejects.toMatchObject({
      code: 'Internal',
      reason: 'PluginFailed',
      message: expect.stringMatching(new RegExp(`^plugin p, domain hook 0 failed: .*${message}`)),
    });
  });

  it('names a sidecar that does not come up, is no socket, or answers nonsense', async () => {
    await expect(apply(plugin('p', [hookOf('p')]))).rejects.toThrow('its sidecar made no socket');
    closes.push(await fakeDomainHook(socketOf('p'), () => ({ domain: Buffer.from('hello') })));
    await expect(apply(plugin('p', [hookOf('p')]))).rejects.toThrow('begins with "hello"');
    await symlink(socketOf('p'), join(directory, 'p', 'link'));
    await writeFile(join(directory, 'p', 'file'), '');
    for (const name of ['link', 'file']) {
      const hook = { sidecar: { socketPath: join(directory, 'p', name) } };
      await expect(apply(plugin('p', [hook]))).rejects.toThrow('is no socket');
    }
  });

  it.each<[string, Partial<Plugin['spec']>, Partial<PluginDomainHook>, boolean]>([
    ['of the hook', {}, { failureStrategy: 'Ignore' }, true],
    ['of the plugin', { failureStrategy: 'Ignore' }, {}, true],
    ['of the hook before the plugin’s', { failureStrategy: 'Ignore' }, { failureStrategy: 'Fail' }, false],
  ])('is ignored where that is the strategy %s', async (_, spec, hook, ignored) => {
    await listen('q');
    const asked = apply(plugin('p', [{ ...CEL, ...hook }], spec), plugin('q', [hookOf('q')]));
    if (ignored) expect(await asked).toContain('<q/>');
    else await expect(asked).rejects.toThrow('plugin p');
  });

  it('of a condition is never ignored', async () => {
    const failing = plugin('p', [hookOf('p', { condition: 'domainSpec.Name == "x"', failureStrategy: 'Ignore' })]);
    await expect(apply(failing)).rejects.toThrow('the condition of plugin p, domain hook 0 cannot be evaluated: domainSpec is not known');
  });
});

it.each<[string, string | undefined, number | string]>([
  ['nothing', undefined, 0],
  ['an empty message', '', 0],
  ['a list', '[{"spec":{}}]', 1],
  ['no JSON', '{', 'no JSON list'],
  ['no list', '{}', 'no JSON list'],
])('reads what virt-handler sends: %s', (_, json, expected) => {
  const read = (): number => pluginsOf(json === undefined ? undefined : Buffer.from(json)).length;
  if (typeof expected === 'number') expect(read()).toBe(expected);
  else expect(read).toThrow(expected);
});
