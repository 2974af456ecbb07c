import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;
export type Network = [Address, number];

/** Parses comma-separated networks (`10.0.0.0/8`) or addresses. `null` if any of them is invalid. */
export function parseNetworks(text: string): Network[] | null {
  const networks: Network[] = [];
  for (const part of text.split(',').map((one) => one.trim())) {
    if (ipaddr.isValidCIDR(part)) networks.push(ipaddr.parseCIDR(part));
    else if (ipaddr.isValid(part)) {
      const address = ipaddr.process(part);
      networks.push([address, address.kind() === 'ipv4' ? 32 : 128]);
    } else return null;
  }
  return networks;
}
