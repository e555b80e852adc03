// IPv4 ranges: whether two of them overlap. Pure; the preflight check of network.ts asks it.
export interface Range {
  readonly first: number;
  readonly last: number;
}

export function parseRange(cidr: string): Range | undefined {
  const [address = '', length = '32'] = cidr.split('/');
  const parts = address.split('.').map(Number);
  const bits = Number(length);
  if (parts.length !== 4 || parts.some((part) => !Number.isInteger(part) || part < 0 || part > 255) || !(bits >= 0 && bits <= 32))
    return undefined;
  const value = parts.reduce((sum, part) => sum * 256 + part, 0);
  const size = 2 ** (32 - bits);
  const first = Math.floor(value / size) * size;
  return { first, last: first + size - 1 };
}

export function overlaps(a: string, b: string): boolean {
  const [one, two] = [parseRange(a), parseRange(b)];
  return one !== undefined && two !== undefined && one.first <= two.last && two.first <= one.last;
}
