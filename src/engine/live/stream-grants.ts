import { randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import { systemClock } from '../../clock.ts';
import type { LiveType } from '../../domain/notifications/live.ts';
import type { Notification } from '../../domain/notifications/notification.ts';
import { dropGrants, keepGrants, readGrant, storeGrant, takeGrant } from '../../redis/live-streams.ts';

/** What a stream may see, and for whom. Fixed when its ticket is made. */
export interface LiveGrant {
  tenantNo: number;
  /** The readable part of the key that requested it. The stream ends with the key. */
  prefix: string;
  /** SHA-256 (base64url) of the console session's token, with which the stream ends; omitted for a key. */
  signIn?: string;
  kind: 'admin' | 'application';
  /** The key's own limit of requests per second; `null`: the organisation's. */
  rateLimit: number | null;
  /** An application key's user, or the one that an admin key requested; `null` for all users. */
  userId: string | null;
  /** IDs of the requested boards. */
  boardIds: string[];
  /** `null` for all. */
  types: LiveType[] | null;
  metricIds: string[] | null;
  leaderboardIds: string[] | null;
  pointsSystemIds: string[] | null;
}

/** The holder of a stream, for limits: an admin key, or a user with all application keys of that user. */
export const holderOf = ({ kind, prefix, tenantNo, userId }: LiveGrant): string =>
  kind === 'admin' ? prefix : `${tenantNo}:${userId}`;

/** The session with which a client can resume a stream. */
export interface LiveSession {
  grant: LiveGrant;
  /** The key's digest when the stream was opened, see `LiveKeys`. */
  keyDigest: string;
  /** When a ticket opened it, in epoch ms of the machine. */
  openedMs: number;
}

/** How long a ticket is valid. */
export const TICKET_MS = 60_000;
/** How long after its stream broke a client can resume it without a ticket. */
export const SESSION_MS = 300_000;
/** How long a stream can be resumed after its ticket. */
const LONGEST_SESSION_MS = 86_400_000;
/** Most tickets, and sessions, of a key; the newest are kept. Each takes up to 12 KB. */
export const GRANTS_OF_A_KEY = { application: 200, admin: 10_000 } as const;
/** 256 bits for a ticket, which appears in URLs; 128 for a session, which is part of every message ID. */
const TICKET_BYTES = 32;
const SESSION_BYTES = 16;

/** Tickets and sessions of live streams in Redis. Times are the machine's. Throws errors of Redis. */
export function createLiveGrants(redis: Redis) {
  /** Makes a ticket. It works once, for `TICKET_MS`, unless its key makes too many others meanwhile. */
  async function makeTicket(grant: LiveGrant): Promise<string> {
    const ticket = randomBytes(TICKET_BYTES).toString('base64url');
    const { prefix, kind } = grant;
    await storeGrant(redis, 'ticket', { secret: ticket, grant, prefix, most: GRANTS_OF_A_KEY[kind], ttlMs: TICKET_MS });
    return ticket;
  }

  /** Consumes a ticket and returns its grant; `null` if it is invalid. */
  async function takeTicket(ticket: string): Promise<LiveGrant | null> {
    return (await takeGrant(redis, 'ticket', ticket)) as LiveGrant | null;
  }

  /** Opens a session and returns its secret. If the key has too many, the oldest end. */
  async function openSession(session: LiveSession): Promise<string> {
    const secret = randomBytes(SESSION_BYTES).toString('base64url');
    const { prefix, kind } = session.grant;
    await storeGrant(redis, 'session', {
      secret,
      grant: session,
      prefix,
      most: GRANTS_OF_A_KEY[kind],
      ttlMs: SESSION_MS,
    });
    return secret;
  }

  /** The session with this secret; `null` if it has ended. */
  async function session(secret: string): Promise<LiveSession | null> {
    const session = (await readGrant(redis, 'session', secret)) as LiveSession | null;
    return session === null || systemClock.now() - session.openedMs > LONGEST_SESSION_MS ? null : session;
  }

  /** Prolongs sessions to `SESSION_MS` from now. */
  function keepSessions(secrets: readonly string[]): Promise<void> {
    return keepGrants(redis, 'session', secrets, SESSION_MS);
  }

  function endSessions(secrets: readonly string[]): Promise<void> {
    return dropGrants(redis, 'session', secrets);
  }

  return { makeTicket, takeTicket, openSession, session, keepSessions, endSessions };
}

export type LiveGrants = ReturnType<typeof createLiveGrants>;

const among = <T>(wanted: readonly T[] | null, one: T | undefined): boolean =>
  wanted === null || one === undefined || wanted.includes(one);

/**
 * Whether a stream gets a notification that is not held back by a board's conflation: one about its user, or one about
 * no user that names something it follows.
 */
export function isFor(grant: LiveGrant, { type, userId, about }: Notification): boolean {
  if (!among(grant.types, type)) return false;
  if (!among(grant.metricIds, about.metricId) || !among(grant.pointsSystemIds, about.pointsSystemId)) return false;
  if (!among(grant.leaderboardIds, about.leaderboardId)) return false;
  if (grant.userId !== null && userId !== null && userId !== grant.userId) return false;
  if (grant.kind === 'admin') return true;
  return about.leaderboardId === undefined || grant.boardIds.includes(about.leaderboardId);
}
