// The manager and the life-cycle commands against the fake libvirt: idempotence, errors, what the node agent hears.
import { beforeEach, describe, expect, it } from 'vitest';
import {
  DOMAIN,
  domainXml,
  type FakeLauncherParts,
  fakeLauncherParts,
  guestVmi,
  preparedOf,
} from '../../test/fakes/fake-launcher-parts.js';
import { KvError } from '../base/errors.js';

const vmi = guestVmi();
let parts: FakeLauncherParts;
beforeEach(async () => {
  parts = await fakeLauncherParts();
});
const calls = (...names: string[]): string[] => parts.libvirt.calls.filter((call) => names.includes(call));

describe('sync', () => {
  it('defines and starts a guest, and reports it once', async () => {
    await parts.manager.sync(vmi);
    expect(await parts.states()).toEqual(['ADDED Running/Unknown']);
    expect(parts.heard[0]?.domain?.spec).toEqual({
      disks: [{ name: 'root', target: 'vda' }],
      interfaces: [{ name: 'default', mac: '02:00:00:00:00:01' }],
      machineType: 'pc-q35-10.0',
      type: 'qemu',
      memoryBytes: 1024,
      gracePeriodSeconds: 30,
      agentConnected: false,
    });
  });

  it('does nothing to a guest that runs', async () => {
    await parts.manager.sync(vmi);
    await parts.manager.sync(vmi);
    expect(calls('define', 'create', 'resume')).toEqual(['define', 'create']);
  });

  it('tells of a plugin whose hook failed, and starts the guest where that is to be ignored', async () => {
    const cel = { expression: 'Domain{Title: vmi.Labels["none"]}' };
    const plugins = (failureStrategy: string): Buffer =>
      Buffer.from(JSON.stringify([{ metadata: { name: 'p' }, spec: { failureStrategy, domainHooks: [{ cel }] } }]));
    await expect(parts.manager.sync(vmi, { pluginsJson: plugins('Fail') })).rejects.toMatchObject({ reason: 'PluginFailed' });
    expect(calls('define')).toEqual([]);
    await parts.manager.sync(vmi, { pluginsJson: plugins('Ignore') });
    await parts.states();
    expect(calls('define')).toEqual(['define']);
    expect(parts.k8sEvents).toMatchObject([
      { type: 'Warning', reason: 'PluginFailed', message: expect.stringContaining('plugin p, domain hook 0 failed') },
    ]);
  });

  it('names whoever changed a domain that libvirt refuses', async () => {
    const cel = { expression: 'Domain{Title: "x"}' };
    const pluginsJson = Buffer.from(JSON.stringify([{ metadata: { name: 'p' }, spec: { domainHooks: [{ cel }] } }]));
    parts.libvirt.failNext('define', 'unsupported configuration');
    await expect(parts.manager.sync(vmi, { pluginsJson })).rejects.toMatchObject({
      code: 'Libvirt',
      message: expect.stringMatching(/unsupported configuration.*This is the domain as plugin p, domain hook 0 left it/),
    });
  });

  it('runs one at a time', async () => {
    await Promise.all([parts.manager.sync(vmi), parts.manager.sync(vmi)]);
    expect(calls('define', 'create')).toEqual(['define', 'create']);
  });

  it('starts paused when asked to, and stays so', async () => {
    await parts.manager.sync(guestVmi({ startStrategy: 'Paused' }));
    await parts.manager.sync(guestVmi({ startStrategy: 'Paused' }));
    expect(await parts.states()).toEqual(['ADDED Paused/User']);
  });

  it('lets a guest run on that somebody else paused', async () => {
    await parts.manager.sync(vmi);
    await parts.session.withDomain(DOMAIN, (domain) => domain.suspend());
    await parts.manager.sync(vmi);
    expect((await parts.reporter.read())?.status.status).toBe('Running');
  });

  it('lets a guest run on that a failing disk paused, unless the user wants it paused', async () => {
    await parts.manager.sync(vmi);
    parts.libvirt.change(DOMAIN, { state: 'paused', reason: 'io-error' }, 'suspended');
    await parts.manager.sync(vmi);
    expect((await parts.reporter.read())?.status.status).toBe('Running');
    parts.libvirt.change(DOMAIN, { state: 'paused', reason: 'io-error' }, 'suspended');
    await parts.lifecycle.pause();
    await parts.manager.sync(vmi);
    expect((await parts.reporter.read())?.status).toMatchObject({ status: 'Paused', reason: 'IOError' });
  });

  it('never starts a guest again that ended', async () => {
    await parts.manager.sync(vmi);
    parts.libvirt.change(DOMAIN, { state: 'shutoff', reason: 'shutdown' }, 'stopped');
    await parts.manager.sync(vmi);
    await parts.lifecycle.delete();
    await parts.manager.sync(vmi);
    expect(calls('create')).toEqual(['create']);
  });

  it('takes the definition back when the start fails, and says why', async () => {
    parts.libvirt.failNext('create', 'no room in memory');
    await expect(parts.manager.sync(vmi)).rejects.toMatchObject({ code: 'Libvirt', message: 'cannot start VM vm1: no room in memory' });
    expect(parts.libvirt.domains.size).toBe(0);
    expect(parts.manager.lastError).toBe('cannot start VM vm1: no room in memory');
    expect(await parts.states()).toEqual([]);
    await parts.manager.sync(vmi);
    expect(parts.manager.lastError).toBeUndefined();
    expect(await parts.states()).toEqual(['ADDED Running/Unknown']);
  });

  it('passes on what the preparation says', async () => {
    parts = await fakeLauncherParts(async () => {
      throw new KvError('NotReady', 'disk not mounted yet');
    });
    await expect(parts.manager.sync(vmi)).rejects.toMatchObject({ code: 'NotReady', message: 'disk not mounted yet' });
    expect(calls('define')).toEqual([]);
  });

  it('starts nothing in a pod that is being stopped', async () => {
    await parts.manager.markForGracefulShutdown();
    await expect(parts.manager.sync(vmi)).rejects.toMatchObject({ code: 'Conflict', retry: 'never' });
  });

  it('asks to be tried again while libvirt is away', async () => {
    parts.libvirt.loseDaemon();
    await expect(parts.manager.sync(vmi)).rejects.toMatchObject({ code: 'NotReady' });
  });
});

