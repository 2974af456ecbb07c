import { describe, expect, test } from 'vitest';
import type { StreakSettings } from '../../../src/domain/fields/tenant-settings.ts';
import { dayOf } from '../../../src/domain/periods.ts';
import { replayStreaks } from '../../../src/rules/streak-replay.ts';
import { readStreakFacts } from '../../../src/engine/corrections/streak-facts.ts';
import { sumUsers } from '../../../src/postgres/persist/day-sums.ts';
import { transaction } from '../../../src/postgres/transaction.ts';
import { testDatabase } from '../../postgres/database.ts';
import { withReads, type ReadFixture } from '../read-fixture.ts';
import { opened } from '../../stack/opened.ts';

const database = opened(() => testDatabase());

/** Everything settled meanwhile is earned, used or lost: 2 freezes at first, one more every 3 days. */
const SETTINGS: Partial<StreakSettings> = {
  daysOff: [0],
  freezes: { enabled: true, initial: 1, max: 2, autoEarnInterval: 3, autoEarnAmount: 1 },
};

/**
 * An event of value 2 at noon of each day. `threshold`: the sum that a period needs; without it any event meets the period.
 */
const withHistory = (
  days: readonly string[],
  run: (reads: ReadFixture) => Promise<void>,
  threshold?: number,
): Promise<void> =>
  withReads(
    database,
    (b) => {
      const metricId = b.metric('m').id;
      b.streaks({ ...SETTINGS, ...(threshold !== undefined && { metrics: [{ metricId, threshold }] }) });
    },
    async (reads) => {
      for (const day of days) {
        reads.at(`${day}T12:00:00Z`);
        await reads.laurel.event('m', 'u', 2);
      }
      await reads.persist();
      await run(reads);
    },
  );

const read = async ({ pool, compiled, laurel }: ReadFixture, firstDay: string) =>
  (await readStreakFacts(pool, compiled, {
    userId: 'u',
    nowMs: laurel.clock.now(),
    firstDay: dayOf(firstDay),
  }))!;

test('replaying the record reproduces the current streak, from any day on', () =>
  withHistory(
    ['2026-03-02', '2026-03-03', '2026-03-06', '2026-03-07', '2026-03-16', '2026-03-18', '2026-03-19'],
    async (reads) => {
      reads.at('2026-03-20T10:00:00Z');
      for (const day of ['2026-03-01', '2026-03-05', '2026-03-08', '2026-03-17', '2026-03-20']) {
        const { facts } = await read(reads, day);
        const replay = replayStreaks(facts, {});
        expect(replay).toMatchObject({ exact: true, freezes: facts.now.freezes, superseded: [], settlements: [] });
        for (const frequency of ['daily', 'weekly', 'monthly'] as const)
          expect(replay.streaks[frequency]).toEqual(facts.now.streaks[frequency]);
      }
    },
  ));

test('an event in a gap joins the streaks beside it, and returns what the gap took', () =>
  withHistory(['2026-03-02', '2026-03-03', '2026-03-05'], async (reads) => {
    reads.at('2026-03-06T10:00:00Z');
    const { facts } = await read(reads, '2026-03-04');
    expect(facts.now.streaks.daily.length).toBe(3);
    const day = dayOf('2026-03-04');
    const [metric] = reads.laurel.catalog.metrics;
    const late = { id: 'late', atMs: day * 86_400_000, day, metricNo: metric!.no, value: { whole: 1, micros: 0 } };
    const { streaks, freezes, superseded } = replayStreaks(facts, { add: [late] });
    expect(streaks.daily).toMatchObject({ length: 4, startDay: dayOf('2026-03-02'), lastPeriod: dayOf('2026-03-05') });
    expect([facts.now.freezes, freezes, superseded.length]).toEqual([1, 2, 1]);
  }));

/** An event ID beside another: its time is that of the other, the rest is random. */
const ID_BESIDE = 'overlay(gen_random_uuid()::text PLACING left(id::text, 13) FROM 1 FOR 13)::uuid';

