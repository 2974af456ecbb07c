import { createHash, createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import type { Pool } from 'pg';
import { readEventIdSecret } from '../../postgres/idempotency/event-id-secret.ts';
import { BY_SECRET, timeOfUse } from '../../redis/idempotency.ts';
import { eventId, idempotencyDigest } from './event-id.ts';

/** An idempotency key in its scope. */
export interface ScopedKey {
  tenantNo: number;
  userId: string;
  metricNo: number;
  key: string;
}

/** Bytes 7 to 14 of an event's ID in hex: all of it that does not come from the time, but for the zeros at the end. */
const partOf = (id: string): string => id.slice(12, 28);

/**
 * The IDs of events with an idempotency key. The time in an ID is that of the event's first check, the other 58 bits are
 * an HMAC-SHA-256 of the key in its scope under the installation's secret. So an ID needs no storage to be named again,
 * and nobody can search for two keys whose events have one ID: without the secret a pair can only be met by sending
 * events, of which two must have equal 58 bits and the same millisecond; a million in one millisecond meet one in 10^6
 * times. 16 bits more would have to come from those that number an event's awards, and from the index that finds old keys.
 *
 * Before there was a secret, the 58 bits were those of an unkeyed digest. Which of the two an event's ID has is not
 * decided by any time, as frontends of both versions may run at once: the maker of an ID says so where the use of the
 * key is noted (`BY_SECRET`), in the same atomic step. An ID in Postgres shows it by itself (`useOf`).
 *
 * Where Redis looks for a key (`idempotencyDigest`) is not keyed: who finds two keys of his own in one place, at 2^54
 * digests, has the second one answered as a replay of the first.
 */
export class KeyedIds {
  private readonly secret: KeyObject;

  /** `secret`: 32 bytes. */
  constructor(secret: Buffer) {
    this.secret = createSecretKey(secret);
  }

  /** Those of the installation that a Postgres is of. */
  static async of(pool: Pool): Promise<KeyedIds> {
    return new KeyedIds(await readEventIdSecret(pool));
  }

  /** The ID (32 hex digits) of a new event with the key, checked at a time (epoch ms). */
  make(nowMs: number, scoped: ScopedKey): string {
    return eventId(nowMs, this.keyed(scoped));
  }

  /** The ID of the event that used the key. `use`: what Redis holds of it. */
  ofUse(use: number, scoped: ScopedKey): string {
    return eventId(timeOfUse(use), use < BY_SECRET ? unkeyed(scoped) : this.keyed(scoped));
  }

  private keyed({ tenantNo, userId, metricNo, key }: ScopedKey): string {
    // With its length, no user's ID can take a part of the key over.
    const text = `${tenantNo} ${metricNo} ${userId.length} ${userId}${key}`;
    return createHmac('sha256', this.secret).update(text).digest('hex').slice(0, 16);
  }
}

/** As `KeyedIds.keyed` before there was a secret. */
function unkeyed({ tenantNo, userId, metricNo, key }: ScopedKey): string {
  const { field } = idempotencyDigest(userId, metricNo, key);
  const random = Buffer.from(field, 'base64url').toString('hex', 0, 8);
  return tenantNo === 0 ? random : createHash('sha1').update(`${tenantNo}\0${random}`).digest('hex').slice(0, 16);
}

const unkeyedPart = (scoped: ScopedKey): string => partOf(eventId(0, unkeyed(scoped)));

/**
 * Bytes 7 to 14, in hex, of the IDs that the event which used a key may have: those of the ID (32 hex digits) that an event
 * with the key has now, and those that it had before there was a secret.
 */
export const possibleParts = (id: string, scoped: ScopedKey): string[] => [partOf(id), unkeyedPart(scoped)];

/** What Redis holds, while it is hot, of the use of a key by the event with an ID (32 hex digits). */
export function useOf(id: string, scoped: ScopedKey): number {
  const idMs = parseInt(id.slice(0, 12), 16);
  return partOf(id) === unkeyedPart(scoped) ? idMs : idMs + BY_SECRET;
}
