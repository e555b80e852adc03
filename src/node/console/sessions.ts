// Who is at a guest's console: one session a device. A newcomer takes the place of whoever was there, unless it asked not to. Pure state.

export interface Session {
  /** Aborts when a newcomer takes over. */
  readonly signal: AbortSignal;
  end(): void;
}

export interface Sessions {
  isActive(device: string): boolean;
  /** Ends the session that holds the device, and opens a new one. */
  take(device: string): Session;
}

export function createSessions(): Sessions {
  const holders = new Map<string, AbortController>();
  return {
    isActive: (device) => holders.has(device),
    take(device) {
      holders.get(device)?.abort();
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
