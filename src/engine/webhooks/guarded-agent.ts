/** Connections to webhooks; addresses of private networks are refused. */
import { lookup, Resolver } from 'node:dns/promises';
import { isIP, type LookupFunction, type Socket } from 'node:net';
import { Agent, buildConnector } from 'undici';
import { isPublicAddress } from '../../catalog/rules/webhook.ts';

/** Nothing was sent, because the address is none that webhooks may go to. The message is for a person and names no address. */
export class TargetRefused extends Error {
  constructor(message = 'the address is not public (WEBHOOK_ALLOW_PRIVATE=1 allows it)') {
    super(message);
    this.name = 'TargetRefused';
  }
}

export interface GuardOptions {
  /** Whether private, loopback and link-local addresses may be connected to. */
  allowPrivate: boolean;
  /** By default the name servers of the system are asked. */
  resolve?: ResolveName;
}

/** Until a connection stands, the look-up of the name and TLS included. */
const CONNECT_MS = 10_000;
/** A connection is kept for the next message for so long, unless the receiver says it closes it sooner. */
const KEEP_ALIVE_MS = 4_000;
const MAX_KEEP_ALIVE_MS = 60_000;
const MAX_HEADER_BYTES = 16_384;

/**
 * Makes connections for webhooks, to public addresses only unless all are allowed. What is checked is the address that is
 * connected to: of a name see `publicLookup`; a literal is checked by itself, since nothing looks it up. In TLS the certificate must
 * be the name's. A connection serves one request at a time, and every origin has its own.
 */
export function guardedAgent({ allowPrivate, resolve = nameResolver({ allowPrivate }) }: GuardOptions): Agent {
  const mayConnect = (address: string): boolean => allowPrivate || isPublicAddress(address);
  const connectTo = buildConnector({
    timeout: CONNECT_MS,
    lookup: publicLookup(resolve, { allowPrivate }),
    autoSelectFamily: true,
  } as buildConnector.BuildOptions);
  return new Agent({
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: MAX_KEEP_ALIVE_MS,
    maxHeaderSize: MAX_HEADER_BYTES,
    // A try has a time-out as a whole, see `Sender`.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: (options, callback) => {
      const hostname = options.hostname.replace(/^\[(.*)\]$/, '$1');
      if (isIP(hostname) !== 0 && !mayConnect(hostname)) {
        queueMicrotask(() => callback(new TargetRefused(), null));
        return;
      }
      connectTo({ ...options, hostname }, (error, socket) => {
        if (error !== null) callback(error, null);
        // Whatever was looked up and how: this is where it ended.
        else if (mayConnect((socket as Socket).remoteAddress ?? '')) callback(null, socket);
        else {
          socket.destroy();
          callback(new TargetRefused(), null);
        }
      });
    },
  });
}

/** The addresses that a name stands for; rejects where it stands for none. */
type ResolveName = (name: string) => Promise<string[]>;

/** How long one name server is waited for, and how often each is asked. */
const DNS_TIMEOUT_MS = 3_000;
const DNS_TRIES = 2;

/**
 * Asks the name servers by itself: the system's look-up takes one of four threads, and names whose servers hang would hold up
 * every other. It knows no names of the operator's network (`/etc/hosts`, search domains), which nothing may be sent to anyway
 * unless private addresses are allowed: then the system is asked for what the name servers do not know.
 */
function nameResolver({ allowPrivate }: { allowPrivate: boolean }): ResolveName {
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
function publicLookup(resolve: ResolveName, { allowPrivate }: { allowPrivate: boolean }): LookupFunction {
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
