// node-labeller: the init container of virt-handler. Starts libvirt for a moment and writes what it says about the node into files, which
// virt-handler turns into node labels.
import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LibvirtDaemon } from '../launcher/daemon.js';
import { sessionLayout, systemLayout } from '../launcher/daemon-config.js';
import { usableVirtType, writeNodeFacts } from '../launcher/node-facts.js';
import { createLibvirt } from '../libvirt/index.js';
import { parseFlags, runProcess } from './process.js';

const NAME = 'node-labeller';
const flags = parseFlags(NAME, {
  output: { type: 'string', default: '/var/lib/kubevirt-node-labeller' },
  device: { type: 'string', default: `/dev/${process.env.HYPERVISOR_DEVICE ?? 'kvm'}` },
  /** 'qemu' asks for the emulator's capabilities even where the hypervisor device is usable. */
  'virt-type': { type: 'string', default: process.env.PREFERRED_VIRTTYPE ?? 'kvm' },
  v: { type: 'number', default: 2, short: 'v' },
});

const asRoot = process.getuid?.() === 0;
const scratch = join(tmpdir(), 'kubevirt-node-labeller');
const layout = asRoot ? systemLayout() : sessionLayout(scratch, scratch);
runProcess(NAME, flags.v, async (ctx) => {
  const settings = { hostUuid: randomUUID(), logFilters: undefined, asRoot };
  const daemon = new LibvirtDaemon(ctx, { layout, settings, env: process.env });
  const libvirt = createLibvirt(ctx.log);
  try {
    await daemon.start();
    const conn = await libvirt.open(layout.uri);
    await writeNodeFacts(ctx, conn, flags.output, await usableVirtType(flags['virt-type'], flags.device));
    await conn.close();
  } finally {
    await libvirt.shutdown();
    await daemon.stop();
  }
});
