// The shim between a launcher and scripts, over a real socket: asked by our launcher's client and by the gRPC library.
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client, credentials, type ServiceError } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { guest } from '../../../test/builders/domain.js';
import { scratchDir } from '../../../test/fakes/scratch.js';
import { systemClock } from '../../base/clock.js';
import { makeCtx } from '../../base/context.js';
import { silentLogger } from '../../base/logger.js';
import { readDomain } from '../../core/converter/index.js';
import { renderCloudInit } from '../../core/storage/index.js';
import { run } from '../../linux/exec.js';
import { askInfo, callHook, type HookVersion } from '../../rpc/light/hooks.js';
import type { LightServer } from '../../rpc/light/server.js';
import { HookSidecars } from '../hooks/hooks.js';
import { parseShim, runShim } from './sidecar-shim.js';

const ctx = makeCtx(new AbortController().signal, silentLogger, systemClock);
const vmi = guest({});
const domain = readDomain("<domain><name>vm</name><sysinfo type='smbios'/></domain>");

let directory: string;
let bin: string;
let server: LightServer | undefined;
let ends = 0;
beforeEach(async () => {
  directory = scratchDir();
  bin = join(directory, 'bin');
  await mkdir(bin);
  await mkdir(join(directory, 'hooks', 'hook-sidecar-0'), { recursive: true });
  ends = 0;
});
afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function script(name: string, body: string, mode = 0o755): Promise<void> {
  await writeFile(join(bin, name), `#!/bin/sh\n${body}\n`);
  await chmod(join(bin, name), mode);
}

const socket = (): string => join(directory, 'hooks', 'hook-sidecar-0', 'shim.sock');

async function shim(version: HookVersion = 'v1alpha3', scriptMs = 10_000): Promise<HookSidecars> {
  const ended = (): void => {
    ends += 1;
  };
  server = await runShim({ ctx, run, path: `/nowhere:${bin}`, socketPath: socket(), ended, scriptMs }, version);
  return new HookSidecars(ctx, 1, join(directory, 'hooks'));
}

it.each([
  [[], { ok: true, value: 'v1alpha3' }],
  [['--version', 'v1alpha1'], { ok: true, value: 'v1alpha1' }],
  [['--version=v1alpha2'], { ok: true, value: 'v1alpha2' }],
  [['--version', 'v1'], { ok: false, error: '--version: there is v1alpha3, v1alpha2, v1alpha1, not v1' }],
])('takes the flags %j', (argv, expected) => expect(parseShim(argv)).toEqual(expected));

it.each<[HookVersion, string[]]>([
  ['v1alpha1', ['OnDefineDomain']],
  ['v1alpha2', ['OnDefineDomain']],
  ['v1alpha3', ['OnDefineDomain', 'Shutdown']],
])('%s: announces the programs that can be run', async (version, points) => {
  await script('onDefineDomain', 'cat');
  await script('preCloudInitIso', 'cat', 0o644);
  await shim(version);
  expect(await askInfo(socket(), 1000)).toEqual({
    name: 'shim',
    versions: [version],
    hookPoints: points.map((name) => ({ name, priority: 0 })),
  });
});

describe('programs', () => {
  // The example of the user guide: cuts into the text, and knows its arguments by their place.
  const EXAMPLE = `tempFile=$(mktemp)
echo $4 > $tempFile
sed -i "s|<baseBoard></baseBoard>|<baseBoard><entry name='manufacturer'>Radical Edward</entry></baseBoard>|" $tempFile
cat $tempFile; rm $tempFile`;

  it('change the domain', async () => {
    await script('onDefineDomain', EXAMPLE);
    const hooked = await (await shim('v1alpha2')).onDefineDomain(domain, vmi);
    expect(hooked?.xml).toContain("<baseBoard><entry name='manufacturer'>Radical Edward</entry></baseBoard>");
  });

  it('get the VMI', async () => {
    await script('onDefineDomain', 'case "$2" in *\'"name":"vm"\'*) echo "$4";; esac');
    expect((await (await shim('v1alpha1')).onDefineDomain(domain, vmi))?.domain.name).toBe(domain.name);
  });

  it('change cloud-init data', async () => {
    await script('preCloudInitIso', 'test "$3" = --cloud-init && echo "$4" | sed s/before/after/');
    const withData = guest({ spec: { volumes: [{ name: 'ci', cloudInitNoCloud: { userData: 'before' } }] } });
    const iso = renderCloudInit(withData, { secrets: {}, fallbackUuid: '' });
    if (!iso) throw new Error('no ISO');
    const { files } = await (await shim()).preCloudInitIso(iso, withData);
    expect(new TextDecoder().decode(files['user-data'])).toBe('after');
  });

  it.each([
    ['that fail', 'echo first >&2; echo the reason >&2; exit 3', 'onDefineDomain ended with exit code 3: the reason'],
    ['that miss a program', 'no-such-program', 'a program that it needs is not in this image'],
    ['that print nothing', 'true', 'it gave back no domain'],
  ])('%s are reported', async (_, body, message) => {
    await script('onDefineDomain', body);
    await expect((await shim()).onDefineDomain(domain, vmi)).rejects.toThrow(message);
  });
});

