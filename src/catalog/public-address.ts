import { BlockList, isIP } from 'node:net';

// The special-purpose registries of IANA: what is not reached over the Internet, or stands for another address that
// may not be.
const SPECIAL: [string, number][] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
  // unspecified, loopback, IPv4 in IPv6 of old
  ['::', 96],
  // IPv4 in IPv6, translated
  ['64:ff9b::', 96],
  ['64:ff9b:1::', 48],
  ['100::', 64],
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
  ['5f00::', 16],
  ['fc00::', 7],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
];

const special = new BlockList();
for (const [network, bits] of SPECIAL) special.addSubnet(network, bits, network.includes(':') ? 'ipv6' : 'ipv4');

/** Whether an IP address (IPv4 in IPv6 too) is one of the public Internet; false for what is no address. */
export function isPublicAddress(address: string): boolean {
  const version = isIP(address);
  return version !== 0 && !special.check(address, version === 6 ? 'ipv6' : 'ipv4');
}
