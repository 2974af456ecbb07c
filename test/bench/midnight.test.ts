import { expect, test } from 'vitest';
import { beginMidnight, loadMidnight, untilMidnight } from '../../bench/midnight.ts';
import { CASES } from '../../bench/cases.ts';
import { startLaurel } from '../laurel.ts';
import { opened } from '../stack/opened.ts';

const USERS = 250;
const NOW = Date.UTC(2030, 5, 12, 15);

const laurel = opened(() => startLaurel({ testClock: true, workers: true }));

const lost = async (): Promise<unknown> =>
  (
    await laurel.pool.query(
      `SELECT count(*)::int AS n, count(DISTINCT user_id)::int AS users FROM streak_changes WHERE kind = 3 AND frequency = 1`,
    )
  ).rows[0];

test('in the midnight bench every user loses a streak, once per load', async () => {
  const { redis, pool } = laurel;
  expect((await laurel.admin.put('/v1/clock', { now: new Date(NOW).toISOString() })).status).toBe(200);
  for (const round of [1, 2]) {
    await loadMidnight({ redis, pool, users: USERS, nowMs: NOW });
    expect(await lost()).toEqual({ n: (round - 1) * USERS, users: round === 1 ? 0 : USERS });
    await beginMidnight(pool, NOW);
    await untilMidnight(pool, NOW, 'begun');
    await untilMidnight(pool, NOW, 'over');
    await expect.poll(lost).toEqual({ n: round * USERS, users: USERS });
  }
  expect((await laurel.app.get('/v1/users/sleeper-7/streak')).body).toMatchObject({ length: 0 });
});

test('each measurement beside a sweep has a twin without one, under the same load', () => {
  const swept = CASES.filter(({ beside }) => beside !== undefined);
  expect(swept.map(({ name }) => name)).toEqual(['half load + sweep']);
  const alone = CASES.find(({ name }) => name === 'half load alone');
  const { apart, ofCapacity, node } = swept[0]!;
  expect(alone).toMatchObject({ apart, ofCapacity, node });
});
