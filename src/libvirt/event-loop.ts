// libvirt's event loop on a pool thread, one for the process: events, keepalives and answers of the daemon arrive through it.
// Started before the first connection is opened, as libvirt demands. It occupies one thread of libuv's pool.
import { KvError } from '../base/errors.js';
import { ffi } from './ffi.js';

const NEVER_MS = -1;

interface Running {
  stopped: boolean;
  readonly timer: number;
  readonly done: Promise<void>;
}

let running: Running | undefined;
let registered: number | undefined;

/** Ends the poll the loop's thread sits in. The timer's callback is plain C: at process exit no JavaScript can run any more. */
function wake(): void {
  if (registered !== undefined) ffi().sync.virEventUpdateTimeout(registered, 0);
}

async function turn(state: Running): Promise<void> {
  // The wake-up timer of an earlier loop would fire again and again; it sleeps until somebody wakes this one.
  ffi().sync.virEventUpdateTimeout(state.timer, NEVER_MS);
  while (!state.stopped) {
    if ((await ffi().runEventLoopOnce()) < 0) throw new KvError('Libvirt', "libvirt's event loop failed; no more events would arrive");
  }
}

function register(): number {
  const { sync, idleTimer } = ffi();
  if (sync.virEventRegisterDefaultImpl() < 0) throw new KvError('Libvirt', "cannot register libvirt's event loop");
  const timer = sync.virEventAddTimeout(NEVER_MS, idleTimer, null, null);
  if (timer < 0) throw new KvError('Libvirt', "cannot add a timer to libvirt's event loop");
  // A pool thread blocked in poll would keep the process from exiting: libuv joins its threads.
  process.on('exit', wake);
  return timer;
}

/** Starts the loop unless it runs. `onFailure` hears when it ends by itself. */
export function startEventLoop(onFailure: (err: unknown) => void): void {
  if (running) return;
  registered ??= register();
  const state: Running = { stopped: false, timer: registered, done: Promise.resolve() };
  running = Object.assign(state, { done: turn(state).catch(onFailure) });
}

/** Ends the loop; open connections hear nothing any more. */
export async function stopEventLoop(): Promise<void> {
  const state = running;
  if (!state) return;
  running = undefined;
  state.stopped = true;
  wake();
  await state.done;
}
