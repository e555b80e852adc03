// What the launcher relies on, as one suite: run against the fake (unit tests) and against libvirt's in-process test driver (host tests).
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Connection, type DomainEvent, isLibvirtError, type Libvirt } from '../../src/libvirt/index.js';

const NAME = 'contract_vm';
const XML = `<domain type='test'><name>${NAME}</name><uuid>11111111-2222-4333-8444-555555555555</uuid>
  <memory unit='KiB'>131072</memory><vcpu>2</vcpu><os><type>hvm</type></os></domain>`;

export function libvirtContract(title: string, create: () => Libvirt, uri: string): void {
  describe(`libvirt contract: ${title}`, () => {
    let libvirt: Libvirt;
    let conn: Connection;
    const events: DomainEvent[] = [];

    beforeEach(async () => {
      libvirt = create();
      conn = await libvirt.open(uri);
      events.length = 0;
      await conn.subscribe((event) => {
        if (event.domain.name === NAME) events.push(event);
      });
    });
    afterEach(async () => {
      const left = await conn.lookupDomain(NAME);
      if (left) {
        if (!['shutoff', 'crashed'].includes((await left.state()).state)) await left.destroy();
        await left.undefine();
        left.close();
      }
      await conn.close();
      await libvirt.shutdown();
    });

    const lifecycle = (): string[] => events.flatMap((event) => (event.kind === 'lifecycle' ? [event.event] : []));
    const heard = (...expected: string[]): Promise<void> => expect.poll(lifecycle, { timeout: 5000 }).toEqual(expected);

    it('defines, starts, pauses, resumes, destroys and undefines a domain, and tells so', async () => {
      const domain = await conn.defineDomain(XML);
      expect([domain.name, domain.uuid]).toEqual([NAME, '11111111-2222-4333-8444-555555555555']);
      expect((await domain.state()).state).toBe('shutoff');
      await domain.create();
      expect(await domain.state()).toEqual({ state: 'running', reason: 'booted' });
      await domain.suspend();
      expect(await domain.state()).toEqual({ state: 'paused', reason: 'user' });
      await domain.resume();
      expect(await domain.state()).toEqual({ state: 'running', reason: 'unpaused' });
      await domain.destroy();
      expect(await domain.state()).toEqual({ state: 'shutoff', reason: 'destroyed' });
      await domain.undefine();
      expect(await conn.lookupDomain(NAME)).toBeUndefined();
      await heard('defined', 'started', 'suspended', 'resumed', 'stopped', 'undefined');
      domain.close();
    });

    it('shuts a domain down', async () => {
      const domain = await conn.defineDomain(XML);
      await domain.create();
      await domain.shutdown();
      await expect.poll(() => domain.state(), { timeout: 5000 }).toEqual({ state: 'shutoff', reason: 'shutdown' });
      domain.close();
    });

    it('gives XML and facts', async () => {
      const domain = await conn.defineDomain(XML);
      expect(await domain.xml({ inactive: true })).toContain(`<name>${NAME}</name>`);
      expect(await domain.info()).toMatchObject({ state: 'shutoff', maxMemoryKib: 131072, vcpus: 2 });
      domain.close();
    });

    it('defining again keeps the domain and its state', async () => {
      const first = await conn.defineDomain(XML);
      await first.create();
      const second = await conn.defineDomain(XML);
      expect((await second.state()).state).toBe('running');
      first.close();
      second.close();
    });

    it('says what failed, on which domain, with libvirt’s reason and code', async () => {
      const domain = await conn.defineDomain(XML);
      const failure = await domain.suspend().then(
        () => undefined,
        (err: unknown) => err,
      );
      expect(failure).toMatchObject({ code: 'Libvirt', message: expect.stringContaining(`cannot pause domain ${NAME}: `) });
      expect(isLibvirtError(failure, 'operationInvalid', 'internal')).toBe(true);
      domain.close();
    });

    it('refuses XML that is none', async () => {
      await expect(conn.defineDomain('<domain')).rejects.toMatchObject({ code: 'Libvirt' });
    });

    it('pairs errors with calls made at the same time', async () => {
      const domain = await conn.defineDomain(XML);
      const [lookup, resume, state] = await Promise.allSettled([conn.lookupDomain('nobody'), domain.resume(), domain.state()]);
      expect(lookup).toEqual({ status: 'fulfilled', value: undefined });
      expect(resume).toMatchObject({ status: 'rejected', reason: { message: expect.stringContaining('cannot resume') } });
      expect(state).toMatchObject({ status: 'fulfilled', value: { state: 'shutoff' } });
      domain.close();
    });

    it('says so when a domain is used after undefine', async () => {
      const domain = await conn.defineDomain(XML);
      await domain.undefine();
      const failure = await domain.create().then(
        () => undefined,
        (err: unknown) => err,
      );
      expect(isLibvirtError(failure, 'noDomain')).toBe(true);
      domain.close();
    });

    it('is quiet after the subscription ended', async () => {
      const seen: DomainEvent[] = [];
      const end = await conn.subscribe((event) => void seen.push(event));
      await end();
      const domain = await conn.defineDomain(XML);
      await heard('defined');
      expect(seen).toEqual([]);
      domain.close();
    });

    it('refuses calls after close', async () => {
      const other = await libvirt.open(uri);
      expect(other.isAlive()).toBe(true);
      await other.close();
      expect(other.isAlive()).toBe(false);
      await expect(other.lookupDomain(NAME)).rejects.toMatchObject({ code: 'Libvirt', message: expect.stringContaining('closed') });
    });
  });
}
