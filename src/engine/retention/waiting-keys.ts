import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { KIND, kindField, RECORD } from '../../packed/record-fields.ts';
import type { HappenedRecord, UncheckedRecord } from '../../packed/record.ts';
import { waitingEntries, type WaitingEntry } from '../../postgres/corrections/dead-letters.ts';
import type { UsedKey } from '../../postgres/used-keys.ts';
import { balanceChangeOf } from '../points/balances.ts';
import { bytesAside, readEntry, unpackFields } from '../../redis/outbox.ts';

/** An entry takes at most a few hundred KB. */
const LETTERS_A_PAGE = 50;

/**
 * The idempotency keys of events in dead letters, as far as their records are readable. These keys are used although
 * `events` lacks them: the events have been counted, and must not be counted again. `isWanted`: selects the shards;
 * default: all.
 */
export async function* waitingKeys(
  { redis, pool }: { redis: Redis; pool: Pool },
  isWanted: (shard: number) => boolean = () => true,
): AsyncGenerator<UsedKey> {
  let after: string | null = null;
  for (;;) {
    const page: WaitingEntry[] = await waitingEntries(pool, after, LETTERS_A_PAGE);
    for (const letter of page) if (isWanted(letter.shard)) yield* keysOf(letter, await bytesAside(redis, letter));
    if (page.length < LETTERS_A_PAGE) return;
    after = page.at(-1)!.id;
  }
}

function keysOf({ parts }: WaitingEntry, packed: Buffer | null): UsedKey[] {
  if (packed === null) return [];
  const { tenantNo, records } = readEntry(unpackFields(packed));
  if (tenantNo === null) return [];
  const waiting = new Set(parts.flatMap(({ part, at }) => (part === 'record' ? [at] : [])));
  return records.flatMap(({ value }, at) => {
    const used = waiting.has(at) ? keyOf(tenantNo, value) : null;
    return used === null ? [] : [used];
  });
}

const EVENT_ID = /^[0-9a-f]{32}$/;

/** The key that a record's event or change of a balance used; `null` if it used none or the record is unreadable. */
function keyOf(tenantNo: number, value: unknown): UsedKey | null {
  const record = (value ?? {}) as UncheckedRecord;
  const change = Array.isArray(record[RECORD.balance]) ? balanceChangeOf(tenantNo, record as HappenedRecord) : null;
  if (change === null && record[kindField] !== KIND.event && record[kindField] !== KIND.guarded) return null;
  const { [RECORD.id]: eventId, [RECORD.userId]: userId } = record;
  const metricNo = change === null ? record[RECORD.metric] : change.metricNo;
  const key = change === null ? record[RECORD.idempotencyKey] : change.idempotencyKey;
  if (typeof eventId !== 'string' || !EVENT_ID.test(eventId) || !Number.isInteger(metricNo)) return null;
  if (typeof userId !== 'string' || typeof key !== 'string') return null;
  return { tenantNo, userId, metricNo: Number(metricNo), key, eventId };
}