describe('commands', () => {
  beforeEach(() => parts.manager.sync(vmi));

  it('a pause that failed holds against nothing', async () => {
    parts.libvirt.failNext('suspend', 'timed out');
    await expect(parts.lifecycle.pause()).rejects.toThrow('timed out');
    parts.libvirt.change(DOMAIN, { state: 'paused', reason: 'io-error' }, 'suspended');
    await parts.manager.sync(vmi);
    expect((await parts.reporter.read())?.status.status).toBe('Running');
  });

  it('pause holds against later syncs until unpause', async () => {
    await parts.lifecycle.pause();
    await parts.lifecycle.pause();
    await parts.manager.sync(vmi);
    expect((await parts.reporter.read())?.status.status).toBe('Paused');
    await parts.lifecycle.unpause();
    await parts.lifecycle.unpause();
    expect(await parts.states()).toEqual(['ADDED Running/Unknown', 'MODIFIED Paused/User', 'MODIFIED Running/Unknown']);
  });

  it('shutdown presses the power button and begins the grace period', async () => {
    await parts.lifecycle.shutdown();
    await parts.lifecycle.shutdown();
    expect(await parts.states()).toEqual(['ADDED Running/Unknown', 'MODIFIED Shutoff/Shutdown']);
    expect(parts.heard.at(-1)?.domain?.spec.gracePeriodStartedAt).toMatch(/^\d{4}-/);
    expect(calls('shutdown')).toEqual(['shutdown']);
  });

  it('shutdown without ACPI and agent says what will happen', async () => {
    parts.record.vmi = guestVmi({ domain: { devices: {}, features: { acpi: { enabled: false } } } });
    await expect(parts.lifecycle.shutdown()).rejects.toMatchObject({ code: 'Invalid', message: expect.stringContaining('grace period') });
    await expect(parts.lifecycle.softReboot()).rejects.toMatchObject({
      message: 'VMI neither have the agent connected nor the ACPI feature enabled',
    });
  });

  it('kill uses force when QEMU does not obey', async () => {
    parts.libvirt.failNext('destroy', 'still there');
    await parts.lifecycle.kill();
    expect(calls('destroy')).toEqual(['destroy', 'destroy']);
    expect(await parts.states()).toEqual(['ADDED Running/Unknown', 'MODIFIED Shutoff/Destroyed']);
  });

  it('delete refuses a running guest and forgets a dead one', async () => {
    await expect(parts.lifecycle.delete()).rejects.toMatchObject({ code: 'Conflict' });
    await parts.lifecycle.kill();
    await parts.lifecycle.delete();
    await parts.lifecycle.delete();
    expect(await parts.states()).toEqual(['ADDED Running/Unknown', 'MODIFIED Shutoff/Destroyed', 'DELETED NoState/NonExistent']);
    expect(parts.heard.at(-1)?.domain?.metadata.deletionTimestamp).toMatch(/^\d{4}-/);
  });

  it('commands to a guest that is gone', async () => {
    await parts.lifecycle.kill();
    await parts.lifecycle.kill();
    await parts.lifecycle.shutdown();
    await expect(parts.lifecycle.pause()).rejects.toMatchObject({ code: 'NotFound' });
    await expect(parts.lifecycle.reset()).rejects.toMatchObject({ code: 'NotFound' });
  });

  it('the end is known with its reason', async () => {
    parts.libvirt.change(DOMAIN, { state: 'crashed', reason: 'panicked' }, 'crashed');
    expect(await parts.reporter.ending.stopped).toEqual({ state: 'crashed', reason: 'panicked' });
    await parts.states();
    expect(parts.k8sEvents).toEqual([
      {
        type: 'Warning',
        reason: 'GuestPanicked',
        message: 'The guest operating system panicked.',
        involved: { name: 'vm1', namespace: 'ns', uid: 'u1' },
      },
    ]);
  });

  it('a panic is one also when libvirt has ended QEMU by the time that it is asked', async () => {
    parts.libvirt.emit({ kind: 'lifecycle', domain: { name: DOMAIN, uuid: '' }, event: 'crashed', detail: 0 });
    parts.libvirt.change(DOMAIN, { state: 'shutoff', reason: 'crashed' }, 'stopped');
    expect((await parts.states()).at(-1)).toBe('MODIFIED Crashed/Panicked');
  });

  it('tells the user of a failing disk', async () => {
    const domain = { name: DOMAIN, uuid: '' };
    parts.libvirt.emit({ kind: 'io-error', domain, path: '/x', alias: 'ua-root', paused: true, reason: 'enospc' });
    await parts.states();
    expect(parts.k8sEvents[0]).toMatchObject({
      reason: 'IOerror',
      message: expect.stringContaining('no space is left on the storage of disk root'),
    });
  });
});

