// Assembles a small container image as an OCI archive in memory: for the pause image and the tool image, whose only content
// is one static program each. Pure; the same input gives the same bytes.
import { createHash } from 'node:crypto';

export interface TarEntry {
  readonly path: string;
  readonly mode: number;
  readonly data?: Buffer;
  readonly linkTo?: string;
  readonly directory?: boolean;
}

export interface ImageSpec {
  readonly name: string;
  readonly entries: readonly TarEntry[];
  readonly entrypoint: readonly string[];
  readonly env?: readonly string[];
  readonly user?: string;
  readonly architecture: string;
}

const BLOCK = 512;
const TYPE = { file: '0', link: '2', directory: '5' } as const;

export function renderTar(entries: readonly TarEntry[]): Buffer {
  const parts = entries.flatMap((entry) => {
    const data = entry.data ?? Buffer.alloc(0);
    return [tarHeader(entry, data.length), data, Buffer.alloc(padding(data.length))];
  });
  return Buffer.concat([...parts, Buffer.alloc(2 * BLOCK)]);
}

function padding(size: number): number {
  return (BLOCK - (size % BLOCK)) % BLOCK;
}

function tarHeader(entry: TarEntry, size: number): Buffer {
  const header = Buffer.alloc(BLOCK);
  const octal = (value: number, digits: number) => value.toString(8).padStart(digits, '0');
  header.write(entry.path, 0, 100);
  header.write(`${octal(entry.mode, 7)}\0${octal(0, 7)}\0${octal(0, 7)}\0${octal(size, 11)}\0${octal(0, 11)}\0`, 100);
  header.write(' '.repeat(8), 148);
  header.write(entry.directory ? TYPE.directory : entry.linkTo === undefined ? TYPE.file : TYPE.link, 156);
  header.write(entry.linkTo ?? '', 157, 100);
  header.write('ustar\x0000', 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${octal(sum, 6)}\0 `, 148);
  return header;
}

export function renderImage(spec: ImageSpec): Buffer {
  const blobs: TarEntry[] = [];
  const store = (data: Buffer) => {
    const digest = createHash('sha256').update(data).digest('hex');
    blobs.push({ path: `blobs/sha256/${digest}`, mode: 0o644, data });
    return { digest: `sha256:${digest}`, size: data.length };
  };
  const json = (value: unknown) => Buffer.from(JSON.stringify(value));
  const layer = store(renderTar(spec.entries));
  const config = store(
    json({
      architecture: spec.architecture,
      os: 'linux',
      config: { Entrypoint: spec.entrypoint, ...(spec.env && { Env: spec.env }), ...(spec.user && { User: spec.user }) },
      rootfs: { type: 'layers', diff_ids: [layer.digest] },
    }),
  );
  const manifestType = 'application/vnd.oci.image.manifest.v1+json';
  const manifest = store(
    json({
      schemaVersion: 2,
      mediaType: manifestType,
      config: { mediaType: 'application/vnd.oci.image.config.v1+json', ...config },
      layers: [{ mediaType: 'application/vnd.oci.image.layer.v1.tar', ...layer }],
    }),
  );
  const annotations = { 'io.containerd.image.name': spec.name, 'org.opencontainers.image.ref.name': spec.name.split(':').at(-1) };
  const index = json({ schemaVersion: 2, manifests: [{ mediaType: manifestType, ...manifest, annotations }] });
  return renderTar([
    { path: 'oci-layout', mode: 0o644, data: json({ imageLayoutVersion: '1.0.0' }) },
    { path: 'index.json', mode: 0o644, data: index },
    ...blobs,
  ]);
}
