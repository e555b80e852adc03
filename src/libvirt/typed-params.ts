// libvirt's typed parameter lists as a map. The list and its strings belong to the caller and are freed here.
import { endianness } from 'node:os';
import { KvError } from '../base/errors.js';
import { ffi, type Ptr, type RawTypedParam } from './ffi.js';
import type { ParamValues, TypedValue } from './libvirt.js';

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

/** The list stays its owner's. */
export function readTypedParams(ptr: Ptr | null, count: number): Map<string, TypedValue> {
  const params = new Map<string, TypedValue>();
  if (ptr === null) return params;
  for (const raw of ffi().decodeTypedParams(ptr, count)) {
    const value = readParam(raw);
    if (value !== undefined) params.set(raw.field, value);
  }
  return params;
}

export function takeTypedParams(ptr: Ptr | null, count: number): Map<string, TypedValue> {
  const params = readTypedParams(ptr, count);
  if (ptr !== null) ffi().sync.virTypedParamsFree(ptr, count);
  return params;
}

/** Builds the list for one call and frees it afterwards. */
export async function withTypedParams<T>(values: ParamValues, use: (ptr: Ptr | null, count: number) => Promise<T>): Promise<T> {
  const list: [Ptr | null] = [null];
  const [count, max]: [[number], [number]] = [[0], [0]];
  const { sync } = ffi();
  const add = (name: string, value: string | number | bigint): number => {
    if (typeof value === 'string') return sync.virTypedParamsAddString(list, count, max, name, value);
    if (typeof value === 'bigint') return sync.virTypedParamsAddULLong(list, count, max, name, value);
    return sync.virTypedParamsAddInt(list, count, max, name, value);
  };
  try {
    for (const [name, value] of Object.entries(values)) {
      for (const one of typeof value === 'object' ? value : [value]) {
        if (add(name, one) < 0) throw new KvError('Internal', `libvirt takes no parameter ${name}`);
      }
    }
    return await use(list[0], count[0]);
  } finally {
    if (list[0] !== null) sync.virTypedParamsFree(list[0], count[0]);
  }
}
