import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { findPersistedEvents } from '../../postgres/persisted-events.ts';
import type { ScriptReply } from '../../packed/record.ts';
import { RECORD, RECORDED_STREAK } from '../../packed/record-fields.ts';
import { userKey } from '../../redis/keys.ts';
import { decodeState } from '../../packed/state.ts';
import type { ReadyEvent } from './event-call.ts';

/**
 * The answers to those of some events that Postgres holds already, by event ID: total and awards of then, the
 * streak of now, no completions and no ranks, which are not kept by event.
 */
export async function persistedReplies(
  { redis, pool }: { redis: Redis; pool: Pool },
  tenantNo: number,
  events: readonly ReadyEvent[],
): Promise<Map<string, ScriptReply>> {
  const records = await findPersistedEvents(
    pool,
    events.map(({ id }) => id),
  );
  const replies = new Map<string, ScriptReply>();
  for (const event of events) {
    const record = records.get(event.id);
    if (record === undefined) continue;
    const packed = await redis.getBuffer(userKey(tenantNo, record[RECORD.userId]));
    const state = packed === null ? null : decodeState(packed);
    const streak = state?.streaks[event.compiled.catalog.streaks.frequency];
    const extended = streak?.extendedMs === record[RECORD.atMs] ? 1 : 0;
    const { length = 0, startDay, lastPeriod } = streak ?? {};
    replies.set(event.id, {
      ...record,
      [RECORD.streak]: {
        [RECORDED_STREAK.length]: length,
        [RECORDED_STREAK.startDay]: startDay ?? -1,
        [RECORDED_STREAK.lastPeriod]: lastPeriod ?? -1,
        [RECORDED_STREAK.extended]: extended,
        [RECORDED_STREAK.freezes]: state?.freezes ?? 0,
      },
    });
  }
  return replies;
}
