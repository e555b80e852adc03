// What the command line means, and what is wrong with it.
import { describe, expect, it } from 'vitest';
import { parseCommand } from './arguments.js';

const parse = (line: string) => parseCommand(line.split(' ').filter(Boolean));

describe('parseCommand', () => {
  it.each([
    ['start web', { verb: 'start', name: 'web', paused: false }],
    ['start vm web', { verb: 'start', name: 'web' }],
    ['start vm/web', { verb: 'start', name: 'web' }],
    ['pause vmi web -n prod', { verb: 'pause', name: 'web', namespace: 'prod' }],
    ['start web --paused --dry-run', { paused: true, dryRun: true }],
    ['stop web --grace-period 5', { gracePeriod: 5 }],
    ['stop web --grace-period=0 --force', { gracePeriod: 0, force: true }],
    ['console web --timeout=1', { verb: 'console', timeoutMinutes: 1 }],
    ['vnc web --proxy-only --port 5901 --address 0.0.0.0', { proxyOnly: true, port: 5901, address: '0.0.0.0' }],
    ['addvolume web --volume-name data --serial d1', { verb: 'addvolume', volumeName: 'data', serial: 'd1', ephemeral: false }],
    ['removevolume web --volume-name data --ephemeral', { verb: 'removevolume', volumeName: 'data', ephemeral: true }],
    ['addvolume web --volume-name data --persist', { ephemeral: false }],
    ['migrate web', { verb: 'migrate' }],
    ['fslist web', { verb: 'fslist' }],
    [
      'port-forward vm/web 22 8080:80',
      {
        ports: [
          { local: 22, remote: 22 },
          { local: 8080, remote: 80 },
        ],
      },
    ],
    ['port-forward vmi web 22', { name: 'web', ports: [{ local: 22, remote: 22 }] }],
    ['console web --kubeconfig /k --context c', { kubeconfig: '/k', context: 'c' }],
    ['', { verb: 'help' }],
    ['--help', { verb: 'help' }],
    ['console web -h', { verb: 'help' }],
  ])('%s', (line, expected) => {
    expect(parse(line)).toEqual({ command: expect.objectContaining(expected) });
  });

  it.each([
    ['fly web', 'there is no command fly'],
    ['start', 'start needs the name of a virtual machine'],
    ['stop web --grace-period soon', '--grace-period needs a number, not soon'],
    ['vnc web', expect.stringContaining('--proxy-only')],
    ['addvolume web', 'addvolume needs --volume-name'],
    ['port-forward web', 'port-forward needs a port of the guest'],
    ['port-forward web ssh', 'ssh is no port: write PORT or LOCAL:PORT'],
    ['port-forward web 0:22', '0:22 is no port: write PORT or LOCAL:PORT'],
    ['port-forward web 70000', '70000 is no port: write PORT or LOCAL:PORT'],
    ['start web --wings', expect.stringContaining('--wings')],
  ])('%s', (line, problem) => {
    expect(parse(line)).toEqual({ problem });
  });
});
