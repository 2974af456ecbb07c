import { isIP, type Socket } from 'node:net';
import { Agent, buildConnector } from 'undici';
import { isPublicAddress } from '../../catalog/webhook-target.ts';
import { nameResolver, publicLookup, type ResolveName } from './public-lookup.ts';
import { TargetRefused } from './target-refused.ts';

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
