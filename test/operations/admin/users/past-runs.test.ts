import { beforeAll, expect, test } from 'vitest';
import { startLaurel } from '../../../laurel.ts';
import { filled } from '../../../engine/recomputations/recompute-laurel.ts';
import { STUDY_APP } from '../../../study-app.ts';
import { opened } from '../../../stack/opened.ts';

const laurel = opened(() => startLaurel({ testClock: true, workers: true }));
beforeAll(async () => {
  // Before anything is configured: otherwise each day until then would be checked.
  await clock('2037-12-01T12:00:00Z');
  const { status } = await laurel.admin.put('/v1/configuration', STUDY_APP);
  if (status !== 200) throw new Error('The configuration was refused.');
  await filled(laurel);
});

const clock = async (now: string): Promise<void> => {
  const { status, body } = await laurel.admin.put('/v1/clock', { now });
  expect({ status, body }).toMatchObject({ status: 200 });
};
const flip = (id: string, value: number) => laurel.app.post('/v1/metrics/flips/event', { user: { id }, value });
const ranking = async (run: string): Promise<[string, number][]> =>
  (await laurel.app.get(`/v1/leaderboards/weekly?run=${run}`)).body.rankings.map(
    ({ userId, rank }: { userId: string; rank: number }) => [userId, rank],
  );

test('deleting a user removes it from ended runs and daily snapshots, which the export shows before', async () => {
  await flip('first', 50);
  await flip('second', 10);
  await flip('third', 5);
  await clock('2037-12-03T12:00:00Z');
  await clock('2037-12-15T13:00:00Z');
  const run = (await laurel.pool.query(`SELECT run_day FROM board_runs WHERE is_final ORDER BY run_day DESC`)).rows;
  expect(run.length).toBeGreaterThan(0);
  const day = (
    await laurel.pool.query(
      'SELECT run_day FROM board_finals JOIN board_run_groups AS grp ON grp.id = group_id JOIN board_runs AS run ON run.id = run_id LIMIT 1',
    )
  ).rows[0].run_day;
  const first = new Date(day * 86_400_000).toISOString().slice(0, 10);
  expect(await ranking(first)).toEqual([
    ['first', 1],
    ['second', 2],
    ['third', 3],
  ]);

  const { body } = await laurel.admin.get('/v1/users/second/export');
  expect(body.finalRanks).toEqual([expect.objectContaining({ leaderboard: 'weekly', firstDay: first, rank: 2 })]);
  expect(body.leaderboardDays).toContainEqual(
    expect.objectContaining({ leaderboard: 'flips', day: '2037-12-01', rank: 2, score: 10 }),
  );

  await laurel.admin.delete('/v1/users?ids=second');
  const after = [
    ['first', 1],
    [expect.stringMatching(/^deleted:[0-9a-f-]{36}$/), 2],
    ['third', 3],
  ];
  await expect.poll(() => ranking(first)).toEqual(after);
  const holding = (id: string) =>
    laurel.pool.query(`SELECT FROM board_snapshot_parts WHERE position(convert_to($1, 'UTF8') IN packed) > 0`, [id]);
  expect((await holding('second')).rowCount).toBe(0);
  expect((await holding('third')).rowCount).toBeGreaterThan(0);
  await flip('second', 1);
  const again = (await laurel.admin.get('/v1/users/second/export')).body;
  expect([again.finalRanks, again.leaderboardDays]).toEqual([[], []]);
  const history = (await laurel.app.get('/v1/users/third/leaderboards/flips?numEvents=10')).body.history;
  expect(history.some(({ rank }: { rank: number }) => rank === 3)).toBe(true);
});
