// Matches request paths against patterns such as `/namespaces/:ns/virtualmachines/:name/start`. Pure; used by server.ts for plain requests
// and for upgrades alike, so that both kinds of route mean the same.

export interface PathPattern {
  readonly source: string;
  readonly parts: readonly string[];
}

export const parsePattern = (source: string): PathPattern => ({ source, parts: source.split('/') });

function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    // A broken escape names no object: the path matches nothing.
    return undefined;
  }
}

/** What a parameter may not be: nothing, a step in a path, or several segments in one. */
const isUnsafe = (value: string): boolean => value === '' || value === '.' || value === '..' || value.includes('/');

/** The decoded parameters, or undefined when the path does not match. */
export function matchPath(pattern: PathPattern, path: string): Readonly<Record<string, string>> | undefined {
  const parts = path.split('/');
  if (parts.length !== pattern.parts.length) return undefined;
  const params: Record<string, string> = {};
  for (const [at, want] of pattern.parts.entries()) {
    const have = parts[at] ?? '';
    if (!want.startsWith(':')) {
      if (want !== have) return undefined;
      continue;
    }
    const value = decoded(have);
    if (value === undefined || isUnsafe(value)) return undefined;
    params[want.slice(1)] = value;
  }
  return params;
}
