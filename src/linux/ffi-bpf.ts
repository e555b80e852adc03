// The few operations of bpf(2) by which the programs that guard the devices of a control group are read and replaced. Plain values and
// descriptors, which the caller closes; each function names its step and the error number when it fails. libc is loaded on first use.
import koffi from 'koffi';
import { KvError } from '../base/errors.js';

/** Of bpf(2), by Node's name of the architecture. */
const SYSCALL: Readonly<Record<string, number>> = { x64: 321, arm64: 280, s390x: 351, ppc64: 361 };
// Values of <linux/bpf.h>.
const COMMAND = { load: 5, attach: 8, fdOfId: 13, info: 15, query: 16 } as const;
const PROGRAM_TYPE = 15;
const ATTACH_TYPE = 6;
const MAY_BE_MANY = 2;
const REPLACE = 4;
const INSTRUCTION_BYTES = 8;
/** Up to the address of the instructions. */
const INFO_BYTES = 40;
const MAX_PROGRAMS = 64;

type Call = (number: number, command: number, attributes: object, size: number) => number;

let calls: Readonly<Record<keyof typeof COMMAND, Call>> | undefined;

function libc(): Readonly<Record<keyof typeof COMMAND, Call>> {
  if (calls !== undefined) return calls;
  const lib = koffi.load('libc.so.6');
  koffi.struct('kv_bpf_load', { type: 'uint32_t', count: 'uint32_t', instructions: 'void *', license: 'const char *' });
  koffi.struct('kv_bpf_attach', { group: 'uint32_t', program: 'uint32_t', type: 'uint32_t', flags: 'uint32_t', replaced: 'uint32_t' });
  koffi.struct('kv_bpf_id', { id: 'uint32_t', next: 'uint32_t', flags: 'uint32_t' });
  koffi.struct('kv_bpf_info', { program: 'uint32_t', size: 'uint32_t', info: 'void *' });
  koffi.struct('kv_bpf_query', {
    ...{ group: 'uint32_t', type: 'uint32_t', queryFlags: 'uint32_t', flags: 'uint32_t' },
    ...{ ids: 'void *', count: 'uint32_t' },
  });
  koffi.struct('kv_bpf_program', {
    ...{ type: 'uint32_t', id: 'uint32_t', tag: 'uint64_t', compiledSize: 'uint32_t', size: 'uint32_t' },
    ...{ compiled: 'void *', instructions: 'void *' },
  });
  const call = (name: string): Call =>
    lib.func(`long syscall(long number, int command, _Inout_ ${name} *attributes, unsigned int size)`) as Call;
  calls = {
    load: call('kv_bpf_load'),
    attach: call('kv_bpf_attach'),
    fdOfId: call('kv_bpf_id'),
    info: call('kv_bpf_info'),
    query: call('kv_bpf_query'),
  };
  return calls;
}

function bpf(step: keyof typeof COMMAND, attributes: object, size: number): number {
  const number = SYSCALL[process.arch];
  if (number === undefined) throw new KvError('Terminal', `the number of bpf(2) is not known for ${process.arch}`);
  const result = libc()[step](number, COMMAND[step], attributes, size);
  if (result >= 0) return result;
  const errno = koffi.errno();
  throw new KvError('Internal', `bpf(${step}) failed with error number ${errno}`, { details: { errno } });
}

export interface AttachedPrograms {
  readonly ids: readonly number[];
  readonly flags: number;
}

/** Programs that decide about devices in this very group, by descriptor of its directory. */
export function deviceProgramsOf(group: number): AttachedPrograms {
  const ids = Buffer.alloc(MAX_PROGRAMS * 4);
  const query = { group, type: ATTACH_TYPE, queryFlags: 0, flags: 0, ids, count: MAX_PROGRAMS };
  bpf('query', query, 28);
  const numbers = new Uint32Array(ids.buffer, ids.byteOffset, query.count);
  return { ids: [...numbers], flags: query.flags };
}

export const openProgram = (id: number): number => bpf('fdOfId', { id, next: 0, flags: 0 }, 12);

/** Its instructions; empty when the kernel keeps them to itself. */
export function readProgram(program: number): Buffer {
  const sizes = Buffer.alloc(INFO_BYTES);
  bpf('info', { program, size: INFO_BYTES, info: sizes }, 16);
  const size = new Uint32Array(sizes.buffer, sizes.byteOffset, INFO_BYTES / 4)[5] ?? 0;
  const instructions = Buffer.alloc(size);
  if (size === 0) return instructions;
  const request = koffi.alloc('kv_bpf_program', 1);
  try {
    koffi.encode(request, 'kv_bpf_program', {
      ...{ type: 0, id: 0, tag: 0, compiledSize: 0, size },
      ...{ compiled: null, instructions },
    });
    bpf('info', { program, size: INFO_BYTES, info: request }, 16);
  } finally {
    koffi.free(request);
  }
  return instructions;
}

export const loadDeviceProgram = (instructions: Buffer): number =>
  bpf('load', { type: PROGRAM_TYPE, count: instructions.length / INSTRUCTION_BYTES, instructions, license: 'Apache' }, 24);

/** Attached with these flags; in the place of `replaced`, if that is given. */
export function attachDeviceProgram(group: number, program: number, flags: number, replaced?: number): void {
  const isReplacing = replaced !== undefined && (flags & MAY_BE_MANY) !== 0;
  const how = isReplacing ? flags | REPLACE : flags;
  bpf('attach', { group, program, type: ATTACH_TYPE, flags: how, replaced: isReplacing ? replaced : 0 }, 20);
}
