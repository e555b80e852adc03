// Pictures of the screen as PNG: QEMU versions without PNG support write portable pixmaps, which few programs open. Pure.
import { crc32, deflateSync } from 'node:zlib';
import { KvError } from '../base/errors.js';
import type { Picture } from '../libvirt/index.js';

const PNG = 'image/png';
const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const CHANNELS = 3;
const EIGHT_BITS = 8;
const RGB = 2;

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const frame = Buffer.alloc(body.length + 8);
  frame.writeUInt32BE(data.length, 0);
  body.copy(frame, 4);
  frame.writeUInt32BE(crc32(body), body.length + 4);
  return frame;
}

/** "P6 <width> <height> <maximum>", one white space, then three bytes a pixel. */
function pixelsOf(data: Buffer): { width: number; height: number; pixels: Buffer } {
  const head = /^P6\s+(?:#[^\n]*\n\s*)*(\d+)\s+(\d+)\s+255\s/.exec(data.toString('latin1', 0, 256));
  const [width, height] = [Number(head?.[1]), Number(head?.[2])];
  const pixels = data.subarray(head?.[0].length ?? 0);
  if (head === null || pixels.length < width * height * CHANNELS) {
    throw new KvError('Internal', 'QEMU wrote a picture of the screen that is neither PNG nor a portable pixmap');
  }
  return { width, height, pixels };
}

export function toPng(picture: Picture): Picture {
  if (picture.mime === PNG) return picture;
  const { width, height, pixels } = pixelsOf(picture.data);
  const line = width * CHANNELS;
  const rows = Buffer.alloc(height * (line + 1));
  // Each row begins with the filter it uses: none.
  for (let y = 0; y < height; y++) pixels.copy(rows, y * (line + 1) + 1, y * line, (y + 1) * line);
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([EIGHT_BITS, RGB, 0, 0, 0], 8);
  const data = Buffer.concat([SIGNATURE, chunk('IHDR', header), chunk('IDAT', deflateSync(rows)), chunk('IEND', Buffer.alloc(0))]);
  return { mime: PNG, data };
}
