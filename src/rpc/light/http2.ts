// Node's HTTP/2, loaded when it is first needed: with TLS, which comes along, that takes a launcher a third of the time until its first line runs, and
// libvirt can start meanwhile. Knows no particular call.
import type * as Http2 from 'node:http2';

export const http2 = (): typeof Http2 => process.getBuiltinModule('node:http2');