describe('the guest agent', () => {
  const info = {
    version: '9.1',
    supported_commands: [
      'guest-get-osinfo',
      'guest-get-host-name',
      'guest-network-get-interfaces',
      'guest-shutdown',
      'guest-get-users',
    ].map((name) => ({ name, enabled: true })),
  };

  beforeEach(async () => {
    await parts.manager.sync(vmi);
    await parts.states();
    const { agent } = parts.libvirt;
    agent.set('guest-info', info);
    agent.set('guest-get-osinfo', { id: 'debian', 'pretty-name': 'Debian 13', 'kernel-release': '6.12' });
    agent.set('guest-get-host-name', { 'host-name': 'h1' });
    agent.set('guest-get-users', [{ user: 'root', 'login-time': 1.5 }]);
    agent.set('guest-network-get-interfaces', [
      { name: 'lo', 'hardware-address': '00:00:00:00:00:00' },
      {
        name: 'eth0',
        'hardware-address': '02:00:00:00:00:01',
        'ip-addresses': [{ 'ip-address': 'fe80::1' }, { 'ip-address': '10.0.2.2' }],
      },
      { name: 'docker0', 'hardware-address': '02:42:00:00:00:01' },
    ]);
  });

  it('is reported together with what it says, in one message', async () => {
    parts.libvirt.connectAgent(DOMAIN);
    await expect.poll(() => parts.heard.length).toBe(2);
    expect(parts.heard[1]?.domain).toMatchObject({
      spec: {
        agentConnected: true,
        interfaces: [
          { name: 'default', mac: '02:00:00:00:00:01', interfaceName: 'eth0', ips: ['10.0.2.2', 'fe80::1'] },
          { mac: '02:42:00:00:00:01', interfaceName: 'docker0' },
        ],
      },
      status: { hostname: 'h1', osInfo: { id: 'debian', prettyName: 'Debian 13', kernelRelease: '6.12' } },
    });
    expect(await parts.agent.info()).toMatchObject({
      guestAgentVersion: '9.1',
      hostname: 'h1',
      userList: [{ userName: 'root', loginTime: 1.5 }],
      fsInfo: { disks: [] },
    });
    parts.agent.stop();
  });

  it('tells whether the guest is frozen, which it may be no longer after a reset', async () => {
    const supported_commands = [...info.supported_commands, { name: 'guest-fsfreeze-status', enabled: true }];
    parts.libvirt.agent.set('guest-info', { ...info, supported_commands });
    for (const [status, told] of [
      ['frozen', 'frozen'],
      ['thawed', undefined],
    ] as const) {
      parts.libvirt.agent.set('guest-fsfreeze-status', status);
      parts.libvirt.connectAgent(DOMAIN);
      await expect.poll(() => parts.heard.at(-1)?.domain?.spec.agentConnected).toBe(true);
      expect((await parts.reporter.read())?.status.fsFreezeStatus).toBe(told);
      parts.libvirt.connectAgent(DOMAIN, false);
      await expect.poll(() => parts.heard.at(-1)?.domain?.spec.agentConnected).toBe(false);
    }
  });

  it('reboots the guest when it can, and the power button does when it fails', async () => {
    parts.libvirt.connectAgent(DOMAIN);
    await expect.poll(() => parts.record.agentConnected).toBe(true);
    await parts.lifecycle.softReboot();
    expect(calls('reboot')).toEqual(['reboot']);
    parts.libvirt.failNext('reboot', 'agent is not connected');
    await parts.lifecycle.softReboot();
    expect(calls('reboot')).toEqual(['reboot', 'reboot', 'reboot']);
    expect((await parts.reporter.read())?.status.status).toBe('Running');
  });

  it('shuts the guest down when it can, and the power button does when it fails', async () => {
    parts.libvirt.connectAgent(DOMAIN);
    await expect.poll(() => parts.agent.supports('guest-shutdown')).toBe(true);
    parts.libvirt.failNext('shutdown', 'agent hangs');
    await parts.lifecycle.shutdown();
    expect(calls('shutdown')).toEqual(['shutdown', 'shutdown']);
    expect((await parts.reporter.read())?.status.reason).toBe('Shutdown');
  });

  it('missing, says what to install', async () => {
    parts.libvirt.agent.clear();
    await expect(parts.guest.ping(1)).rejects.toMatchObject({
      code: 'NotReady',
      message: expect.stringContaining('install and start qemu-guest-agent'),
    });
  });
});

