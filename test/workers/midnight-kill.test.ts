import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import type { Configuration } from '../../src/domain/configuration.ts';
import { DAY_MS } from '../../src/domain/periods.ts';
import { startLaurel } from '../laurel.ts';
import { DyingWorkers } from './dying-workers.ts';
import { opened } from '../stack/opened.ts';

const START_DAY = Date.UTC(2030, 2, 1) / DAY_MS;
const USERS = 4_000;
const BOARDS = 5;
const A_BATCH = 1_000;
/** The worker is killed half way through these. */
const PARTS = ['sweep', 'final runs'] as const;
/** More if no worker of these died half way: a busy machine may show only the end of it. */
const ROUNDS = { least: 4, most: 8 };

const CONFIGURATION: Configuration = {
  metrics: [{ key: 'm', name: 'M', unitType: 'number', units: '' }],
  streaks: { enabled: true, frequency: 'daily' },
  leaderboards: Array.from({ length: BOARDS }, (_, n) => ({
    key: `board${n}`,
    name: `Board ${n}`,
    rankBy: 'metric',
    metricKey: 'm',
    start: '2030-03-01',
    runUnit: 'day',
    runInterval: 1,
    status: 'active',
    maxParticipants: 1_000,
  })),
};

const workers = new DyingWorkers();

const laurel = opened(() => startLaurel({ testClock: true }));
afterAll(async () => {
  workers.close();
});

const to = async (ms: number): Promise<number> =>
  (await laurel.admin.put('/v1/clock', { now: new Date(ms).toISOString() })).status;
const count = async (sql: string): Promise<number> => (await laurel.pool.query<{ n: number }>(sql)).rows[0]!.n;
const lost = (): Promise<number> =>
  count('SELECT count(*)::int AS n FROM streak_changes WHERE kind = 3 AND frequency = 1');
const final = (day: number): Promise<number> =>
  count(`SELECT count(*)::int AS n FROM board_runs WHERE is_final AND run_day = ${day}`);

test(
  'killing a worker in the middle of a midnight or of final runs: every streak is lost once, every place exists once',
  { timeout: 600_000 },
  async () => {
    let worker = await workers.startByTestClock(laurel);
    expect(await to(START_DAY * DAY_MS)).toBe(200);
    expect((await laurel.admin.put('/v1/configuration', CONFIGURATION)).status).toBe(200);
    const halfway: string[] = [];
    for (let round = 0; round < (halfway.length > 0 ? ROUNDS.least : ROUNDS.most); round += 1) {
      const part = PARTS[round % PARTS.length]!;
      const day = START_DAY + 3 * round;
      expect(await to(day * DAY_MS + 1)).toBe(200);
      for (let from = 0; from < USERS; from += A_BATCH) {
        const events = Array.from({ length: A_BATCH }, (_, n) => ({
          key: 'm',
          user: { id: `u${from + n}` },
          value: from + n + 1,
        }));
        expect((await laurel.admin.post('/v1/metrics/events', events)).status).toBe(202);
      }
      await expect.poll(() => count('SELECT count(*)::int AS n FROM events')).toBe((round + 1) * USERS);

      const other = await workers.startByTestClock(laurel);
      let moved = false;
      // The second day begins with the end of all streaks, after the runs of the first one were final.
      const moving = to((day + 2) * DAY_MS + 13 * 3_600_000).finally(() => (moved = true));
      while (!moved) {
        const [done, all] = part === 'sweep' ? [(await lost()) - round * USERS, USERS] : [await final(day), BOARDS];
        if (done > 0) {
          worker.kill('SIGKILL');
          if (done < all) halfway.push(part);
          break;
        }
        await sleep(1);
      }
      expect(await moving).toBe(200);
      worker = other;

      const { rows } = await laurel.pool.query(
        `SELECT count(*)::int AS n, count(DISTINCT (user_id, to_day))::int AS once, count(DISTINCT user_id)::int AS users
           FROM streak_changes WHERE kind = 3 AND frequency = 1 AND length = 1`,
      );
      expect(rows).toEqual([{ n: (round + 1) * USERS, once: (round + 1) * USERS, users: USERS }]);
      const { rows: runs } = await laurel.pool.query(
        `SELECT count(*)::int AS places, count(DISTINCT user_id)::int AS users, max(rank) AS last, participants,
                bool_and(rank = place + 1 AND score = $2::int - place AND user_id = 'u' || ($2::int - 1 - place)) AS right
           FROM board_runs AS run JOIN board_run_groups AS grp ON grp.run_id = run.id
           JOIN board_finals AS member ON member.group_id = grp.id
          WHERE is_final AND run_day = $1 GROUP BY grp.id`,
        [day, USERS],
      );
      expect(runs).toEqual(
        Array.from({ length: BOARDS }, () => ({
          places: USERS,
          users: USERS,
          last: USERS,
          participants: 1_000,
          right: true,
        })),
      );
    }
    expect(halfway.length, 'times the worker died half way').toBeGreaterThan(0);
    expect((await laurel.app.get('/v1/users/u7/streak')).body.length).toBe(0);
  },
);
