// What the launcher of the polling test and the test itself must agree on.
import type { Held } from './held.js';

/** The test's end of the guest agent's channel, below the launcher's /run. */
export const AGENT_SOCKET = 'agent.sock';
export const AGENT_SOCKET_INSIDE = `/run/${AGENT_SOCKET}`;
/** Before each report on standard output. */
export const HOUR_MARK = 'HOUR ';

export interface HourReport extends Held {
  readonly hour: number;
  /** C function pointers made of JavaScript functions and not given back. */
  readonly callbacks: number;
  /** Timers, sockets and requests that keep the process alive. */
  readonly resources: number;
}
