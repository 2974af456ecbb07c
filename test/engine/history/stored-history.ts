import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { DAY_MS, dayOf } from '../../../src/domain/periods.ts';
import { firstIdOf } from '../../../src/postgres/partitions.ts';
import { insertAwards, insertEvents } from '../../../src/postgres/persist/events.ts';
import { upsertUsers } from '../../../src/postgres/persist/users.ts';
import { transaction } from '../../../src/postgres/transaction.ts';
import { boardKey, userKey } from '../../../src/redis/keys.ts';
import { packState } from '../../../src/packed/pack-state.ts';
import { USER } from '../../../src/packed/user-fields.ts';
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

/** SCORE of each, by leaderboard, in the given order, newest run first. */
const boards = (scores: NonNullable<StoredUser['scores']>): (number | string)[] =>
  scores
    .toSorted((one, other) => one.boardNo - other.boardNo)
    .flatMap(({ boardNo, runDate, score }) => [boardNo, dayOf(runDate), '', score, 0]);

let made = 0;
/** On a given day, like every ID. */
const nextId = (date: string): string =>
  firstIdOf(dayOf(date)).replaceAll('-', '').slice(0, 12) + (made += 1).toString(16).padStart(16, '0') + '0000';

const split = (micros: number): [number, number] => [Math.trunc(micros / MILLION), micros % MILLION];

const sums = <T>(items: readonly T[], no: (item: T) => number, value: (item: T) => number): Record<number, number> => {
  const totals: Record<number, number> = {};
  for (const item of items) totals[no(item)] = (totals[no(item)] ?? 0) + value(item);
  return totals;
};

const mapped = <T>(record: Record<number, number>, to: (value: number) => T): Record<number, T> =>
  Object.fromEntries(Object.entries(record).map(([no, value]) => [no, to(value)]));

/** Puts a user into Redis and Postgres as if the events had been recorded and persisted. */
export async function storeUser({ pool, redis }: { pool: Pool; redis: Redis }, user: StoredUser): Promise<void> {
  const { tenantNo = 0, id, tz, events = [], awards = [], completions = {}, scores = [] } = user;
  const points = sums(
    awards,
    (award) => award.systemNo,
    (award) => award.awarded,
  );
  const packed = packState({
    [USER.createdMs]: Date.UTC(2025, 0, 1),
    [USER.updatedMs]: Date.UTC(2025, 0, 1),
    ...(tz !== undefined && { [USER.zone]: tz }),
    [USER.totals]: mapped(
      sums(
        events,
        (event) => event.metricNo,
        (event) => event.micros,
      ),
      split,
    ),
    [USER.points]: mapped(points, (total) => total),
    [USER.completions]: mapped(completions, (atMs) => atMs),
    [USER.boards]: boards(scores),
  });
  const own = { tenantNo, userId: id };
  await transaction(pool, async (client) => {
    await insertEvents(
      client,
      events.map(({ metricNo, date, micros, attributes }) => ({
        ...own,
        id: nextId(date),
        metricNo,
        value: { whole: split(micros)[0], micros: split(micros)[1] },
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
