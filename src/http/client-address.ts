import ipaddr from 'ipaddr.js';
import type { Network } from '../domain/networks.ts';
import { remoteAddress } from './remote-address.ts';
import type { HttpResponse } from './uws.ts';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/**
 * Whom a request comes from: the other end of the connection or, where that is a trusted proxy, the last address in
 * `X-Forwarded-For` that is none; what precedes it was written by the sender of the request.
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
 * What stands for a client where clients are counted: an IPv4 address, or the /64 of an IPv6 one, which one customer has whole.
 * Null for this machine itself where clients come through trusted proxies: then what comes from here directly is an operator.
 */
function clientNetwork(address: string, trusted: readonly Network[]): string | null {
  if (trusted.length > 0 && ipaddr.parse(address).range() === 'loopback') return null;
  if (!address.includes(':')) return address;
  const network = ipaddr.IPv6.parse(address).toByteArray().fill(0, 8);
  return `${new ipaddr.IPv6(network).toString()}/64`;
}

/** The same of a response that is not aborted; null where the connection is gone, too. */
export function networkOf(
  res: HttpResponse,
  { forwardedFor, trusted }: { forwardedFor: string | null; trusted: readonly Network[] },
): string | null {
  const address = clientAddress(remoteAddress(res), { forwardedFor, trusted });
  return address === null ? null : clientNetwork(address, trusted);
}

const isTrusted = (address: Address, trusted: readonly Network[]): boolean =>
  trusted.some(([network, bits]) => network.kind() === address.kind() && address.match([network, bits] as never));
