// Who is at a guest's console: one session a device. A newcomer takes the place of whoever was there, unless it asked not to. Pure state.

export interface Session {
  /** Aborts when a newcomer takes over; its reason is what to tell the one who has to leave. */
  readonly signal: AbortSignal;
  end(): void;
}

export interface Sessions {
  isActive(device: string): boolean;
  /** Ends the session that holds the device, and opens a new one. */
  take(device: string): Session;
}

const TAKEN_OVER = 'another connection to this device took over';

export function createSessions(): Sessions {
  const holders = new Map<string, AbortController>();
  return {
    isActive: (device) => holders.has(device),
    take(device) {
      holders.get(device)?.abort(TAKEN_OVER);
      const mine = new AbortController();
      holders.set(device, mine);
      return {
        signal: mine.signal,
        end() {
          if (holders.get(device) === mine) holders.delete(device);
        },
      };
    },
  };
}
