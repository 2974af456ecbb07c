import { afterEach, expect, test } from 'vitest';
import { BoardsByTheClock } from '../leaderboards/boards-by-the-clock.ts';

let boards: BoardsByTheClock;
afterEach(() => boards.laurel.close());

const plain = {
  key: 'plain',
  name: 'Plain',
  status: 'active',
  rankBy: 'metric',
  metricKey: 'm',
  start: '2026-11-01',
  runUnit: 'day',
  runInterval: 1,
} as const;
const tiers = ['Bronze', 'Silver', 'Gold'].map((name) => ({ name }));
const leagues = { tiers, cohortUsers: 10, promoted: 2, demoted: 2 };

test('imported users are in their tiers, and a tier that does not exist refuses the user', async () => {
  boards = await BoardsByTheClock.start('2026-11-18T12:30:00Z', [
    plain,
    { ...plain, key: 'week', name: 'Week', leagues },
  ]);
  const { admin, app, pool } = boards.laurel;
  const leaderboards = { week: { tier: 2 } };
  const users = [
    { id: 'silver', leaderboards },
    { id: 'bronze', leaderboards: { week: { tier: 1 } } },
    { id: 'lost', leaderboards: { plain: { tier: 2 }, gone: { tier: 2 } } },
    { id: 'deleted', leaderboards },
  ];
  const path = '/v1/imports?import=file';
  expect((await admin.post(`${path}&dryRun=true`, users)).body.users[0]).toMatchObject({ id: 'silver', skipped: [] });
  const { body } = await admin.post(path, users);
  expect(body.issues).toEqual([]);
  expect(body.users.map(({ skipped }: { skipped: unknown }) => skipped)).toEqual([
    [],
    [],
    [
      { field: 'leaderboards.plain.tier', reason: 'the leaderboard has no leagues', days: 0 },
      { field: 'leaderboards.gone.tier', reason: 'no leaderboard has this key', days: 0 },
    ],
    [],
  ]);
  expect((await admin.delete('/v1/users/deleted')).status).toBeLessThan(300);
  for (const user of ['silver', 'bronze', 'new']) await boards.event(user, 1);
  await boards.store();
  const leagueOf = async (user: string) => (await app.get(`/v1/users/${user}/leaderboards/week/leagues`)).body;
  expect(await leagueOf('silver')).toMatchObject({
    tier: { name: 'Silver' },
    cohort: { rankings: [{ userId: 'silver' }] },
  });
  expect(await leagueOf('bronze')).toMatchObject({ tier: { name: 'Bronze' }, cohort: { users: 2 } });
  expect((await pool.query('SELECT user_id FROM league_tiers')).rows).toEqual([{ user_id: 'silver' }]);

  // The same import again changes nothing.
  await admin.post(path, users);
  expect(await leagueOf('silver')).toMatchObject({ tier: { name: 'Silver' } });

  const refused = await admin.post(path, [{ id: 'high', leaderboards: { week: { tier: 4 } } }]);
  expect(JSON.stringify(refused.body)).toContain('leaderboards.week.tier: the leaderboard has only 3 tiers.');
  const invalid = await admin.post(path, [{ id: 'zero', leaderboards: { week: { tier: 0 } } }]);
  expect(JSON.stringify(invalid.body)).toMatch(/leaderboards\.week\.tier/);
  expect((await app.get('/v1/users/high')).status).toBe(404);
});
