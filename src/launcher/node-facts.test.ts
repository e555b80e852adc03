// What the node labeller leaves for the node agent: always the documents of its own architecture, others' only where they can be emulated.
import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { scratchDir } from '../../test/fakes/scratch.js';
import { systemClock } from '../base/clock.js';
import { makeCtx } from '../base/context.js';
import { KvError } from '../base/errors.js';
import { silentLogger } from '../base/logger.js';
import type { CapabilitiesQuery, Connection } from '../libvirt/index.js';
import { usableVirtType, writeNodeFacts } from './node-facts.js';

const OWN = { x64: 'x86_64', arm64: 'aarch64' }[process.arch as 'x64' | 'arm64'];

function connection(canEmulate: boolean): Connection {
  const domainCapabilities = async ({ arch }: CapabilitiesQuery): Promise<string> => {
    if (arch !== OWN && !canEmulate) throw new KvError('Libvirt', `unable to find any emulator to serve '${arch}' architecture`);
    return '<domainCapabilities/>';
  };
  return { domainCapabilities, capabilities: async () => '<capabilities/>' } as unknown as Connection;
}

describe('the facts of a node', () => {
  it.each([
    ['the preferred hypervisor', 'hyperv', '/dev/null', 'hyperv'],
    ['emulation without its device', 'kvm', '/dev/no-such-device', 'qemu'],
    ['emulation where that is preferred', 'qemu', '/dev/null', 'qemu'],
  ])('are those of %s', async (_, preferred, device, expected) => expect(await usableVirtType(preferred, device)).toBe(expected));

  it.each([
    ['without the emulator', false, []],
    ['with the emulator', true, [`virsh_domcapabilities_${OWN === 'x86_64' ? 'aarch64' : 'x86_64'}.xml`]],
  ])('tell of the other architecture only what can run: %s', async (_, canEmulate, others) => {
    const dir = scratchDir();
    await writeNodeFacts(makeCtx(new AbortController().signal, silentLogger, systemClock), connection(canEmulate), dir, 'qemu');
    expect(readdirSync(dir).sort()).toEqual(['capabilities.xml', 'virsh_domcapabilities.xml', ...others]);
  });
});
