// The small decisions of the cluster tool, as tables: addresses, images, mounts, health, builds, waiting, locking.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { scratchDir } from '../fakes/scratch.js';
import { overlaps } from './addresses.js';
import { MODULES, moduleKey } from './binaries.js';
import { clusterConfig } from './config.js';
import { holdersOf } from './down.js';
import { notReadyReason, unreadyReason } from './health.js';
import { importedNames, remember } from './images.js';
import { withLock } from './lock.js';
import { mountsBelow } from './mounts.js';
import { findConflict, renderHostNft, renderNodeNft } from './network.js';
import { renderImage, renderTar } from './oci-tar.js';
import { seconds } from './progress.js';
import { storageDaemons, storageFiles, storageObjects } from './storage.js';
import { waitFor } from './wait.js';

const config = clusterConfig({});

describe('overlaps', () => {
  it.each([
    ['10.244.0.0/16', '10.244.3.0/24', true],
    ['10.244.0.0/16', '10.245.0.0/16', false],
    ['172.30.0.0/24', '172.16.0.0/12', true],
    ['172.30.0.0/24', '172.30.0.7', true],
    ['172.30.0.0/24', 'default', false],
    ['0.0.0.0/0', '192.0.2.0/24', true],
    ['10.0.0.0/40', '10.0.0.0/8', false],
  ])('%s and %s: %s', (a, b, expected) => {
    expect(overlaps(a, b)).toBe(expected);
  });
});

describe('findConflict', () => {
  it.each([
    ['the default route is none', [{ dst: 'default', dev: 'eth0' }], undefined],
    ['our own bridge is none', [{ dst: '172.30.0.0/24', dev: config.bridge }], undefined],
    ["a container engine's network", [{ dst: '172.30.0.0/16', dev: 'br-1' }], { range: '172.30.0.0/24', dev: 'br-1' }],
    ['another pod network', [{ dst: '10.244.0.0/24', dev: 'cni0' }], { range: '10.244.0.0/16', dev: 'cni0' }],
  ])('%s', (_title, routes, expected) => {
    const found = findConflict(config, routes);
    expect(found && { range: found.range, dev: found.route.dev }).toEqual(expected);
  });
});

it('traffic between pods and nodes keeps its source', () => {
  expect(renderNodeNft(config)).toContain('ip daddr != { 10.244.0.0/16, 172.30.0.0/24 } masquerade');
  expect(renderHostNft(config)).toContain(`oifname != "${config.bridge}" masquerade`);
});

describe('images', () => {
  it('an archive that brings a name takes it from the one before', () => {
    const before = [
      { file: 'a', names: ['x:1'] },
      { file: 'b', names: ['y:1'] },
    ];
    expect(remember(before, { file: 'c', names: ['x:1', 'z:1'] })).toEqual([
      { file: 'b', names: ['y:1'] },
      { file: 'c', names: ['x:1', 'z:1'] },
    ]);
  });

  it('names are read from what ctr says', () => {
    const output = 'unpacking localhost/a:1 (sha256:12)...done\nunpacking docker.io/library/b:2 (sha256:34)...done\n';
    expect(importedNames(output)).toEqual(['localhost/a:1', 'docker.io/library/b:2']);
  });

  it('an image archive is the same for the same content', () => {
    const image = () => renderImage({ name: 'localhost/x:1', architecture: 'amd64', entries: [], entrypoint: ['/x'] });
    expect(image().equals(image())).toBe(true);
  });

  it('a tar entry is padded to blocks and has a valid sum', () => {
    const tar = renderTar([{ path: 'a', mode: 0o644, data: Buffer.from('hello') }]);
    expect(tar.length).toBe(512 * 4);
    const header = Buffer.from(tar.subarray(0, 512));
    const sum = Number.parseInt(header.toString('latin1', 148, 154), 8);
    header.fill(' ', 148, 156);
    expect(header.reduce((total, byte) => total + byte, 0)).toBe(sum);
  });
});

it('mounts below a folder come deepest first, others not at all', () => {
  const mounts = 'a /state/x tmpfs\nb /state/x/y\\040z tmpfs\nc /state tmpfs\nd /state2/x tmpfs';
  expect(mountsBelow('/state', mounts)).toEqual(['/state/x/y z', '/state/x']);
});

it('finds the loop devices by which kubelets hold block volumes', () => {
  const devices = [
    { name: '/dev/loop0', 'back-file': '/state/node1/block-volumes/pvc-1.img', 'back-ino': 7 },
    { name: '/dev/loop1', 'back-file': '/var/lib/kubelet/plugins/kubernetes.io~local-volume/volumeDevices/pvc-1/uid', 'back-ino': '300' },
    { name: '/dev/loop2', 'back-file': '/home/somebody/disk.img', 'back-ino': 300 },
    { name: '/dev/loop3', 'back-file': null, 'back-ino': 300 },
  ];
  expect(holdersOf(['/dev/loop0'], devices, () => 300)).toEqual(['/dev/loop1']);
});