describe('programs that cannot be run', () => {
  it.each([['for want of an interpreter', '#!/no/such/interpreter\n', 'the program in its first line (#!) is not in this image']])(
    '%s',
    async (_, content, message) => {
      await writeFile(join(bin, 'onDefineDomain'), content, { mode: 0o755 });
      await expect((await shim()).onDefineDomain(domain, vmi)).rejects.toThrow(message);
    },
  );

  it('as the VMI is too large for arguments', async () => {
    await script('onDefineDomain', 'echo "$4"');
    const large = guest({ annotations: { notes: 'x'.repeat(140_000) } });
    await expect((await shim()).onDefineDomain(domain, large)).rejects.toThrow('larger than the 128 KiB');
  });

  it('a directory is none: that is what is there without the key of the ConfigMap', async () => {
    await mkdir(join(bin, 'onDefineDomain'));
    const hooks = await shim();
    expect((await askInfo(socket(), 1000)).hookPoints.map(({ name }) => name)).toEqual(['Shutdown']);
    expect(await hooks.onDefineDomain(domain, vmi)).toBeUndefined();
  });
});

describe('programs that do not come to an end', () => {
  it.each([
    ['in time', 'exec sleep 60', 'had not ended after 0.3 s and was killed'],
    ['as what they started does not', 'sleep 61', 'had not ended after 0.3 s and was killed'],
    ['of what they print', 'yes', 'was killed: it printed too much'],
  ])('%s', async (_, body, message) => {
    await script('onDefineDomain', body);
    const hooks = await shim('v1alpha3', message.includes('0.3') ? 300 : 10_000);
    await expect(hooks.onDefineDomain(domain, vmi)).rejects.toThrow(message);
  });
});

it('ends when the launcher says so', async () => {
  await script('onDefineDomain', 'echo "$4"');
  const hooks = await shim();
  await hooks.onDefineDomain(domain, vmi);
  await hooks.shutdown();
  expect(ends).toBe(1);
});

describe('asked by the gRPC library', () => {
  const ask = (method: string): Promise<Buffer> => {
    const client = new Client(`unix:${socket()}`, credentials.createInsecure());
    const same = (bytes: Buffer): Buffer => bytes;
    return new Promise<Buffer>((resolve, reject) => {
      client.makeUnaryRequest(method, same, same, Buffer.alloc(0), (err: ServiceError | null, answer?: Buffer) =>
        err ? reject(err) : resolve(answer ?? Buffer.alloc(0)),
      );
    }).finally(() => client.close());
  };

  it('answers', async () => {
    await shim();
    expect((await ask('/kubevirt.hooks.info.Info/Info')).toString('latin1')).toContain('shim');
  });

  it('refuses what it does not know, and says why a call failed', async () => {
    await shim('v1alpha1');
    await expect(ask('/kubevirt.hooks.v1alpha3.Callbacks/Shutdown')).rejects.toMatchObject({ code: 12 });
    await expect(ask('/kubevirt.hooks.v1alpha1.Callbacks/OnDefineDomain')).rejects.toMatchObject({
      code: 2,
      details: expect.stringMatching(/^there is no program onDefineDomain/),
    });
    const call = { socketPath: socket(), version: 'v1alpha1', method: 'OnDefineDomain', deadlineMs: 1000 } as const;
    await expect(callHook(call, {})).rejects.toMatchObject({ code: 'Internal', message: expect.stringContaining('no program') });
  });
});
