import { timingSafeEqual } from 'node:crypto';
import { parseApiKey } from '../domain/api-key.ts';
import { AppError } from '../errors.ts';
import type { Call, Caller, Operation } from '../operations/operation.ts';
import type { KeyRecord } from '../postgres/find-key.ts';
import { keyHash } from '../postgres/new-key.ts';
import { KeyCache, type KeyCacheLimits, type KeyLookup } from './key-cache.ts';

const LIMITS: KeyCacheLimits = { entries: 10_000, knownMs: 60_000, staleMs: 3_600_000, unknownMs: 5_000 };

/** An admin key's use is told this often, from one process. */
const USE_MS = 60_000;

export interface Authenticator {
  /**
   * Who presents the `X-API-KEY` header, at once where the key is cached. Throws (or rejects with) 401 for a
   * missing, malformed, unknown or revoked key.
   */
  authenticate: (header: string | null) => Caller | Promise<Caller>;
  /** Forgets every cached key: on the news that keys changed, and when news may have been missed. */
  invalidate: () => void;
}

const refused = (): AppError => new AppError('unauthorized', 'The API key is missing or not valid');

/** The caller is made once a record, so that a cached key costs a hash and two look-ups. */
const callers = new WeakMap<KeyRecord, Caller>();

function callerOf(record: KeyRecord): Caller {
  let caller = callers.get(record);
  if (!caller) {
    const { kind, prefix, userId, tenantNo } = record;
    caller = Object.freeze({ kind, prefix, userId, tenantNo });
    callers.set(record, caller);
  }
  return caller;
}

// Stands in for the hash of a key that does not exist, so that refusing it takes the same work.
const NO_HASH = Buffer.alloc(32);

function admit(record: KeyRecord | null, body: string): Caller {
  const hash = keyHash(body);
  const stored = record?.hash.length === hash.length ? record.hash : NO_HASH;
  if (!timingSafeEqual(hash, stored) || !record?.active) throw refused();
  return callerOf(record);
}

/** Makes the authenticator over the stored keys. `nowMs` is the machine's time, not the test clock's. */
export function createAuthenticator(options: {
  lookup: KeyLookup;
  limits?: Partial<KeyCacheLimits>;
  nowMs?: () => number;
  /** Told, once a minute at most, that an admin key was used; what becomes of that concerns no request. */
  onUse?: (keyId: string) => void;
}): Authenticator {
  const limits = { ...LIMITS, ...options.limits };
  const nowMs = options.nowMs ?? Date.now;
  const cache = new KeyCache({ lookup: options.lookup, limits, nowMs });
  const toldMs = new Map<string, number>();
  const admitted = (record: KeyRecord | null, body: string): Caller => {
    const caller = admit(record, body);
    if (options.onUse && record?.kind === 'admin' && nowMs() - (toldMs.get(record.id) ?? -Infinity) >= USE_MS) {
      toldMs.set(record.id, nowMs());
      options.onUse(record.id);
    }
    return caller;
  };
  return {
    authenticate: (header) => {
      const key = header === null ? null : parseApiKey(header);
      if (key === null) throw refused();
      const { prefix, body } = key;
      const record = cache.get(prefix);
      return record instanceof Promise ? record.then((found) => admitted(found, body)) : admitted(record, body);
    },
    invalidate: () => cache.invalidate(),
  };
}

/**
 * Throws 403 where an application key's call names a user who is not the key's own. Path and caller are enough of a
 * call where the path names the user.
 */
export function requireOwnUser(
  operation: Operation,
  call: Partial<Call<unknown, unknown, unknown>> & { caller: Caller },
): void {
  if (call.caller.kind !== 'application' || operation.namedUsers === null) return;
  for (const user of operation.namedUsers(call as Call<never, never, never>))
    if (user !== call.caller.userId) throw new AppError('forbidden', 'The API key is for another user');
}
