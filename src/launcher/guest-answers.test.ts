import { describe, expect, it } from 'vitest';
import { readFilesystems, readHostname, readInterfaces, readOsInfo, readTimezone, readUsers, readVersion } from './guest-answers.js';

/** What a guest may send instead of an answer. */
const NONSENSE = [undefined, null, 7, 'x', [], [1, null], {}];

describe('answers of the guest agent', () => {
  it.each([
    [
      'version',
      readVersion,
      { version: '9.1', supported_commands: [{ name: 'guest-ping', enabled: true }, { enabled: true }] },
      { version: '9.1', commands: [{ name: 'guest-ping', enabled: true }] },
    ],
    [
      'osinfo',
      readOsInfo,
      { id: 'debian', 'pretty-name': 'Debian', 'kernel-release': '6', variant: 'x', version: 7 },
      { id: 'debian', prettyName: 'Debian', kernelRelease: '6' },
    ],
    ['hostname', readHostname, { 'host-name': 'h' }, 'h'],
    ['timezone', readTimezone, { zone: 'CET', offset: 3600 }, 'CET, 3600'],
    ['timezone without a name', readTimezone, { offset: 0 }, ', 0'],
    [
      'users',
      readUsers,
      [
        { user: 'root', 'login-time': 12.5 },
        { user: 'admin', domain: 'CORP' },
      ],
      [
        { userName: 'root', loginTime: 12.5 },
        { userName: 'admin', domain: 'CORP' },
      ],
    ],
    [
      'interfaces',
      readInterfaces,
      [
        { name: 'lo', 'ip-addresses': [{ 'ip-address': '127.0.0.1' }] },
        { name: 'eth0', 'hardware-address': '02:aa', 'ip-addresses': [{ 'ip-address': 'fe80::1' }, { 'ip-address': '10.0.2.2' }] },
        { name: 'eth1', 'hardware-address': '02:bb' },
      ],
      [
        { mac: '02:aa', interfaceName: 'eth0', ips: ['10.0.2.2', 'fe80::1'] },
        { mac: '02:bb', interfaceName: 'eth1' },
      ],
    ],
    [
      'filesystems',
      readFilesystems,
      [{ name: 'vda1', mountpoint: '/', type: 'ext4', 'used-bytes': 1, 'total-bytes': 2, disk: [{ 'bus-type': 'virtio', serial: 's' }] }],
      [
        {
          diskName: 'vda1',
          mountPoint: '/',
          fileSystemType: 'ext4',
          usedBytes: 1,
          totalBytes: 2,
          disk: [{ serial: 's', busType: 'virtio' }],
        },
      ],
    ],
  ] as [string, (answer: unknown) => unknown, unknown, unknown][])('%s', (_, read, answer, expected) => {
    expect(read(answer)).toEqual(expected);
  });

  it('cuts what no honest guest says', () => {
    const long = 'x'.repeat(100_000);
    const many = <T>(item: T): T[] => Array.from({ length: 5_000 }, () => item);
    const addresses = [...many({ 'ip-address': 'fe80::1' }), ...many({ 'ip-address': long })];
    const interfaces = readInterfaces(many({ name: long, 'hardware-address': '02:aa', 'ip-addresses': addresses }));
    expect([interfaces.length, interfaces[0]?.interfaceName?.length, interfaces[0]?.ips?.length]).toEqual([256, 256, 32]);
    expect(readInterfaces([{ name: 'eth0', 'ip-addresses': [{ 'ip-address': 'at home' }] }])).toEqual([{ mac: '', interfaceName: 'eth0' }]);
    const { version, commands } = readVersion({ version: long, supported_commands: many({ name: long }) });
    expect([version.length, commands.length, commands[0]?.name.length]).toEqual([256, 512, 256]);
    expect(Object.values(readOsInfo({ name: long }))[0]).toHaveLength(256);
    expect([readHostname({ 'host-name': long })?.length, readUsers(many({ user: long })).length]).toEqual([256, 4096]);
  });

  it.each([readVersion, readOsInfo, readHostname, readTimezone, readUsers, readInterfaces, readFilesystems])(
    'survives nonsense: %o',
    (read) => {
      for (const nonsense of NONSENSE) expect(() => read(nonsense)).not.toThrow();
    },
  );
});
