import { afterAll, beforeAll, expect, test } from 'vitest';
import { Catalogs } from '../../../src/catalog/catalogs.ts';
import { FixedClock } from '../../../src/clock.ts';
import type { Configuration } from '../../../src/domain/configuration.ts';
import { BoardsDue } from '../../../src/engine/leaderboards/boards-due.ts';
import { JobRunner } from '../../../src/engine/schedule/job-runner.ts';
import { createBoardFilling } from '../../../src/engine/backfills/board-filling.ts';
import { StraySets } from '../../../src/engine/leaderboards/stray-sets.ts';
import { Persister } from '../../../src/engine/persist/persister.ts';
import { createTimePayments } from '../../../src/engine/points/time-payments.ts';
import { TimeTriggers } from '../../../src/engine/points/time-triggers.ts';
import { Schedule } from '../../../src/engine/schedule/schedule.ts';
import { settled } from '../../../src/engine/schedule/settled.ts';
import { StreakSweep } from '../../../src/engine/streaks/streak-sweep.ts';
import { redisReady } from '../../../src/redis/client.ts';
import { startLaurel } from '../../laurel.ts';
import { opened } from '../../stack/opened.ts';

const HOUR = 3_600_000;
const START = Date.UTC(2030, 2, 1, 9);
const USERS = 120;
const DAYS = 3;
const never = new AbortController().signal;

const CONFIGURATION: Configuration = {
  metrics: [{ key: 'm', name: 'M', unitType: 'number', units: '' }],
  streaks: { enabled: true, frequency: 'daily' },
  pointsSystems: [
    {
      key: 'xp',
      name: 'XP',
      triggers: [{ type: 'time', timeUnit: 'hours', timeInterval: 5, points: 1, status: 'active' }],
    },
  ],
  leaderboards: [
    {
      key: 'board',
      name: 'Board',
      rankBy: 'metric',
      metricKey: 'm',
      start: '2030-03-01',
      runUnit: 'day',
      runInterval: 1,
      status: 'active',
    },
  ],
};

const clock = new FixedClock(START);
const closing: (() => unknown)[] = [];

const laurel = opened(() => startLaurel({ clock, configuration: CONFIGURATION }));
beforeAll(async () => {
  const { redis, pool } = laurel;
  const onWritten = (): void => undefined;
  const filling = createBoardFilling({ redis, pool, clock, onWritten, minAgeMs: 0 });
  const runner = new JobRunner({ pool, works: [filling] });
  while (await runner.step());
});
afterAll(async () => {
  for (const close of closing) await close();
});

/** A worker's due work, without anything that ensures that there is only one worker. */
async function schedule(troubles: unknown[]): Promise<Schedule> {
  const { pool } = laurel;
  const redis = await laurel.connect();
  await redisReady(redis);
  const catalogs = new Catalogs(pool);
  await catalogs.load(0);
  closing.push(() => (redis.disconnect(), catalogs.close()));
  const onWritten = (): void => undefined;
  const persister = new Persister({ redis, pool });
  const payments = createTimePayments({ redis, catalogs, onWritten });
  return new Schedule({
    kinds: [
      new StreakSweep({ redis, pool, catalogs, onWritten, usersACall: 3 }),
      new TimeTriggers({ pool, payments }),
      new BoardsDue({ redis, pool, catalogs, onWritten, graceMs: 0 }),
      new StraySets({ redis, pool }),
    ],
    clock,
    settled: (signal) => settled(redis, pool, persister, signal),
    onTrouble: (kind, error) => void troubles.push([kind, error]),
  });
}

test('two concurrent passes without a lock do nothing twice and leave nothing out', async () => {
  const troubles: unknown[] = [];
  const both = [await schedule(troubles), await schedule(troubles)];
  for (let day = 0; day < DAYS; day += 1) {
    clock.set(START + day * 48 * HOUR);
    const events = Array.from({ length: USERS }, (_, n) =>
      laurel.app.post('/v1/metrics/m/event', { user: { id: `u${n}` }, value: n + 1 }),
    );
    expect((await Promise.all(events)).filter(({ status }) => status !== 201)).toEqual([]);
    clock.set(START + (day * 48 + 47) * HOUR);
    const outcomes = async (one: Schedule): Promise<void> => {
      // One that meets the other may have to wait for it.
      await expect.poll(async () => (await one.pass(never)).state).toBe('done');
    };
    await Promise.all(both.map(outcomes));
  }
  expect(troubles).toEqual([]);

  const one = async (sql: string): Promise<unknown> => (await laurel.pool.query(sql)).rows[0];
  expect(
    await one(`SELECT count(*)::int AS n, count(DISTINCT (user_id, to_day))::int AS once FROM streak_changes
                WHERE kind = 3 AND frequency = 1`),
  ).toEqual({ n: USERS * DAYS, once: USERS * DAYS });
  // 47 hours after the last event, 143 after the first.
  expect(
    await one(
      'SELECT count(*)::int AS n, count(DISTINCT (user_id, at))::int AS once, max(total)::int AS total FROM awards',
    ),
  ).toEqual({ n: USERS * 28, once: USERS * 28, total: 28 });
  expect(
    await one(`SELECT count(*)::int AS n, bool_and(rank = place + 1 AND score = ${USERS} - place) AS "right"
                 FROM board_finals`),
  ).toEqual({ n: USERS * DAYS, right: true });
  expect(
    await one('SELECT count(*)::int AS n, count(DISTINCT run_day)::int AS days FROM board_runs WHERE is_final'),
  ).toEqual({
    n: 2 * DAYS - 1,
    days: 2 * DAYS - 1,
  });
  expect(await one('SELECT count(*)::int AS n, count(DISTINCT day)::int AS days FROM board_snapshots')).toEqual({
    n: 2 * DAYS,
    days: 2 * DAYS,
  });
});
