// The two facts read back from libvirt's own XML of the running domain: what machine it became, and whether the guest agent's channel is
// open. Pure; libvirt writes well-formed XML with single quotes, one element a match.

export function machineTypeOf(xml: string): string | undefined {
  return /<type [^>]*machine='([^']+)'/.exec(xml)?.[1];
}

export function isAgentConnected(xml: string): boolean {
  const target = /<target [^>]*name='org\.qemu\.guest_agent\.0'[^>]*>/.exec(xml)?.[0];
  return target?.includes("state='connected'") ?? false;
}
