// Test helper of the codecs: bytes written down as hexadecimal digits, with spaces wherever they help to read.
export const fromHex = (...parts: readonly string[]): Uint8Array => {
  const digits = parts.join('').replace(/\s/g, '');
  if (!/^(?:[0-9a-f]{2})*$/.test(digits)) throw new Error(`${digits} is no list of bytes`);
  return Uint8Array.from(digits.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
};
