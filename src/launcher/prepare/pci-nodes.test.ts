import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { guest } from '../../../test/builders/domain.js';
import { scratchDir } from '../../../test/fakes/scratch.js';
import { pciNodesFor, readPciNodes } from './pci-nodes.js';

it('reads the cell of each device that the kernel knows of', async () => {
  const dir = scratchDir();
  for (const [address, node] of [
    ['0000:3b:00.0', '0\n'],
    ['0000:af:00.1', '1\n'],
    ['0000:00:1f.2', '-1\n'],
  ] as const) {
    await mkdir(join(dir, address));
    await writeFile(join(dir, address, 'numa_node'), node);
  }
  await mkdir(join(dir, '0000:00:02.0'));
  expect(await readPciNodes(dir)).toEqual({ '0000:3b:00.0': 0, '0000:af:00.1': 1 });
  expect(await readPciNodes(join(dir, 'nothing'))).toEqual({});
});

it.each([
  ['without the gate', false, true],
  ['for a guest without cells of its node', true, false],
])('reads nothing %s', async (_, isOn, passes) => {
  const numa = passes ? { numa: { guestMappingPassthrough: {} } } : {};
  const vmi = guest({ domain: { cpu: { dedicatedCpuPlacement: true, ...numa } } });
  expect(await pciNodesFor(vmi, { clusterConfig: { PCINUMAAwareTopologyEnabled: isOn } })).toBeUndefined();
});
