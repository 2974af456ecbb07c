import { createHash, randomFillSync } from 'node:crypto';

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

/** 32 random bits behind a counter of the IDs of this millisecond, which begins anywhere in its lower quarter. */
function counted(nowMs: number): string {
  const random = randomHex();
  counter = nowMs === lastMs ? counter + 1 : parseInt(random.slice(9, 15), 16) >> 2;
  lastMs = nowMs;
  const digits = (counter & 0xff_ffff).toString(16).padStart(6, '0');
  return `${digits.slice(0, 3)}0${digits.slice(3)}${random.slice(0, 9)}`;
}

/**
 * A UUIDv7 (RFC 9562) as 32 hex digits, whose last 4 are 0: an event's awards take the same ID with their
 * ordinal there. Those made by one process for the same time are in the order of the calls: under the test clock
 * a whole day's history may have one time. `random`: 16 hex digits, of which 58 bits are used, instead (`keyed-ids.ts`).
 */
export function eventId(nowMs: number, random: string = counted(nowMs)): string {
  const time = nowMs.toString(16).padStart(12, '0');
  const variant = VARIANT[parseInt(random[3]!, 16) & 3]!;
  return `${time}7${random.slice(0, 3)}${variant}${random.slice(4, 7)}${random.slice(7, 15)}0000`;
}

/** ID of the nth award (from 1) of an event or another change. Takes and returns 32 hex digits. */
export const awardId = (hex: string, ordinal: number): string =>
  hex.slice(0, 28) + ordinal.toString(16).padStart(4, '0');

/** Where a used idempotency key is kept. */
export interface IdempotencyDigest {
  /** 4 hex digits of 13 bits: the number of its wide bucket (`src/redis/idempotency.ts`). */
  bucket: string;
  /** 16 characters, 96 bits. */
  field: string;
}

const WIDE_BUCKETS = 0x1fff;

/** Digest of an idempotency key within its scope: user and metric. */
export function idempotencyDigest(userId: string, metricNo: number, key: string): IdempotencyDigest {
  const digest = createHash('sha1').update(`${userId}\0${metricNo}\0${key}`).digest();
  return {
    bucket: (digest.readUInt16BE(0) & WIDE_BUCKETS).toString(16).padStart(4, '0'),
    field: digest.toString('base64url', 2, 14),
  };
}
