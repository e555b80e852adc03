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
import { readDomain } from '../../core/converter/index.js';
import { pluginHooks, pluginsOf } from './plugins.js';

const ctx = makeCtx(new AbortController().signal, silentLogger, systemClock);
const vmi = guest({});
const domain = readDomain('<domain><name>vm</name></domain>');

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

const SETTINGS = { pollMs: 10, readyMs: 100 };
const warnings: string[] = [];
const warn = (message: string): void => {
  warnings.push(message);
};
const apply = async (...plugins: Plugin[]): Promise<string | undefined> =>
  (await pluginHooks(ctx, { vmi, plugins, context: 'Boot', warn }, { directory, ...SETTINGS })(domain, undefined))?.xml;
const cel = (expression: string, more: Partial<PluginDomainHook> = {}): PluginDomainHook => ({ cel: { expression }, ...more });

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
  const CEL = cel('Domain{Name: "x"}');
  it.each<[string, PluginDomainHook, string]>([
    ['no socket', { sidecar: { socketPath: '/nowhere' } }, 'does not lie in'],
    ['another name', CEL, 'changed the name of the domain from vm to x'],
    ['no domain', cel('domainSpec.Name'), 'results in no Domain'],
    ['an expression that does not hold', cel('Domain{Title: vmi.Labels["none"]}'), 'there is no entry none'],
    ['an expression that does not end', cel(`Domain{Title: string("${'a'.repeat(40)}b".matches("(a+)+$"))}`), 'took longer than'],
    ['a field that there is not', cel('Domain{Titel: "x"}'), 'Domain has no field Titel'],
    ['a value that does not fit', cel('Domain{Title: 1}'), 'Domain.Title takes a string'],
    ['neither cel nor sidecar', {}, 'says neither cel nor sidecar'],
  ])('keeps the guest from starting: %s', async (_, hook, message) => {
    const failing = plugin('p', [hook]);
    await expect(apply(failing)).rejects.toMatchObject({
      code: 'Internal',
      reason: 'PluginFailed',
      message: expect.stringMatching(
        new RegExp(`^plugin p, domain hook 0 failed: .*${message}.* Mend the plugin, or set the failureStrategy`),
      ),
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
    warnings.length = 0;
    if (ignored) {
      expect(await asked).toContain('<q/>');
      expect(warnings).toEqual([expect.stringMatching(/^plugin p, domain hook 0 failed: .*The guest starts without it/)]);
    } else await expect(asked).rejects.toThrow('plugin p');
  });

  it('of a condition is never ignored', async () => {
    const failing = plugin('p', [hookOf('p', { condition: 'vmi.Labels["a"] == "x"', failureStrategy: 'Ignore' })]);
    await expect(apply(failing)).rejects.toThrow('the condition of plugin p, domain hook 0 cannot be evaluated: there is no entry a');
  });

  it('of a condition that does not end is told as well', async () => {
    const endless = plugin('p', [cel('Domain{}')], { condition: `"${'a'.repeat(40)}b".matches("(a+)+$")` });
    await expect(apply(endless)).rejects.toThrow('the condition of plugin p cannot be evaluated: it took longer than 2 s');
  });
});

describe('a change by CEL', () => {
  it('is made in the domain as the one before left it, whoever that was', async () => {
    await listen('b');
    const first = plugin('a', [cel('Domain{Title: "one"}'), cel('Domain{Title: domainSpec.Title + "+", Description: vmi.Name}')]);
    const last = plugin('c', [cel('Domain{Devices: DomainDeviceList{Watchdogs: [DomainWatchdog{Model: "i6300esb", Action: "none"}]}}')]);
    expect(await apply(last, first, plugin('b', [hookOf('b')]))).toBe(`<domain>
  <name>vm</name>
  <title>one+</title>
  <description>vm</description>
  <b></b>
  <devices>
    <watchdog model="i6300esb" action="none"></watchdog>
  </devices>
</domain>`);
  });

  it.each([
    ['domainSpec.Title == ""', true],
    ['has(domainSpec.Title)', false],
    ['domainSpec.Name == vmi.Name', true],
  ])('has conditions about the domain: %s', async (condition, holds) => {
    expect(await apply(plugin('p', [cel('Domain{Title: "x"}', { condition })]))).toEqual(
      holds ? expect.stringContaining('<title>x') : undefined,
    );
  });

  it('that changes nothing leaves the domain as it is', async () => {
    expect(await apply(plugin('p', [cel('domainSpec')]))).toBe('<domain>\n  <name>vm</name>\n</domain>');
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
