import type { Redis } from 'ioredis';
import { Packr } from 'msgpackr';
import { outboxKey } from '../../../src/redis/keys.ts';
import type { HappenedRecord } from '../../../src/packed/record.ts';
import { encodeUser } from '../../../src/rules/user-codec.ts';
import { newUser, type User } from '../../../src/rules/user.ts';

const packr = new Packr({ useRecords: false, variableMapSize: true });

/** Packs like the script. */
export const pack = (value: unknown): Buffer => packr.pack(value);

export const NOW = Date.UTC(2026, 10, 18, 12);

let lastId = 0;

/** An event ID: 32 hex digits of which the last 4 are 0. */
export const newId = (): string =>
  `${NOW.toString(16).padStart(12, '0')}70008${(++lastId).toString(16).padStart(11, '0')}0000`;

/** A record of an event, with defaults for what a test does not care about. */
export const eventRecord = (more: Partial<HappenedRecord> = {}): HappenedRecord => ({
  k: 'e',
  i: newId(),
  u: 'ada',
  at: NOW,
  d: 20775,
  m: 1,
  v: [1, 0],
  t: [1, 0],
  c: [],
  ...more,
});

// The script's packer makes 64-bit integers of large whole numbers; ours would make doubles.
const int64 = (value: number): bigint => BigInt(value);

export const packedState = (more: Partial<User> = {}): Buffer =>
  encodeUser({ ...newUser(NOW, { freezes: 0, generation: null }), ...more });

export interface Written {
  tenantNo?: number;
  records: HappenedRecord[];
  /** User ID → packed state; by default every user of the records, with an empty state. */
  states?: Record<string, Buffer>;
}

/** Adds an entry to the outbox of a shard, as one call of the script does. Returns its position. */
export async function writeEntry(
  redis: Redis,
  shard: number,
  { tenantNo = shard, records, states }: Written,
): Promise<string> {
  const users = states ?? Object.fromEntries(records.map(({ u }) => [u, packedState()]));
  const fields = Object.entries(users).flatMap(([id, state]) => ['u', id, 's', state]);
  const packed = Buffer.concat(records.map((record) => pack({ ...record, at: int64(record.at) })));
  return (await redis.xadd(outboxKey(shard), '*', 't', tenantNo, 'r', packed, ...fields)) as string;
}
