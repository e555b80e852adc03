// libvirt's typed parameter lists as a map. The list and its strings belong to the caller and are freed here.
import { endianness } from 'node:os';
import { ffi, type Ptr, type RawTypedParam } from './ffi.js';
import type { TypedValue } from './libvirt.js';

// virTypedParameterType
const TYPE = { int: 1, uint: 2, llong: 3, ullong: 4, double: 5, boolean: 6, string: 7 } as const;

// The union is read as the C side wrote it; s390x is big-endian.
const LITTLE = endianness() === 'LE';

type Reader = (view: DataView) => TypedValue;

const READERS: Record<number, Reader> = {
  [TYPE.int]: (view) => view.getInt32(0, LITTLE),
  [TYPE.uint]: (view) => view.getUint32(0, LITTLE),
  [TYPE.llong]: (view) => Number(view.getBigInt64(0, LITTLE)),
  [TYPE.ullong]: (view) => Number(view.getBigUint64(0, LITTLE)),
  [TYPE.double]: (view) => view.getFloat64(0, LITTLE),
  [TYPE.boolean]: (view) => view.getInt8(0) !== 0,
  [TYPE.string]: (view) => ffi().decodeString(view.getBigUint64(0, LITTLE)),
};

function readParam({ type, value }: RawTypedParam): TypedValue | undefined {
  return READERS[type]?.(new DataView(value.buffer, value.byteOffset, value.byteLength));
}

export function takeTypedParams(ptr: Ptr | null, count: number): Map<string, TypedValue> {
  const params = new Map<string, TypedValue>();
  if (ptr === null) return params;
  for (const raw of ffi().decodeTypedParams(ptr, count)) {
    const value = readParam(raw);
    if (value !== undefined) params.set(raw.field, value);
  }
  ffi().sync.virTypedParamsFree(ptr, count);
  return params;
}
