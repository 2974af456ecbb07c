import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import type { Configuration } from '../../../src/domain/configuration.ts';
import { Recomputing } from '../../../src/engine/recomputations/recomputing.ts';
import { verify } from '../../../src/engine/rebuild/verify.ts';
import { startLaurel, type TestLaurel } from '../../laurel.ts';
import { backdated, filled, plan } from './recompute-laurel.ts';

const USERS = 430;

const configuration = (points: number): Configuration => ({
  metrics: [
    { key: 'm', name: 'M' },
    { key: 'n', name: 'N' },
  ],
  pointsSystems: [
    {
      key: 'xp',
      name: 'XP',
      triggers: [{ type: 'metric', metricKey: 'm', metricThreshold: 1, points, status: 'active' }],
    },
  ],
  leaderboards: [
    { key: 'xp', name: 'XP', rankBy: 'points', pointsSystemKey: 'xp', start: '2020-01-01', status: 'active' },
    { key: 'n', name: 'N', rankBy: 'metric', metricKey: 'n', start: '2020-01-01', status: 'active' },
  ],
});

let laurel: TestLaurel;
beforeAll(async () => {
  laurel = await startLaurel({ workers: true, configuration: configuration(5) });
});
afterAll(() => laurel.close());

const idOf = (n: number): string => `user ${n}`;

/** One event of each user, durable when it answers. */
async function round(key = 'm'): Promise<void> {
  const events = Array.from({ length: USERS }, (_, n) => ({ key, user: { id: idOf(n) }, value: 1 }));
  const { status } = await laurel.admin.post('/v1/metrics/events?wait=true', events);
  expect([200, 202]).toContain(status);
}

const totals = async (): Promise<number[]> => {
  const { rows } = await laurel.pool.query<{ total: number }>(
    `SELECT sum(awarded)::float8 AS total FROM awards GROUP BY user_id ORDER BY user_id`,
  );
  return rows.map(({ total }) => total);
};

/** The scores on a board, and how many users have each. */
async function scores(key: string): Promise<Record<number, number>> {
  const { rankings } = (await laurel.app.get(`/v1/leaderboards/${key}?limit=1000`)).body;
  const counts: Record<number, number> = {};
  for (const { value } of rankings as { value: number }[]) counts[value] = (counts[value] ?? 0) + 1;
  return counts;
}

/**
 * More workers at the same jobs, whose leases nobody respects, and which end again and again between what they did and the note
 * of it. The returned function ends them.
 */
function crashingWorkers(): () => Promise<number> {
  let ending = false;
  let crashes = 0;
  const { redis, pool } = laurel;
  const onWritten = (): void => undefined;
  const disown = async (): Promise<void> => {
    while (!ending) {
      await pool.query('UPDATE recomputations SET worker = NULL, leased_until = NULL WHERE worker IS NOT NULL');
      await sleep(5);
    }
  };
  const work = async (): Promise<void> => {
    while (!ending) {
      const onSlice = (): void => {
        crashes += 1;
        throw new Error('The worker ends here.');
      };
      const one = new Recomputing({
        redis,
        pool,
        clock: systemClock,
        onWritten,
        ...(crashes % 3 === 0 ? {} : { onSlice }),
      });
      if (!(await one.step())) await sleep(10);
      else if (crashes % 3 === 0) crashes += 1;
    }
  };
  const all = Promise.all([disown(), work(), work()]);
  return async () => {
    ending = true;
    await all;
    return crashes;
  };
}

test('several workers that crash anywhere, and events meanwhile: everybody has once what the rules give', async () => {
  await filled(laurel);
  for (let n = 0; n < 3; n += 1) await round();
  await round('n');
  await expect.poll(() => scores('n')).toEqual({ 1: USERS });
  await expect
    .poll(async () => (await laurel.pool.query(`UPDATE events SET value = 5 WHERE metric_no = 2`)).rowCount)
    .toBe(USERS);
  expect((await laurel.admin.put('/v1/configuration', configuration(8))).status).toBe(200);
  await backdated(laurel);
  const end = crashingWorkers();
  const planning = plan(laurel, { what: ['points', 'boards'] });
  await round();
  const planned = await planning;
  expect(planned).toMatchObject({ status: 'planned', figures: { users: USERS, gaining: USERS, losing: 0 } });
  expect(planned.figures.points).toMatchObject([{ gaining: USERS, given: USERS * 9 }]);

  expect(planned.figures.boards).toMatchObject([
    { key: 'xp', gaining: USERS },
    { key: 'n', gaining: USERS, losing: 0, moving: 0 },
  ]);

  await laurel.admin.post(`/v1/recomputations/${planned.id}/apply`, undefined);
  await round();
  await round('n');
  const at = async (): Promise<string> => (await laurel.admin.get(`/v1/recomputations/${planned.id}`)).body.status;
  await expect.poll(at).toBe('applied');
  await expect.poll(totals).toEqual(Array.from({ length: USERS }, () => 8 * 5));
  expect([await scores('xp'), await scores('n')]).toEqual([{ [8 * 5]: USERS }, { 6: USERS }]);

  await laurel.admin.post(`/v1/recomputations/${planned.id}/revert`, undefined);
  await expect.poll(at).toBe('reverted');
  expect(await end()).toBeGreaterThan(3);
  await expect.poll(totals).toEqual(Array.from({ length: USERS }, () => 8 * 5 - 9));
  expect([await scores('xp'), await scores('n')]).toEqual([{ [8 * 5 - 9]: USERS }, { 2: USERS }]);
  expect(await verify({ redis: laurel.redis, pool: laurel.pool, onDifference: () => undefined })).toBe(0);
});
