import { lookup, Resolver } from 'node:dns/promises';
import type { LookupFunction } from 'node:net';
import { isPublicAddress } from '../../catalog/webhook-target.ts';
import { TargetRefused } from './target-refused.ts';

/** The addresses that a name stands for; rejects where it stands for none. */
export type ResolveName = (name: string) => Promise<string[]>;

/** How long one name server is waited for, and how often each is asked. */
const DNS_TIMEOUT_MS = 3_000;
const DNS_TRIES = 2;

/**
 * Asks the name servers by itself: the system's look-up takes one of four threads, and names whose servers hang would hold up
 * every other. It knows no names of the operator's network (`/etc/hosts`, search domains), which nothing may be sent to anyway
 * unless private addresses are allowed: then the system is asked for what the name servers do not know.
 */
export function nameResolver({ allowPrivate }: { allowPrivate: boolean }): ResolveName {
  const resolver = new Resolver({ timeout: DNS_TIMEOUT_MS, tries: DNS_TRIES });
  return async (name) => {
    const asked = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    const found = asked.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    if (found.length > 0) return found;
    if (allowPrivate) return (await lookup(name, { all: true })).map(({ address }) => address);
    throw (asked[0] as PromiseRejectedResult).reason;
  };
}

/**
 * The look-up of a connection: of the addresses that a name stands for it passes on those that may be connected to, and
 * the connection is made to one of them. So nobody looks the name up again, and a name that stands for another address from one
 * look-up to the next changes nothing. Fails with `TargetRefused` where no address is left.
 */
export function publicLookup(resolve: ResolveName, { allowPrivate }: { allowPrivate: boolean }): LookupFunction {
  return (name, options, callback) => {
    const passOn = (addresses: string[]): void => {
      const allowed = addresses.filter((address) => allowPrivate || isPublicAddress(address));
      const found = allowed.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
      const [first] = found;
      if (first === undefined) callback(new TargetRefused(), '');
      else if (options.all === true) callback(null, found);
      else callback(null, first.address, first.family);
    };
    const fail = (error: NodeJS.ErrnoException): void => callback(error, '');
    resolve(name).then(passOn, fail);
  };
}
