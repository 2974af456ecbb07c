import ipaddr from 'ipaddr.js';

/** What IANA has given out for use on the Internet; the rest of IPv6 is reserved, whatever a list of exceptions says. */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');

/** Ranges whose last 32 bits are the IPv4 address that is meant: `::ffff:a.b.c.d`, and `64:ff9b::a.b.c.d` (RFC 6052). */
const EMBEDS_IPV4: readonly (readonly [ipaddr.IPv6, number])[] = [
  ipaddr.IPv6.parseCIDR('::ffff:0:0/96'),
  ipaddr.IPv6.parseCIDR('64:ff9b::/96'),
];

/**
 * Whether an IP address is a unicast address of the public Internet. False for what is no address, and for special ranges
 * (private, loopback, link-local, shared, documentation, multicast, 6to4, Teredo and the rest of IANA's registries). An
 * address that stands for an IPv4 address is as public as that one. To be asked of an address as written in a URL, and again of
 * the address that a connection is about to be made to: what a name stands for may change in between.
 */
export function isPublicAddress(address: string): boolean {
  if (ipaddr.IPv4.isValidFourPartDecimal(address)) return isPublicIPv4(ipaddr.IPv4.parse(address));
  if (!ipaddr.IPv6.isValid(address)) return false;
  const ipv6 = ipaddr.IPv6.parse(address);
  if (EMBEDS_IPV4.some(([network, bits]) => ipv6.match(network, bits)))
    return isPublicIPv4(new ipaddr.IPv4(ipv6.toByteArray().slice(-4)));
  return ipv6.range() === 'unicast' && ipv6.match(...GLOBAL_UNICAST);
}

const isPublicIPv4 = (address: ipaddr.IPv4): boolean => address.range() === 'unicast';
