// The instructions by which a control group of version 2 lets its processes use block devices: a prologue that answers yes for the plugged ones,
// put before whatever program the container runtime attached, which goes on deciding about everything else. The prologue is found again by its
// first instruction, so that it can be changed. Pure; device-access.ts loads and attaches.
import type { DeviceNumber } from './block-device.js';

const INSTRUCTION_BYTES = 8;
/** Loaded into a register that nobody reads: the sign of our prologue. */
const SIGN = 0x6b76706c;
const HEAD = 7;
const PER_DEVICE = 4;
/** BPF_DEVCG_DEV_BLOCK. */
const BLOCK = 1;

const OP = { set: 0xb4, load: 0x61, and: 0x54, ifNot: 0x55, exit: 0x95 } as const;

interface Instruction {
  readonly op: number;
  /** Register that is written or compared. */
  readonly to?: number;
  readonly from?: number;
  readonly offset?: number;
  readonly value?: number;
}

function encode({ op, to = 0, from = 0, offset = 0, value = 0 }: Instruction, isLittle: boolean): Buffer {
  const bytes = Buffer.alloc(INSTRUCTION_BYTES);
  bytes.writeUInt8(op, 0);
  // Two registers of four bits each, which change places with the byte order.
  bytes.writeUInt8(isLittle ? (from << 4) | to : (to << 4) | from, 1);
  if (isLittle) {
    bytes.writeInt16LE(offset, 2);
    bytes.writeInt32LE(value, 4);
  } else {
    bytes.writeInt16BE(offset, 2);
    bytes.writeInt32BE(value, 4);
  }
  return bytes;
}

const valueAt = (program: Buffer, index: number, isLittle: boolean): number => {
  const at = index * INSTRUCTION_BYTES + 4;
  return isLittle ? program.readInt32LE(at) : program.readInt32BE(at);
};

/** r1 holds the request {access and type, major, minor} and is left alone for the program that follows. */
function prologue(devices: readonly DeviceNumber[], isLittle: boolean): Buffer[] {
  const head: Instruction[] = [
    { op: OP.set, value: SIGN },
    { op: OP.set, value: devices.length },
    { op: OP.load, to: 2, from: 1, offset: 0 },
    { op: OP.and, to: 2, value: 0xffff },
    { op: OP.ifNot, to: 2, value: BLOCK, offset: 2 + devices.length * PER_DEVICE },
    { op: OP.load, to: 3, from: 1, offset: 4 },
    { op: OP.load, to: 4, from: 1, offset: 8 },
  ];
  const rules = devices.flatMap(({ major, minor }): Instruction[] => [
    { op: OP.ifNot, to: 3, value: major, offset: 3 },
    { op: OP.ifNot, to: 4, value: minor, offset: 2 },
    { op: OP.set, value: 1 },
    { op: OP.exit },
  ]);
  return [...head, ...rules].map((instruction) => encode(instruction, isLittle));
}

function isOurs(program: Buffer, isLittle: boolean): boolean {
  return program.length > HEAD * INSTRUCTION_BYTES && program[0] === OP.set && valueAt(program, 0, isLittle) === SIGN;
}

/** The devices that a prologue of ours allows. */
export function devicesOf(program: Buffer, isLittle: boolean): DeviceNumber[] {
  if (!isOurs(program, isLittle)) return [];
  return Array.from({ length: valueAt(program, 1, isLittle) }, (_, index) => {
    const at = HEAD + index * PER_DEVICE;
    return { major: valueAt(program, at, isLittle), minor: valueAt(program, at + 1, isLittle) };
  });
}

/** The program with exactly these devices allowed by our prologue; without any it is the runtime's again. */
export function withDevices(program: Buffer, devices: readonly DeviceNumber[], isLittle: boolean): Buffer {
  const before = isOurs(program, isLittle) ? HEAD + devicesOf(program, isLittle).length * PER_DEVICE : 0;
  const own = program.subarray(before * INSTRUCTION_BYTES);
  return devices.length === 0 ? Buffer.from(own) : Buffer.concat([...prologue(devices, isLittle), own]);
}
