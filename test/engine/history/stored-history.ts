import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import type { Decimal } from '../../../src/domain/decimal.ts';
import { DAY_MS, dayOf } from '../../../src/domain/periods.ts';
import { firstIdOf } from '../../../src/postgres/partitions.ts';
import { insertAwards, insertEvents } from '../../../src/postgres/persist/events.ts';
import { upsertUsers } from '../../../src/postgres/persist/users.ts';
import { transaction } from '../../../src/postgres/transaction.ts';
import { boardKey, userKey } from '../../../src/redis/keys.ts';
import { encodeUser } from '../../../src/rules/user-codec.ts';
import { newUser } from '../../../src/rules/user.ts';
import { onlyPart } from '../../stack/only-part.ts';

const MILLION = 1_000_000;

export interface StoredEvent {
  metricNo: number;
  date: string;
  /** Millionths. */
  micros: number;
  /** By key. */
  attributes?: Record<string, string>;
}

export interface StoredAward {
  systemNo: number;
  date: string;
  awarded: number;
}

interface StoredUser {
  tenantNo?: number;
  id: string;
  tz?: string;
  events?: readonly StoredEvent[];
  awards?: readonly StoredAward[];
  /** Achievement number → epoch ms. */
  completions?: Record<number, number>;
  /** On leaderboards without a breakdown, newest run first. */
  scores?: { boardNo: number; runDate: string; score: number }[];
}

let made = 0;
/** On a given day, like every ID. */
const nextId = (date: string): string =>
  firstIdOf(dayOf(date)).replaceAll('-', '').slice(0, 12) + (made += 1).toString(16).padStart(16, '0') + '0000';

const split = (micros: number): Decimal => ({ whole: Math.trunc(micros / MILLION), micros: micros % MILLION });

const sums = <T>(items: readonly T[], no: (item: T) => number, value: (item: T) => number): Map<number, number> => {
  const totals = new Map<number, number>();
  for (const item of items) totals.set(no(item), (totals.get(no(item)) ?? 0) + value(item));
  return totals;
};

/** Puts a user into Redis and Postgres as if the events had been recorded and persisted. */
export async function storeUser({ pool, redis }: { pool: Pool; redis: Redis }, user: StoredUser): Promise<void> {
  const { tenantNo = 0, id, tz, events = [], awards = [], completions = {}, scores = [] } = user;
  const micros = sums(
    events,
    (event) => event.metricNo,
    (event) => event.micros,
  );
  const packed = encodeUser({
    ...newUser(Date.UTC(2025, 0, 1), { freezes: 0, generation: null }),
    zone: tz ?? null,
    totals: new Map(Array.from(micros, ([no, sum]) => [no, { ...split(sum), peak: null }])),
    points: sums(
      awards,
      (award) => award.systemNo,
      (award) => award.awarded,
    ),
    completions: new Map(Object.entries(completions).map(([no, atMs]) => [Number(no), atMs])),
    scores: scores
      .toSorted((one, other) => one.boardNo - other.boardNo)
      .map(({ boardNo, runDate, score }) => ({
        board: boardNo,
        runDay: dayOf(runDate),
        group: '',
        whole: score,
        micros: 0,
      })),
  });
  const own = { tenantNo, userId: id };
  await transaction(pool, async (client) => {
    await insertEvents(
      client,
      events.map(({ metricNo, date, micros, attributes }) => ({
        ...own,
        id: nextId(date),
        metricNo,
        value: split(micros),
        total: { whole: 0, micros: 0 },
        atMs: dayOf(date) * DAY_MS,
        localDay: dayOf(date),
        occurredMs: null,
        attributes: attributes === undefined ? null : JSON.stringify(attributes),
        idempotencyKey: null,
        streak: null,
        catalogVersion: null,
      })),
    );
    await insertAwards(
      client,
      awards.map(({ systemNo, date, awarded }) => ({
        ...own,
        id: nextId(date),
        systemNo,
        triggerNo: 99,
        awarded,
        total: 1,
        boostNos: [],
        atMs: dayOf(date) * DAY_MS,
        localDay: dayOf(date),
        catalogVersion: null,
      })),
    );
    await upsertUsers(client, [{ tenantNo, id, packed }]);
  });
  await redis.set(userKey(onlyPart(tenantNo), id), packed);
  for (const { boardNo, runDate, score } of scores) {
    await redis.zadd(boardKey(onlyPart(tenantNo), { boardNo, runDay: dayOf(runDate), group: '' }), score, id);
  }
}
