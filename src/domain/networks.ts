import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;
/** A network: address and bits of its prefix. */
export type Network = [Address, number];

/** Networks as an operator writes them, `10.0.0.0/8` or a single address, separated by commas. Null where one is none. */
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