describe('storage', () => {
  it('keeps every volume below the folder of its node', () => {
    const [local] = Object.values(storageFiles(config)).map((text) => (text.startsWith('{') ? JSON.parse(text) : undefined));
    expect(local.nodePathMap).toEqual(config.nodes.map(({ name, dir }) => ({ node: name, paths: [join(dir, 'volumes')] })));
    expect(storageDaemons(config).at(-1)?.command).toContain(`--folder=${config.stateDir}`);
  });

  it('has one default class, and binds claims with their first pod', () => {
    const classes = storageObjects().flatMap(({ object }) => (object.kind === 'StorageClass' ? [object] : []));
    expect(classes.map(({ metadata, volumeBindingMode }) => [metadata.name, volumeBindingMode, metadata.annotations])).toEqual([
      ['local-path', 'WaitForFirstConsumer', { 'storageclass.kubernetes.io/is-default-class': 'true', defaultVolumeType: 'local' }],
      ['local-block', 'WaitForFirstConsumer', {}],
    ]);
  });
});

describe('health', () => {
  it.each([
    ['ready', { status: 200, body: 'ok' }, undefined],
    ['failed checks', { status: 500, body: '[+]ping ok\n[-]etcd failed: x\n[-]informer-sync failed' }, 'not ready: etcd, informer-sync'],
    ['refused', { status: 401, body: '{}' }, 'it answers 401'],
  ])('API server: %s', (_title, answer, expected) => {
    expect(unreadyReason(answer)).toBe(expected);
  });

  const node = (conditions?: { type: string; status: string; message?: string }[]) => ({
    metadata: { name: 'node1' },
    ...(conditions && { status: { conditions } }),
  });
  it.each([
    ['ready', node([{ type: 'Ready', status: 'True' }]), undefined],
    ['not ready', node([{ type: 'Ready', status: 'False', message: 'cni plugin not initialized' }]), 'node1: cni plugin not initialized'],
    ['never reported', node(), 'node1: its kubelet has not reported yet'],
  ])('node: %s', (_title, object, expected) => {
    expect(notReadyReason(object)).toBe(expected);
  });
});

describe('moduleKey', () => {
  const [module] = MODULES;
  if (!module) throw new Error('there is a module');
  const key = (files: Record<string, string>, arch = 'x64') =>
    moduleKey(module, new Map(Object.entries(files).map(([name, text]) => [name, Buffer.from(text)])), arch);

  it('does not depend on the order of the files', () => {
    expect(key({ a: '1', b: '2' })).toBe(key({ b: '2', a: '1' }));
  });

  it.each([
    ['content', key({ a: '2' })],
    ['a name', key({ b: '1' })],
    ['the machine', key({ a: '1' }, 'arm64')],
  ])('changes with %s', (_title, other) => {
    expect(other).not.toBe(key({ a: '1' }));
  });
});

describe('waitFor', () => {
  const silent = () => undefined;

  it('returns once the reason is gone; a throw is a reason, too', async () => {
    let polls = 0;
    const check = () => {
      polls++;
      if (polls === 1) throw new Error('refused');
      return polls < 3 ? 'not yet' : undefined;
    };
    await waitFor({ what: 'it', timeoutMs: 5000, check, log: silent, pollMs: 1 });
    expect(polls).toBe(3);
  });

  it('gives up with the last reason and the evidence', async () => {
    const waiting = waitFor({ what: 'it', timeoutMs: 0, check: () => 'no etcd', log: silent, evidence: () => 'LOG', pollMs: 1 });
    await expect(waiting).rejects.toThrow(/waiting for it after 0 s: no etcd\nLOG/);
  });

  it('gives up at once when there is no hope', async () => {
    const waiting = waitFor({
      what: 'it',
      timeoutMs: 60_000,
      check: () => 'no etcd',
      log: silent,
      hopeless: () => 'etcd ended',
      pollMs: 1,
    });
    await expect(waiting).rejects.toThrow(/waiting for it: etcd ended/);
  });
});

describe('withLock', () => {
  const inDir = (work: (file: string) => Promise<void>) => work(join(scratchDir(), 'lock'));

  it('lets one in at a time', () =>
    inDir(async (file) => {
      const order: string[] = [];
      let release = () => {};
      const gate = new Promise<void>((resolve) => {
        release = resolve;
      });
      const hold = withLock(
        file,
        () => undefined,
        async () => {
          order.push('first in');
          await gate;
          order.push('first out');
        },
      );
      const said: string[] = [];
      const next = withLock(
        file,
        (line) => {
          said.push(line);
          release();
        },
        async () => {
          order.push('second in');
        },
      );
      await Promise.all([hold, next]);
      expect(order).toEqual(['first in', 'first out', 'second in']);
      expect(said).toEqual([expect.stringContaining(`waiting for process ${process.pid}`)]);
    }));

  it('takes over what a dead holder left', () =>
    inDir(async (file) => {
      writeFileSync(file, JSON.stringify({ name: file, pid: 999_999_999, startTime: '1', bootId: 'x', command: [] }));
      await expect(
        withLock(
          file,
          () => undefined,
          async () => 'done',
        ),
      ).resolves.toBe('done');
    }));
});

it.each([
  [1234, '1.2s'],
  [59_949, '59.9s'],
  [61_000, '1m01s'],
])('%d ms are %s', (ms, expected) => {
  expect(seconds(ms)).toBe(expected);
});
