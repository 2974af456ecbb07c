import { randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { LiveType } from '../../domain/notifications/live.ts';
import type { Notification } from '../../domain/notifications/notification.ts';
import { dropGrants, keepGrants, readGrant, storeGrant, takeGrant } from '../../redis/live-streams.ts';

/** What a stream may see, and for whom: fixed when its ticket is made. */
export interface LiveGrant {
  tenantNo: number;
  /** The readable part of the key that asked for it, with which it ends. */
  prefix: string;
  /** Of the console's session that it was asked for in, with which it ends as well: SHA-256 of its token, base64url. Left out: the key itself was sent. */
  signIn?: string;
  kind: 'admin' | 'application';
  /** The key's own limit of requests a second; null: the organisation's. */
  rateLimit: number | null;
  /** Of an application key its user; of an admin key the one that it asked for; null: all users. */
  userId: string | null;
  /** IDs of the boards that were named. */
  boardIds: string[];
  /** Null: all. */
  types: LiveType[] | null;
  metricIds: string[] | null;
  leaderboardIds: string[] | null;
  pointsSystemIds: string[] | null;
}

/** Who holds a stream where streams are counted: an admin key, or a user with all application keys that the user has. */
export const holderOf = ({ kind, prefix, tenantNo, userId }: LiveGrant): string =>
  kind === 'admin' ? prefix : `${tenantNo}:${userId}`;

/** What the client of a stream may come back with: the same stream. */
export interface LiveSession {
  grant: LiveGrant;
  /** What the key was when the stream was opened, see `LiveKeys`. */
  keyDigest: string;
  /** When it was opened by a ticket, epoch ms of the machine. */
  openedMs: number;
}

/** How long a ticket can be used. */
export const TICKET_MS = 60_000;
/** How long after its stream has broken a client can come back without a ticket. */
export const SESSION_MS = 300_000;
/** How long it can come back at all, from the ticket on. */
const LONGEST_SESSION_MS = 86_400_000;
/**
 * How many tickets, and how many sessions, one key holds of Redis: its newest. An application key sits in every browser, and
 * what it may see takes up to 12 KB each time.
 */
export const GRANTS_OF_A_KEY = { application: 200, admin: 10_000 } as const;
/** 256 bits for a ticket, which stands in URLs; 128 for a session, which stands in every ID of a message. */
const TICKET_BYTES = 32;
const SESSION_BYTES = 16;

/**
 * Tickets and sessions of live streams, in Redis, so that any frontend takes them. All times are the machine's, not the test
 * clock's. Errors of Redis.
 */
export class LiveGrants {
  private readonly redis: Redis;

  constructor(redis: Redis) {
    this.redis = redis;
  }

  /** A new ticket: good once, for `TICKET_MS`, while its key has not taken too many others since. */
  async makeTicket(grant: LiveGrant): Promise<string> {
    const ticket = randomBytes(TICKET_BYTES).toString('base64url');
    const { prefix, kind } = grant;
    await storeGrant(this.redis, 'ticket', {
      secret: ticket,
      grant,
      prefix,
      most: GRANTS_OF_A_KEY[kind],
      ttlMs: TICKET_MS,
    });
    return ticket;
  }

  /** What a ticket is for, which it is no more; null: for nothing. */
  async takeTicket(ticket: string): Promise<LiveGrant | null> {
    return (await takeGrant(this.redis, 'ticket', ticket)) as LiveGrant | null;
  }

  /** The secret of a new session. Of too many of one key the oldest end. */
  async openSession(session: LiveSession): Promise<string> {
    const secret = randomBytes(SESSION_BYTES).toString('base64url');
    const { prefix, kind } = session.grant;
    await storeGrant(this.redis, 'session', {
      secret,
      grant: session,
      prefix,
      most: GRANTS_OF_A_KEY[kind],
      ttlMs: SESSION_MS,
    });
    return secret;
  }

  /** The session of a secret; null: it has ended. */
  async session(secret: string): Promise<LiveSession | null> {
    const session = (await readGrant(this.redis, 'session', secret)) as LiveSession | null;
    return session === null || Date.now() - session.openedMs > LONGEST_SESSION_MS ? null : session;
  }

  /** Has sessions last for `SESSION_MS` from now on. */
  keepSessions(secrets: readonly string[]): Promise<void> {
    return keepGrants(this.redis, 'session', secrets, SESSION_MS);
  }

  endSessions(secrets: readonly string[]): Promise<void> {
    return dropGrants(this.redis, 'session', secrets);
  }
}

const among = <T>(wanted: readonly T[] | null, one: T | undefined): boolean =>
  wanted === null || one === undefined || wanted.includes(one);

/** Whether a stream is to have a notification that no board's conflation holds back: what is its user's, or nobody's and named. */
export function isFor(grant: LiveGrant, { type, userId, about }: Notification): boolean {
  if (!among(grant.types, type)) return false;
  if (!among(grant.metricIds, about.metricId) || !among(grant.pointsSystemIds, about.pointsSystemId)) return false;
  if (!among(grant.leaderboardIds, about.leaderboardId)) return false;
  if (grant.userId !== null && userId !== null && userId !== grant.userId) return false;
  if (grant.kind === 'admin') return true;
  return about.leaderboardId === undefined || grant.boardIds.includes(about.leaderboardId);
}
