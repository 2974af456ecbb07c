import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { createClockControl } from '../../src/engine/schedule/clock-control.ts';
import type { TestClock } from '../../src/engine/schedule/test-clock.ts';
import { startLaurel } from '../laurel.ts';
import { DyingWorkers } from './dying-workers.ts';
import { opened } from '../stack/opened.ts';

const HOUR = 3_600_000;
const START = Date.UTC(2030, 2, 1);
const ROUNDS = 4;
const HOURS = 12;
const USERS = 40;

const workers = new DyingWorkers();

const laurel = opened(() => startLaurel({ testClock: true }));
afterAll(async () => {
  workers.close();
});

const to = (ms: number) => laurel.admin.put('/v1/clock', { now: new Date(ms).toISOString() });

test('two workers, one of them killed anywhere: every period is paid once, and the call that set the clock answers when all are', async () => {
  const delays = fc.sample(fc.integer({ min: 0, max: 400 }), { numRuns: ROUNDS, seed: Number(process.env['SEED']) });
  let worker = await workers.startByTestClock(laurel);
  expect((await to(START)).status).toBe(200);
  const trigger = { type: 'time', timeUnit: 'hours', timeInterval: 1, points: 1, status: 'active' } as const;
  const configured = await laurel.admin.put('/v1/configuration', {
    pointsSystems: [{ key: 'xp', name: 'XP', triggers: [trigger] }],
  });
  expect(configured.status).toBe(200);
  await Promise.all(Array.from({ length: USERS }, (_, n) => laurel.app.put(`/v1/users/u${n}`, {})));

  for (const [round, delay] of delays.entries()) {
    const other = await workers.startByTestClock(laurel);
    const moved = to(START + (round + 1) * HOURS * HOUR);
    await new Promise((resolve) => setTimeout(resolve, delay));
    worker.kill('SIGKILL');
    expect((await moved).status).toBe(200);
    const { rows } = await laurel.pool.query(
      `SELECT count(*)::int AS n, count(DISTINCT (user_id, at))::int AS periods, count(DISTINCT total)::int AS totals
           FROM awards`,
    );
    const hours = (round + 1) * HOURS;
    expect(rows).toEqual([{ n: hours * USERS, periods: hours * USERS, totals: hours }]);
    worker = other;
  }
  for (const id of ['u0', `u${USERS - 1}`]) {
    expect((await laurel.app.get(`/v1/users/${id}/points/xp`)).body.total).toBe(ROUNDS * HOURS);
  }

  // With none left the call says so, and the work is done as soon as there is one.
  worker.kill('SIGKILL');
  const { pool, services } = laurel;
  const clock = services.clock as TestClock;
  const impatient = createClockControl({ pool, redis: laurel.redis, clock, patienceMs: 1_000 });
  await expect(impatient.set(START + 100 * HOURS * HOUR, { who: 'test' })).rejects.toMatchObject({
    status: 503,
    message: expect.stringContaining('worker') as string,
  });
});
