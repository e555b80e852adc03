// Datagram sockets that belong to one link from their first moment. Node can only bind first and restrict later, and in between packets of
// other links would come in. For the launcher's DHCP servers.

import { createSocket, type Socket } from 'node:dgram';
import { closeSync } from 'node:fs';
import { bindToDevice } from './ffi.js';
import { bindToPort, type Domain, setOption, udpSocket } from './ffi-sockets.js';

const IPV6_ONLY = [41, 26] as const;

/** Bound to the port, on this link only. */
export function linkSocket(domain: Domain, port: number, link: string): Socket {
  const fd = udpSocket(domain);
  try {
    if (domain === 'udp6') setOption(fd, IPV6_ONLY, 1);
    bindToDevice(fd, link);
    bindToPort(fd, domain, port);
    const socket = createSocket(domain);
    socket.bind({ fd });
    return socket;
  } catch (err) {
    closeSync(fd);
    throw err;
  }
}
