// Dumps the guest's memory into a claim that was plugged into the pod for it. The request is answered at once and may be repeated: the report tells
// how the dump goes. One at a time, on a connection of its own, as the guest may have a lot of memory.
import { readdir, rm } from 'node:fs/promises';
import { posix } from 'node:path';
import { metaTime } from '../base/clock.js';
import type { Ctx } from '../base/context.js';
import { KvError, messageOf } from '../base/errors.js';
import { HOTPLUG_DISKS_DIR } from '../core/storage/paths.js';
import type { VmRecord } from './report.js';
import type { Reporter } from './reporter.js';
import type { LibvirtSession } from './session.js';
import { text } from './text.js';

interface Deps {
  readonly ctx: Ctx;
  readonly session: Pick<LibvirtSession, 'withOwn'>;
  readonly record: VmRecord;
  readonly reporter: Pick<Reporter, 'refresh'>;
  readonly domain: string;
  /** Where claims are plugged in; replaced in tests. */
  readonly root?: string;
}

const DUMP = 'memory.dump';

export class MemoryDump {
  readonly #deps: Deps;
  #isRunning = false;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  async start(path: string): Promise<void> {
    const { record, ctx, root = HOTPLUG_DISKS_DIR } = this.#deps;
    if (posix.normalize(path) !== path || posix.dirname(posix.dirname(path)) !== posix.normalize(root)) {
      throw new KvError('Invalid', `${path} is no file in a claim plugged in at ${root}`);
    }
    const fileName = posix.basename(path);
    // Asked again while it is written, or after it was.
    if (this.#isRunning || record.memoryDump?.fileName === fileName) return;
    this.#isRunning = true;
    record.memoryDump = { fileName, startTimestamp: metaTime(ctx.now()) };
    void this.#run(path).finally(() => {
      this.#isRunning = false;
    });
  }

  async #run(path: string): Promise<void> {
    const { ctx, record, reporter } = this.#deps;
    const started = { fileName: posix.basename(path), startTimestamp: metaTime(ctx.now()) };
    await reporter.refresh();
    const failure = await this.#dump(path).then(
      () => undefined,
      (err: unknown) => messageOf(err),
    );
    if (failure === undefined) ctx.log.info({ path }, "Dumped the guest's memory");
    else ctx.log.warn({ path, reason: failure }, "Dumping the guest's memory failed");
    record.memoryDump = { ...started, endTimestamp: metaTime(ctx.now()), ...(failure === undefined ? {} : { failure }) };
    await reporter.refresh();
  }

  async #dump(path: string): Promise<void> {
    const { session, domain, record } = this.#deps;
    await this.#removeOlder(posix.dirname(path));
    const done = await session.withOwn(domain, async (handle) => {
      await handle.dumpMemory(path);
      return true;
    });
    if (done === undefined) throw new KvError('NotFound', text.noDomain(record.identity.name));
  }

  /** The claim is as large as one dump. */
  async #removeOlder(dir: string): Promise<void> {
    const names = await readdir(dir).catch((err: unknown) => {
      throw new KvError('NotReady', `the claim for the memory dump is not mounted at ${dir}`, { cause: err });
    });
    for (const name of names) if (name.includes(DUMP)) await rm(posix.join(dir, name), { force: true });
  }
}
