// node-labeller: the init container of virt-handler. Starts libvirt for a moment and writes what it says about the node into files, which
// virt-handler turns into node labels. With --record-capabilities, run once as the launchers' user when their image is made, it keeps
// libvirt's findings about the QEMU binaries instead.
import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Ctx } from '../base/context.js';
import { LibvirtDaemon } from '../launcher/daemon.js';
import { sessionLayout, systemLayout } from '../launcher/daemon-config.js';
import { recordCapabilities, usableVirtType, writeNodeFacts } from '../launcher/node-facts.js';
import { type Connection, createLibvirt } from '../libvirt/index.js';
import { parseFlags, runProcess } from './process.js';

const NAME = 'node-labeller';
const flags = parseFlags(NAME, {
  output: { type: 'string', default: '/var/lib/kubevirt-node-labeller' },
  device: { type: 'string', default: '/dev/kvm' },
  'record-capabilities': { type: 'string' },
  v: { type: 'number', default: 2, short: 'v' },
});

const asRoot = process.getuid?.() === 0;
const scratch = join(tmpdir(), 'kubevirt-node-labeller');
const layout = asRoot ? systemLayout() : sessionLayout(scratch, scratch);
const record = flags['record-capabilities'];

async function work(ctx: Ctx, conn: Connection): Promise<void> {
  if (record === undefined) return writeNodeFacts(ctx, conn, flags.output, await usableVirtType(flags.device));
  const files = await recordCapabilities(conn, layout.capabilitiesCacheDir, record);
  ctx.log.info({ files }, 'Recorded QEMU capabilities');
}

runProcess(NAME, flags.v, async (ctx) => {
  const settings = { hostUuid: randomUUID(), logFilters: undefined, asRoot };
  const daemon = new LibvirtDaemon(ctx, { layout, settings, env: process.env });
  const libvirt = createLibvirt(ctx.log);
  try {
    await daemon.start();
    const conn = await libvirt.open(layout.uri);
    await work(ctx, conn);
    await conn.close();
  } finally {
    await libvirt.shutdown();
    await daemon.stop();
  }
});
