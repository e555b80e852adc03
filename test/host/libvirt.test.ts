// The binding against the real library: the contract suite on libvirt's test driver, and what the fake need not know.
import { afterAll, describe, expect, it } from 'vitest';
import { silentLogger } from '../../src/base/logger.js';
import { createLibvirt } from '../../src/libvirt/index.js';
import { libvirtContract } from '../fakes/libvirt-contract.js';

const URI = 'test:///default';

libvirtContract('test driver', () => createLibvirt(silentLogger), URI);

describe('the real library', () => {
  const libvirt = createLibvirt(silentLogger);
  afterAll(() => libvirt.shutdown());

  it('explains a connection that cannot be made', async () => {
    await expect(libvirt.open('qemu+unix:///session?socket=/nowhere/libvirt-sock')).rejects.toMatchObject({
      code: 'Libvirt',
      message: expect.stringMatching(/cannot connect to libvirt at qemu\+unix.*\/nowhere\/libvirt-sock/),
    });
  });

  it('reads capabilities, versions, guest facts and addresses', async () => {
    const conn = await libvirt.open(URI);
    expect(await conn.capabilities()).toContain('<capabilities>');
    expect(libvirt.version()).toBeGreaterThan(8_000_000);
    expect(await conn.hypervisorVersion()).toMatch(/^\d+\.\d+\.\d+$/);
    const domain = await conn.lookupDomain('test');
    expect(await domain?.interfaceAddresses('lease')).toEqual([
      { name: 'testnet0', mac: 'aa:bb:cc:dd:ee:ff', addresses: [{ family: 4, ip: expect.stringContaining('192.168.122.'), prefix: 24 }] },
    ]);
    await expect(domain?.agentCommand({ execute: 'guest-ping' }, 1)).rejects.toMatchObject({ code: 'Libvirt' });
    domain?.close();
    await conn.close();
  });

  it('survives a throwing event handler', async () => {
    const conn = await libvirt.open(URI);
    const seen: string[] = [];
    await conn.subscribe(() => {
      throw new Error('handler broke');
    });
    await conn.subscribe((event) => void seen.push(event.kind));
    const domain = await conn.lookupDomain('test');
    await domain?.suspend();
    await domain?.resume();
    await expect.poll(() => seen).toEqual(['lifecycle', 'lifecycle']);
    domain?.close();
    await conn.close();
  });
});
