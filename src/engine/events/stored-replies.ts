/** Finds events that Redis no longer remembers in Postgres, by idempotency key, with their replies. */
import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { parseDecimal, ZERO } from '../../domain/decimal.ts';
import { epochDay } from '../../domain/periods.ts';
import { GUARD_ACTION } from '../../packed/guard-fields.ts';
import { packedDecimal, recordedGuard } from '../../packed/packed-arrays.ts';
import { KIND, type kindField, RECORD, RECORDED_STREAK } from '../../packed/record-fields.ts';
import type { GuardedRecord, RecordedStreak, Refusal, ScriptReply } from '../../packed/record.ts';
import { type REFUSAL, UNKNOWN_USE } from '../../packed/refusal-fields.ts';
import { decodeUser } from '../../rules/user-codec.ts';
import type { User } from '../../rules/user.ts';
import { readQuarantined } from '../../postgres/corrections/quarantine.ts';
import { findPersistedEvents } from '../../postgres/persisted-events.ts';
import { findUsedKeys } from '../../postgres/used-keys.ts';
import { packedUse, UNKNOWN_BODY } from '../../redis/idempotency.ts';
import { partOf, type ScopedKey, timeOf } from '../ids.ts';
import { untilPersisted } from '../persist/cursor-wait.ts';
import { type LookedUp, type ReadyEvent, scopedKey } from './ready-event.ts';
import { packedUser } from '../../redis/parts.ts';

export interface KeyQuestion {
  event: ReadyEvent;
  asked: Refusal & { [kindField]: typeof REFUSAL.unknownUse };
}

/** Answers the questions in order: returns the events, ready to be applied again. */
export type LookUpKeys = (tenantNo: number, questions: readonly KeyQuestion[]) => Promise<ReadyEvent[]>;

/** Looks up old idempotency keys. Throws errors of Postgres; 503 if it may still hold a deleted user. */
export async function lookUpKeys(
  servers: { redis: Redis; pool: Pool },
  tenantNo: number,
  questions: readonly KeyQuestion[],
): Promise<ReadyEvent[]> {
  const own = questions.filter(({ asked }) => asked[UNKNOWN_USE.token] !== undefined);
  const answers = await lookUpUses(
    servers,
    tenantNo,
    own.map(({ event, asked }) => ({ scoped: scopedKey(event), id: event.id, asked })),
  );
  return questions.map((question) => {
    const at = own.indexOf(question);
    return at === -1 ? question.event : { ...question.event, lookedUp: answers[at]! };
  });
}

interface UseQuestion {
  scoped: ScopedKey;
  /** The ID of the event, 32 hex digits. */
  id: string;
  asked: KeyQuestion['asked'];
}

/** Whether old idempotency keys of a tenant were used. Throws as `lookUpKeys` does. */
export async function lookUpUses(
  { redis, pool }: { redis: Redis; pool: Pool },
  tenantNo: number,
  questions: readonly UseQuestion[],
): Promise<LookedUp[]> {
  if (questions.length === 0) return [];
  // The user is of a newer generation: a former user with this ID, deleted a moment ago, may have used the key.
  const recreated = questions.filter(({ asked }) => asked[UNKNOWN_USE.generation] !== undefined);
  const userIds = new Set(recreated.map(({ scoped }) => scoped.userId));
  await Promise.all(Array.from(userIds, (userId) => untilPersisted({ redis, pool }, tenantNo, userId)));
  const keys = questions.map(({ scoped, id }) => ({ ...scoped, idPart: partOf(id) }));
  const ids = await findUsedKeys(pool, tenantNo, keys);
  return ids.map((id, at) => ({
    token: questions[at]!.asked[UNKNOWN_USE.token]!,
    use: id === null ? '' : packedUse(timeOf(id), UNKNOWN_BODY),
  }));
}

/** Replies to events that Postgres holds, by event ID: applied ones and those in quarantine. */
export async function persistedReplies(
  servers: { redis: Redis; pool: Pool },
  tenantNo: number,
  events: readonly ReadyEvent[],
): Promise<Map<string, ScriptReply>> {
  const replies = await appliedReplies(servers, tenantNo, events);
  const others = events.filter(({ id }) => !replies.has(id));
  if (others.length === 0) return replies;
  const ids = others.map(({ id }) => id);
  for (const row of await readQuarantined(servers.pool, tenantNo, ids)) {
    const event = others.find(({ id }) => id === row.id)!;
    const packed = await packedUser(servers.redis, tenantNo, row.userId);
    const state = packed === null ? null : decodeUser(packed);
    const day = epochDay(row.atMs + (state?.offsetSeconds ?? 0) * 1000);
    const guarded: GuardedRecord = {
      [RECORD.kind]: KIND.guarded,
      [RECORD.id]: row.id,
      [RECORD.userId]: row.userId,
      [RECORD.atMs]: row.atMs,
      [RECORD.day]: day,
      [RECORD.metric]: row.metricNo,
      [RECORD.value]: packedDecimal(parseDecimal(row.value)),
      [RECORD.total]: packedDecimal(state?.totals.get(row.metricNo) ?? ZERO),
      [RECORD.streak]: streakOf(event, state, null),
      [RECORD.guard]: recordedGuard({ guard: row.guard, action: GUARD_ACTION.quarantined }),
    };
    replies.set(row.id, guarded);
  }
  return replies;
}

/** Replies to applied events in Postgres, by event ID, without completions or ranks, which are not stored by event. */
export async function appliedReplies(
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
    const packed = await packedUser(redis, tenantNo, record[RECORD.userId]);
    const state = packed === null ? null : decodeUser(packed);
    replies.set(event.id, { ...record, [RECORD.streak]: streakOf(event, state, record[RECORD.atMs]) });
  }
  return replies;
}

/** The current streak. `atMs`: the time of the event if it may have extended the streak; `null` if it did not. */
function streakOf({ compiled }: ReadyEvent, state: User | null, atMs: number | null): RecordedStreak {
  const { length = 0, startDay, lastPeriod, extendedMs } = state?.streaks[compiled.catalog.streaks.frequency] ?? {};
  return {
    [RECORDED_STREAK.length]: length,
    [RECORDED_STREAK.startDay]: startDay ?? -1,
    [RECORDED_STREAK.lastPeriod]: lastPeriod ?? -1,
    [RECORDED_STREAK.extended]: atMs !== null && extendedMs === atMs ? 1 : 0,
    [RECORDED_STREAK.freezes]: state?.freezes ?? 0,
  };
}
