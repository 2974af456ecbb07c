import { timingSafeEqual } from 'node:crypto';
import { systemClock } from '../../clock.ts';
import type { Caller } from '../../operations/operation.ts';
import { keyHash, type KeyRecord } from '../../postgres/access/keys.ts';
import { csrfTokenOf, sessionName } from '../../postgres/access/sessions.ts';
import type { HttpRequest } from '../uws.ts';
import { KeyCache, type KeyCacheLimits, type KeyLookup, noteUse } from './key-cache.ts';
import { KeyRefusal } from './key-refusal.ts';

const LIMITS: KeyCacheLimits = { entries: 1_000, knownMs: 60_000, staleMs: 3_600_000, unknownMs: 5_000 };

export interface SessionAuthenticator {
  /** A session's caller, synchronously if cached. Throws or rejects with 401; 403 for a change without its CSRF token. */
  authenticate: (session: PresentedSession) => Caller | Promise<Caller>;
  /** Drops cached sessions by their names (`sessionName`), when they ended; `null`: all. */
  forget: (names: readonly string[] | null) => void;
}

/** One caller object per record, because each record belongs to one token. */
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

/** Creates the authenticator for stored sessions. Lookups use the hash of the token, so their timing reveals nothing about a guess. */
export function createSessionAuthenticator(options: {
  lookup: KeyLookup;
  /** The machine's time, epoch ms. */
  nowMs?: () => number;
  /** Laurel's time, for recording the use of keys. */
  clockMs: () => number;
  onUse: (key: KeyRecord, atMs: number) => void;
}): SessionAuthenticator {
  const { lookup, nowMs = () => systemClock.now(), clockMs, onUse } = options;
  const cache = new KeyCache({ lookup, limits: LIMITS, nowMs: options.nowMs ?? (() => performance.now()) });
  const admitted = (record: KeyRecord | null, session: PresentedSession): Caller => {
    const caller = admit(record, session, nowMs());
    noteUse(record!, clockMs(), onUse);
    return caller;
  };
  return {
    authenticate: (session) => {
      const record = cache.get(sessionName(keyHash(session.token)));
      return record instanceof Promise ? record.then((found) => admitted(found, session)) : admitted(record, session);
    },
    forget: (names) => (names === null ? cache.invalidate() : cache.forget(names)),
  };
}

/** The session that a browser presents instead of a key. */
export interface PresentedSession {
  token: string;
  /** The `X-CSRF-Token` header; `''` if absent. */
  csrfToken: string;
  /** Whether the request may change something, which requires the header. */
  changes: boolean;
}

/** A cookie to set; `null` deletes the existing one. */
export type SessionCookie = { token: string; expiresMs: number } | null;

const NAME = 'laurel_session';
const COOKIE = new RegExp(`(?:^|;)\\s*${NAME}=([\\w-]{1,64})\\s*(?:;|$)`);

/** The session in a request's cookie, or `null`. `req` is valid only during its handler. */
export function readSession(req: HttpRequest): PresentedSession | null {
  const token = COOKIE.exec(req.getHeader('cookie'))?.[1];
  if (token === undefined) return null;
  const method = req.getMethod();
  return { token, csrfToken: req.getHeader('x-csrf-token'), changes: method !== 'get' && method !== 'head' };
}

/** Whether a proxy reports that the browser used HTTPS. Trusted from anyone, because it only makes the sender's own cookie stricter. */
export const cameByHttps = (req: HttpRequest): boolean => req.getHeader('x-forwarded-proto').startsWith('https');

/** The `Set-Cookie` header: hidden from scripts and other sites. `secure`: over HTTPS only. */
export function setCookie(cookie: SessionCookie, { secure, nowMs }: { secure: boolean; nowMs: number }): string {
  const seconds = cookie === null ? 0 : Math.max(0, Math.floor((cookie.expiresMs - nowMs) / 1000));
  const flags = `Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure ? '; Secure' : ''}`;
  return `${NAME}=${cookie?.token ?? ''}; ${flags}`;
}
