import { timingSafeEqual } from 'node:crypto';
import type { Caller } from '../operations/operation.ts';
import type { KeyRecord } from '../postgres/find-key.ts';
import { keyHash } from '../postgres/new-key.ts';
import { csrfTokenOf } from '../postgres/sessions/csrf-token.ts';
import { KeyCache, type KeyCacheLimits, type KeyLookup } from './key-cache.ts';
import { KeyRefusal } from './key-refusal.ts';
import type { PresentedSession } from './session-cookie.ts';

const LIMITS: KeyCacheLimits = { entries: 1_000, knownMs: 60_000, staleMs: 3_600_000, unknownMs: 5_000 };
/** A key's use is noted this often. */
const USE_MS = 60_000;

export interface SessionAuthenticator {
  /**
   * Whom the session stands for, at once where it is cached: its key, with the key's rights. Throws (or rejects with) 401 for
   * one that is unknown or over, and 403 for a change without the session's CSRF token.
   */
  authenticate: (session: PresentedSession) => Caller | Promise<Caller>;
  /** Forgets every cached session: on the news that keys changed, and when news may have been missed. */
  invalidate: () => void;
}

/** The caller is made once a record: the token that finds a record is always the same. */
const callers = new WeakMap<KeyRecord, Caller>();

function callerOf(record: KeyRecord, token: string): Caller {
  let caller = callers.get(record);
  if (!caller) {
    const { kind, prefix, userId, tenantNo, scope, rateLimit, hash, expiresMs } = record;
    const session = Object.freeze({ hash, csrfToken: csrfTokenOf(token), expiresMs: expiresMs! });
    caller = Object.freeze({ kind, prefix, userId, tenantNo, scope, rateLimit, session });
    callers.set(record, caller);
  }
  return caller;
}

const ENDED = 'The session is over: sign in again';

/** The session's caller, if it holds at `nowMs`, the machine's time. Throws 401 or 403. */
function admit(record: KeyRecord | null, { token, csrfToken, changes }: PresentedSession, nowMs: number): Caller {
  if (record === null) throw new KeyRefusal('session', { prefix: null, message: ENDED });
  const { prefix } = record;
  if (!record.active) throw new KeyRefusal('inactive', { prefix, message: ENDED });
  if (record.expiresMs! <= nowMs) throw new KeyRefusal('session', { prefix, message: ENDED });
  const caller = callerOf(record, token);
  if (changes && !isSame(csrfToken, caller.session!.csrfToken))
    throw new KeyRefusal('csrf', {
      prefix,
      message: 'A change in a session needs its token in the header X-CSRF-Token',
    });
  return caller;
}

function isSame(given: string, right: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(right)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** Makes the authenticator over the stored sessions. Sessions are found by the hash of their token, so no look-up says how near a guess was. */
export function createSessionAuthenticator(options: {
  /** By the hash of a session's token, base64url. */
  lookup: KeyLookup;
  /** The machine's time, epoch ms. */
  nowMs?: () => number;
  /** Laurel's, by which a key's use is noted. */
  clockMs: () => number;
  onUse: (key: KeyRecord, atMs: number) => void;
}): SessionAuthenticator {
  const { lookup, nowMs = Date.now, clockMs, onUse } = options;
  const cache = new KeyCache({ lookup, limits: LIMITS, nowMs });
  const admitted = (record: KeyRecord | null, session: PresentedSession): Caller => {
    const caller = admit(record, session, nowMs());
    const atMs = clockMs();
    if (record!.usedMs === null || atMs - record!.usedMs >= USE_MS) {
      record!.usedMs = atMs;
      onUse(record!, atMs);
    }
    return caller;
  };
  return {
    authenticate: (session) => {
      const record = cache.get(keyHash(session.token).toString('base64url'));
      return record instanceof Promise ? record.then((found) => admitted(found, session)) : admitted(record, session);
    },
    invalidate: () => cache.invalidate(),
  };
}
