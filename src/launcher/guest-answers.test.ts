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

  it.each([readVersion, readOsInfo, readHostname, readTimezone, readUsers, readInterfaces, readFilesystems])(
    'survives nonsense: %o',
    (read) => {
      for (const nonsense of NONSENSE) expect(() => read(nonsense)).not.toThrow();
    },
  );
});
