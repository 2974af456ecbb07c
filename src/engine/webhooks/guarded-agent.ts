import { lookup, Resolver } from 'node:dns/promises';
import { isIP, type LookupFunction, type Socket } from 'node:net';
import { Agent, buildConnector } from 'undici';
import { isPublicAddress } from '../../catalog/rules/webhook.ts';

/** Nothing was sent because webhooks may not go to this address. The message is for users and contains no address. */
export class TargetRefused extends Error {
  constructor(message = 'the address is not public (WEBHOOK_ALLOW_PRIVATE=1 allows it)') {
    super(message);
    this.name = 'TargetRefused';
  }
}

export interface GuardOptions {
  /** Whether private, loopback and link-local addresses are allowed. */
  allowPrivate: boolean;
  /** Default: the system's name servers. */
  resolve?: ResolveName;
  /** Certificate authorities instead of the system's, for tests. */
  ca?: string;
}

const CONNECT_MS = 10_000;
/** How long an idle connection is kept, unless the receiver announces a shorter time. */
const KEEP_ALIVE_MS = 4_000;
const MAX_KEEP_ALIVE_MS = 60_000;
const MAX_HEADER_BYTES = 16_384;

/**
 * Makes connections for webhooks, only to public addresses unless all are allowed. Checks the address that is actually
 * connected to: for a name see `publicLookup`; a literal address is checked directly. With TLS the certificate must
 * match the name. A connection serves one request at a time, and each origin has its own.
 */
export function guardedAgent({ allowPrivate, resolve = nameResolver({ allowPrivate }), ca }: GuardOptions): Agent {
  const mayConnect = (address: string): boolean => allowPrivate || isPublicAddress(address);
  const connectTo = buildConnector({
    timeout: CONNECT_MS,
    lookup: publicLookup(resolve, allowPrivate),
    autoSelectFamily: true,
    ...(ca !== undefined && { ca }),
  } as buildConnector.BuildOptions);
  return new Agent({
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: MAX_KEEP_ALIVE_MS,
    maxHeaderSize: MAX_HEADER_BYTES,
    // `Sender` limits the whole try.
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
        // The address at the other end counts, however it was looked up.
        else if (mayConnect((socket as Socket).remoteAddress ?? '')) callback(null, socket);
        else {
          socket.destroy();
          callback(new TargetRefused(), null);
        }
      });
    },
  });
}

/** Returns the addresses of a name; rejects if it has none. */
export type ResolveName = (name: string) => Promise<string[]>;

/** Timeout of one query to a name server, and queries to each server. */
const DNS_TIMEOUT_MS = 3_000;
const DNS_TRIES = 2;

/**
 * Queries the name servers directly: the system's look-up blocks one of four threads, so names with unresponsive servers
 * would hold up all others. This does not know names of the operator's network (`/etc/hosts`, search domains); webhooks may
 * use them only if private addresses are allowed, and then the system is asked for names that the name servers do not know.
 */
export function nameResolver({ allowPrivate }: { allowPrivate: boolean }): ResolveName {
  const resolver = new Resolver({ timeout: DNS_TIMEOUT_MS, tries: DNS_TRIES });
  return async (name) => {
    const lookups = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    const addresses = lookups.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    if (addresses.length > 0) return addresses;
    if (allowPrivate) return (await lookup(name, { all: true })).map(({ address }) => address);
    throw (lookups[0] as PromiseRejectedResult).reason;
  };
}

/**
 * The look-up of a connection: passes on only those addresses of a name that may be connected to, and the connection
 * uses one of them. The name is not looked up again, so a name whose address changes between look-ups gains nothing.
 * Fails with `TargetRefused` if no address is left.
 */
function publicLookup(resolve: ResolveName, allowPrivate: boolean): LookupFunction {
  return (name, options, callback) => {
    const passOn = (addresses: string[]): void => {
      const allowed = addresses.filter((address) => allowPrivate || isPublicAddress(address));
      const answers = allowed.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
      const [first] = answers;
      if (first === undefined) callback(new TargetRefused(), '');
      else if (options.all === true) callback(null, answers);
      else callback(null, first.address, first.family);
    };
    const fail = (error: NodeJS.ErrnoException): void => callback(error, '');
    resolve(name).then(passOn, fail);
  };
}
