import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import type { Pool } from 'pg';
import { readEventIdSecret } from '../../postgres/used-keys.ts';
import { eventId } from './event-id.ts';

/** An idempotency key in its scope. */
export interface ScopedKey {
  tenantNo: number;
  userId: string;
  metricNo: number;
  key: string;
}

/** The part of an event's ID that comes from its idempotency key: bytes 7 to 14, as 16 hex digits. */
export const partOf = (id: string): string => id.slice(12, 28);

/**
 * The IDs of events with an idempotency key. The time in an ID is that of the event's first check, the other 58 bits are
 * an HMAC-SHA-256 of the key in its scope under the installation's secret. So an ID needs no storage to be named again,
 * and nobody can search for two keys whose events have one ID: without the secret a pair can only be met by sending
 * events, of which two must have equal 58 bits and the same millisecond; a million in one millisecond meet one in 10^6
 * times. 16 bits more would have to come from those that number an event's awards, and from the index that finds old keys.
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

  /** A key of its own for another purpose, which says nothing about the secret or about event IDs. */
  keyFor(purpose: string): KeyObject {
    return createSecretKey(createHmac('sha256', this.secret).update(`for ${purpose}`).digest());
  }

  /** The ID (32 hex digits) of the event that uses the key and was first checked at `nowMs`. */
  make(nowMs: number, scoped: ScopedKey): string {
    return eventId(nowMs, this.keyed(scoped));
  }

  private keyed({ tenantNo, userId, metricNo, key }: ScopedKey): string {
    // With its length, no user's ID can take a part of the key over.
    const text = `${tenantNo} ${metricNo} ${userId.length} ${userId}${key}`;
    return createHmac('sha256', this.secret).update(text).digest('hex').slice(0, 16);
  }
}

/** The time (epoch ms) in the ID of an event. */
export const timeOf = (id: string): number => parseInt(id.slice(0, 12), 16);
