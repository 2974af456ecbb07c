import { timingSafeEqual } from 'node:crypto';
import { systemClock } from '../../clock.ts';
import { parseApiKey } from '../../domain/administration/author.ts';
import type { LiveGrant } from '../../engine/live/stream-grants.ts';
import type { Call, Caller, Operation } from '../../operations/operation.ts';
import { keyHash, type KeyRecord } from '../../postgres/access/keys.ts';
import type { ExchangeContext } from '../exchange-context.ts';
import { KeyCache, type KeyCacheLimits, type KeyLookup, noteUse } from './key-cache.ts';
import { KeyRefusal } from './key-refusal.ts';

const LIMITS: KeyCacheLimits = { entries: 10_000, knownMs: 60_000, staleMs: 3_600_000, unknownMs: 5_000 };

export interface Authenticator {
  /** The caller of `X-API-KEY`, synchronously if cached. Throws or rejects with 401. */
  authenticate: (header: string | null) => Caller | Promise<Caller>;
  /**
   * Who would be the caller, if the key is known. Its secret is not checked, nor whether it is still valid, so the result may
   * only be used to refuse a request for another reason.
   */
  recall: (header: string) => Caller | null;
  /** Drops cached keys by their prefixes, when they changed; `null`: all. */
  forget: (names: readonly string[] | null) => void;
}

/** One caller object per record, so that a cached key costs one hash and two lookups. */
const callers = new WeakMap<KeyRecord, Caller>();

function callerOf(record: KeyRecord): Caller {
  let caller = callers.get(record);
  if (!caller) {
    const { kind, prefix, userId, formerUserIds, tenantNo, scope, rateLimit } = record;
    const former = formerUserIds ? { formerUserIds } : {};
    caller = Object.freeze({ kind, prefix, userId, ...former, tenantNo, scope, rateLimit });
    callers.set(record, caller);
  }
  return caller;
}

// Compared for unknown keys, so that refusing them takes the same time.
const NO_HASH = Buffer.alloc(32);

/** Returns the record if it matches the presented key and is valid at `nowMs`. Throws 401. */
function admit(record: KeyRecord | null, { prefix, body }: PresentedKey, nowMs: number): KeyRecord {
  const hash = keyHash(body);
  const stored = record?.hash.length === hash.length ? record.hash : NO_HASH;
  const isRight = timingSafeEqual(hash, stored);
  if (record === null) throw new KeyRefusal('unknown', { prefix });
  if (!isRight) throw new KeyRefusal('wrong_secret', { prefix });
  if (!record.active) throw new KeyRefusal('inactive', { prefix });
  // Checked at every use, so that a cached key expires on time.
  if (record.expiresMs !== null && record.expiresMs <= nowMs) throw new KeyRefusal('expired', { prefix });
  return record;
}

type PresentedKey = NonNullable<ReturnType<typeof parseApiKey>>;

/** Creates the authenticator. `nowMs`: for the cache, with any origin; `clockMs`: Laurel's, for keys. */
export function createAuthenticator(options: {
  lookup: KeyLookup;
  limits?: Partial<KeyCacheLimits>;
  nowMs?: () => number;
  clockMs?: () => number;
  /** Called at most once a minute per key, with the time of use (epoch ms). */
  onUse?: (key: KeyRecord, atMs: number) => void;
}): Authenticator {
  const limits = { ...LIMITS, ...options.limits };
  const { nowMs = () => performance.now(), clockMs = () => systemClock.now(), onUse } = options;
  const cache = new KeyCache({ lookup: options.lookup, limits, nowMs });
  const admitted = (stored: KeyRecord | null, key: PresentedKey): Caller => {
    const atMs = clockMs();
    const record = admit(stored, key, atMs);
    if (onUse) noteUse(record, atMs, onUse);
    return callerOf(record);
  };
  return {
    authenticate: (header) => {
      const key = header === null ? null : parseApiKey(header);
      if (key === null) throw new KeyRefusal(header === null ? 'missing' : 'malformed');
      const record = cache.get(key.prefix);
      return record instanceof Promise ? record.then((found) => admitted(found, key)) : admitted(record, key);
    },
    recall: (header) => {
      const key = parseApiKey(header);
      const record = key === null ? null : cache.recall(key.prefix);
      return record === null ? null : callerOf(record);
    },
    forget: (names) => (names === null ? cache.invalidate() : cache.forget(names)),
  };
}

/** Throws 403 if a call with an application key names another user. */
export function requireOwnUser(
  operation: Operation,
  call: Partial<Call<unknown, unknown, unknown>> & { caller: Caller },
): void {
  if (call.caller.kind !== 'application' || operation.namedUsers === null) return;
  for (const user of operation.namedUsers(call as Call<never, never, never>))
    if (user !== call.caller.userId && call.caller.formerUserIds?.includes(user) !== true)
      throw new KeyRefusal('user', { prefix: call.caller.prefix, message: 'The API key is for another user' });
}

/** Throws 403, naming the scope, if a key's scope does not include the operation. */
export function requireScope({ keyScopes }: Operation, { kind, scope, prefix }: Caller): void {
  if (scope === 'all' || keyScopes.includes(scope)) return;
  const message =
    kind === 'admin'
      ? "The API key is read-only (access 'read'): it may change nothing"
      : `The API key has the scope '${scope}', which does not allow this`;
  throw new KeyRefusal('scope', { prefix, message });
}

/** Counts the opening of a stream as a request of its ticket's key. Returns rate limit headers. Throws 429. */
export const countOpening = (
  { rateLimit }: Pick<ExchangeContext, 'rateLimit'>,
  { kind, prefix, userId, tenantNo, rateLimit: ofKey }: LiveGrant,
): Readonly<Record<string, string>> | null =>
  rateLimit?.({ kind, prefix, userId, tenantNo, scope: 'read', rateLimit: ofKey }) ?? null;
