import ipaddr from 'ipaddr.js';

/** Whether the header `Host` names this server. */
export type AcceptsHost = (host: string) => boolean;

const HOST = /^(?:\[([0-9a-f:.]+)\]|([^:[\]]*))(?::\d*)?$/;

/**
 * Which values of `Host` the admin port accepts, against DNS rebinding: a page whose own name suddenly leads to this machine
 * can read answers of the port as its own, and then sends that name. Addresses and `localhost` are accepted, because no page
 * of another site has them as its name, and those in `names`. `null`: a server that other machines reach accepts all names,
 * unless some are given.
 * @param adminHost the address or name on which the server listens
 * @param names in lower case
 */
export function hostCheck(adminHost: string, names: readonly string[]): AcceptsHost | null {
  if (names.length === 0 && !isLoopback(adminHost)) return null;
  const known = new Set([...names, adminHost.toLowerCase()]);
  return (host) => {
    const [, bracketed, plain = ''] = HOST.exec(host.toLowerCase()) ?? [];
    if (bracketed !== undefined) return ipaddr.IPv6.isValid(bracketed);
    const name = plain.endsWith('.') ? plain.slice(0, -1) : plain;
    return known.has(name) || name === 'localhost' || name.endsWith('.localhost') || isDottedQuad(name);
  };
}

/** Only this form of IPv4 addresses: browsers send no other. */
const isDottedQuad = (name: string): boolean => ipaddr.IPv4.isValidFourPartDecimal(name);

const isLoopback = (host: string): boolean =>
  host === 'localhost' || (ipaddr.isValid(host) && ipaddr.process(host).range() === 'loopback');