/** Adds an event's reversal, as `insertReversals` does. */
async function reverse({ pool }: ReadFixture, id: string): Promise<void> {
  await pool.query(
    `WITH opposite AS (
       INSERT INTO events (id, tenant_no, user_id, metric_no, value, total, at, local_date, reverses)
       SELECT ${ID_BESIDE}, tenant_no, user_id, metric_no, -value, 0, at, local_date, id FROM events WHERE id = $1
       RETURNING id, tenant_no, user_id, reverses, at)
     INSERT INTO reversals (id, tenant_no, user_id, root_id, reversed_id, in_force, awards, revoked, at)
     SELECT id, tenant_no, user_id, reverses, reverses, true, '[]', '[]', at FROM opposite`,
    [id],
  );
}

describe.each([
  ['any event', undefined],
  ['a sum', 3],
])('where %s meets a period', (_, threshold) => {
  // Two events on each day but one, and a third, of which one is reversed.
  const days = ['02', '03', '03', '05', '05', '06', '06', '06', '07', '07'].map((day) => `2026-03-${day}`);
  const eventsOf = async ({ pool }: ReadFixture, day: string): Promise<string[]> =>
    (
      await pool.query<{ id: string }>(
        `SELECT replace(id::text, '-', '') AS id FROM events WHERE local_date = $1 AND reverses IS NULL ORDER BY id`,
        [day],
      )
    ).rows.map(({ id }) => id);

  test.each([false, true])('replays a user by days as by events (summed: %s)', (isSummed) =>
    withHistory(
      days,
      async (reads) => {
        const [reversed] = await eventsOf(reads, '2026-03-06');
        await reverse(reads, reversed!);
        if (isSummed) await transaction(reads.pool, (client) => sumUsers(client, [{ tenantNo: 0, userId: 'u' }], 1));
        reads.at('2026-03-08T10:00:00Z');
        const day = dayOf('2026-03-04');
        const [metric] = reads.laurel.catalog.metrics;
        const late = { id: 'late', atMs: day * 86_400_000, day, metricNo: metric!.no, value: { whole: 3, micros: 0 } };
        const both = await eventsOf(reads, '2026-03-05');
        for (const removed of [[], both.slice(0, 1), both]) {
          const asked = { userId: 'u', nowMs: reads.laurel.clock.now(), firstDay: day, removed };
          const changes = { add: [late], remove: new Set(removed) };
          const [one, other] = await Promise.all(
            [10_000, 0].map(async (mostEvents) => {
              const { facts } = (await readStreakFacts(reads.pool, reads.compiled, { ...asked, mostEvents }))!;
              const { reached, ...replay } = replayStreaks(facts, changes);
              return { replay, reached, events: facts.events.length };
            }),
          );
          expect(one!.replay.exact).toBe(true);
          expect(other!.replay).toEqual(one!.replay);
          expect(other!.reached).toEqual(one!.reached);
        }
      },
      threshold,
    ),
  );
});

test("reads a day's events of a user with very many events as one", () =>
  withHistory(
    ['2026-03-02', '2026-03-03'],
    async (reads) => {
      await reads.pool.query(
        `INSERT INTO events (id, tenant_no, user_id, metric_no, value, total, at, local_date)
         SELECT ${ID_BESIDE}, tenant_no, user_id, metric_no, 1, 1, at, local_date
           FROM events, generate_series(1, 2500) WHERE local_date = '2026-03-03'`,
      );
      reads.at('2026-03-04T10:00:00Z');
      const { facts } = await read(reads, '2026-03-02');
      expect(facts.events.map(({ value }) => value)).toEqual([
        { whole: 2, micros: 0 },
        { whole: 2_502, micros: 0 },
      ]);
      expect(replayStreaks(facts, {})).toMatchObject({ exact: true });
    },
    3,
  ));
