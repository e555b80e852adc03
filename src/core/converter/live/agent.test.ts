// The guest agent's channel as libvirt describes it.
import { expect, it } from 'vitest';
import { readDomain } from '../domain-xml.js';
import { describeLive } from './live-domain.js';

const channel = (name: string, state: string): string =>
  `<domain><devices><channel><target type='virtio' name='${name}' state='${state}'/></channel></devices></domain>`;

it.each([
  [channel('org.qemu.guest_agent.0', 'connected'), true],
  [channel('org.qemu.guest_agent.0', 'disconnected'), false],
  [channel('other', 'connected'), false],
  ['<domain/>', false],
])('agent of %s', (xml, expected) => expect(describeLive(readDomain(xml)).isAgentConnected).toBe(expected));