describe('a running guest', () => {
  const disk = (name: string): string =>
    `<disk type='file' device='disk'><source file='/var/run/kubevirt/hotplug-disks/${name}.img'/><target dev='vd${name}' bus='virtio'/><alias name='ua-${name}'/></disk>`;
  let wanted = '';
  beforeEach(async () => {
    wanted = '';
    parts = await fakeLauncherParts(async () => preparedOf(wanted));
    await parts.manager.sync(vmi);
  });
  const become = (devices: string): void => {
    const domain = parts.libvirt.domains.get(DOMAIN);
    if (domain) domain.xml = domainXml(devices);
  };

  it('loses a disk that nobody wants any more, and the report says so', async () => {
    become(disk('b'));
    await parts.manager.sync(vmi);
    expect(parts.libvirt.deviceCalls).toEqual([expect.stringMatching(/^detach <disk[\s\S]*ua-b/)]);
    become('');
    parts.libvirt.emit({ kind: 'device-removed', domain: { name: DOMAIN, uuid: 'x' }, alias: 'ua-b' });
    await parts.states();
    expect(parts.heard.at(-1)?.domain?.spec.disks).toEqual([]);
  });

  it('waits for a disk that is not mounted yet', async () => {
    wanted = disk('a');
    await parts.manager.sync(vmi);
    expect(parts.libvirt.deviceCalls).toEqual([]);
  });

  it('is not asked twice to let go of a disk', async () => {
    become(disk('b'));
    parts.libvirt.failNext('detachDevice', 'device ua-b is already in the process of unplug', 9);
    await expect(parts.manager.sync(vmi)).resolves.toBeUndefined();
  });

  it('changes the other devices when one fails, and says which failed', async () => {
    become(disk('b') + disk('c'));
    parts.libvirt.failNext('detachDevice', 'no bus', 1);
    await expect(parts.manager.sync(vmi)).rejects.toMatchObject({
      code: 'Libvirt',
      message: 'cannot detach disk b from the running VM: no bus',
    });
    expect(parts.libvirt.deviceCalls).toEqual([expect.stringMatching(/^detach [\s\S]*ua-c/)]);
  });

  it('tells of a guest that keeps a device', async () => {
    parts.libvirt.emit({ kind: 'device-removal-failed', domain: { name: DOMAIN, uuid: 'x' }, alias: 'ua-b' });
    await parts.states();
    expect(parts.k8sEvents).toEqual([
      expect.objectContaining({ reason: 'DeviceRemovalFailed', message: expect.stringContaining('device b') }),
    ]);
  });
});
