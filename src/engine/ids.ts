import { createHmac, createSecretKey, hash, type KeyObject, randomFillSync } from 'node:crypto';
import type { Pool } from 'pg';
import { readEventIdSecret } from '../postgres/used-keys.ts';

const VARIANT = ['8', '9', 'a', 'b'];
const pool = Buffer.alloc(8 * 512);
let used = pool.length;

function randomHex(): string {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += 8;
  return pool.toString('hex', used - 8, used);
}

let lastMs = -1;
let counter = 0;

/**
 * A counter within the current millisecond, followed by 32 random bits. The counter starts at a random value in its
 * lowest quarter.
 */
function counted(nowMs: number): string {
  const random = randomHex();
  counter = nowMs === lastMs ? counter + 1 : parseInt(random.slice(9, 15), 16) >> 2;
  lastMs = nowMs;
  const digits = (counter & 0xff_ffff).toString(16).padStart(6, '0');
  return `${digits.slice(0, 3)}0${digits.slice(3)}${random.slice(0, 9)}`;
}

/**
 * A UUIDv7 (RFC 9562) as 32 hex digits. The last 4 digits are 0; an event's awards have the event's ID with their
 * ordinal there. IDs that one process makes for the same time sort in call order, since a whole day may share one time
 * under the test clock. `random`: 16 hex digits to use instead, of which 58 bits count (see `KeyedIds`).
 */
export function eventId(nowMs: number, random: string = counted(nowMs)): string {
  const time = nowMs.toString(16).padStart(12, '0');
  const variant = VARIANT[parseInt(random[3]!, 16) & 3]!;
  return `${time}7${random.slice(0, 3)}${variant}${random.slice(4, 7)}${random.slice(7, 15)}0000`;
}

/** ID of an event's or other change's nth award (from 1). Takes and returns 32 hex digits. */
export const awardId = (hex: string, ordinal: number): string =>
  hex.slice(0, 28) + ordinal.toString(16).padStart(4, '0');

/** Where Redis stores a used idempotency key. */
export interface IdempotencyDigest {
  /** 4 hex digits (13 bits): the number of the wide bucket (`src/redis/idempotency.ts`). */
  bucket: string;
  /** 16 characters, 96 bits. */
  field: string;
}

const WIDE_BUCKETS = 0x1fff;

/** Digest of an idempotency key within its scope, a user and a metric. */
export function idempotencyDigest(userId: string, metricNo: number, key: string): IdempotencyDigest {
  const digest = hash('sha1', `${userId}\0${metricNo}\0${key}`, 'buffer');
  return {
    bucket: (digest.readUInt16BE(0) & WIDE_BUCKETS).toString(16).padStart(4, '0'),
    field: digest.toString('base64url', 2, 14),
  };
}

export interface ScopedKey {
  tenantNo: number;
  userId: string;
  metricNo: number;
  key: string;
}

/** The part of an event's ID that is derived from its idempotency key: bytes 7 to 14, as 16 hex digits. */
export const partOf = (id: string): string => id.slice(12, 28);

/**
 * IDs of events with an idempotency key. An ID consists of the time when the event was first checked and 58 bits of an
 * HMAC-SHA-256 of the scoped key under the installation's secret. An ID can therefore be derived again without being
 * stored, and nobody can search offline for two keys with the same ID: a collision needs equal 58 bits within one
 * millisecond. A million events in one millisecond collide once in 10^6 such milliseconds.
 *
 * The digest that locates a key in Redis (`idempotencyDigest`) has no secret. A client that finds two of its own keys
 * with the same digest, at a cost of 2^54 hashes, gets the second one answered as a replay of the first.
 */
export class KeyedIds {
  private readonly secret: KeyObject;

  /** `secret`: 32 bytes. */
  constructor(secret: Buffer) {
    this.secret = createSecretKey(secret);
  }

  /** The key-derived IDs of the installation that this Postgres belongs to. */
  static async of(pool: Pool): Promise<KeyedIds> {
    return new KeyedIds(await readEventIdSecret(pool));
  }

  /** Derives a key for another purpose. It reveals nothing about the secret or about event IDs. */
  keyFor(purpose: string): KeyObject {
    return createSecretKey(createHmac('sha256', this.secret).update(`for ${purpose}`).digest());
  }

  /** The ID (32 hex digits) of the event that has this key and was first checked at `nowMs`. */
  make(nowMs: number, scoped: ScopedKey): string {
    return eventId(nowMs, this.keyed(scoped));
  }

  private keyed({ tenantNo, userId, metricNo, key }: ScopedKey): string {
    // The length keeps user ID and key apart.
    const text = `${tenantNo} ${metricNo} ${userId.length} ${userId}${key}`;
    return createHmac('sha256', this.secret).update(text).digest('hex').slice(0, 16);
  }
}

/** The time (epoch ms) in an event's ID. */
export const timeOf = (id: string): number => parseInt(id.slice(0, 12), 16);
