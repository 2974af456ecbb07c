import ipaddr from 'ipaddr.js';
import type { Network } from '../domain/networks.ts';
import type { HttpResponse } from './uws.ts';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/**
 * The client's address: the peer or, if that is a trusted proxy, the last untrusted address in `X-Forwarded-For`. Earlier addresses come from the
 * sender of the request and prove nothing.
 * @param peer as `remoteAddress` returns it
 */
export function clientAddress(
  peer: string | null,
  { forwardedFor, trusted }: { forwardedFor: string | null; trusted: readonly Network[] },
): string | null {
  if (peer === null || trusted.length === 0) return peer;
  let address = ipaddr.process(peer);
  const hops = (forwardedFor ?? '').split(',').map((hop) => hop.trim());
  while (isTrusted(address, trusted)) {
    const hop = hops.pop();
    if (hop === undefined || !ipaddr.isValid(hop)) break;
    address = ipaddr.process(hop);
  }
  return address.toString();
}

/**
 * The key for counting a client: its IPv4 address, or the /64 of its IPv6 address, which usually belongs to one customer. `null` for the local
 * machine if clients connect through trusted proxies, because direct local requests then come from an operator.
 */
function clientNetwork(address: string, trusted: readonly Network[]): string | null {
  if (trusted.length > 0 && ipaddr.parse(address).range() === 'loopback') return null;
  if (!address.includes(':')) return address;
  const network = ipaddr.IPv6.parse(address).toByteArray().fill(0, 8);
  return `${new ipaddr.IPv6(network).toString()}/64`;
}

/** The network of a response's client; `null` if it is not counted or the connection is gone. */
export function networkOf(res: HttpResponse, forwardedFor: string | null, trusted: readonly Network[]): string | null {
  const address = clientAddress(remoteAddress(res), { forwardedFor, trusted });
  return address === null ? null : clientNetwork(address, trusted);
}

/** The network of a connection's peer; `null` if it is not counted: a trusted proxy, for example. */
export function peerNetwork(res: HttpResponse, trusted: readonly Network[]): string | null {
  const peer = remoteAddress(res);
  return peer === null || isTrusted(ipaddr.process(peer), trusted) ? null : clientNetwork(peer, trusted);
}

const isTrusted = (address: Address, trusted: readonly Network[]): boolean =>
  trusted.some(([network, bits]) => network.kind() === address.kind() && address.match([network, bits] as never));

const MAPPED = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/;

/** The peer's address; `null` if the socket reports none. `res` must not be aborted. */
export function remoteAddress(res: HttpResponse): string | null {
  const text = Buffer.from(res.getRemoteAddressAsText()).toString('latin1');
  if (!text.includes(':')) return text === '' ? null : text;
  const address = `http://[${text}]`;
  if (!URL.canParse(address)) return null;
  const short = new URL(address).hostname.slice(1, -1);
  const mapped = MAPPED.exec(short);
  if (mapped === null) return short;
  const [high, low] = [parseInt(mapped[1]!, 16), parseInt(mapped[2]!, 16)];
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}
