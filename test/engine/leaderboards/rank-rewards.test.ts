import { afterEach, expect, test } from 'vitest';
import type { Configuration } from '../../../src/domain/configuration.ts';
import type { RankRewardsOptions } from '../../../src/engine/leaderboards/rank-rewards.ts';
import { BoardsByTheClock, DAILY } from './boards-by-the-clock.ts';
import { rewardRanks } from './rewards-by-the-clock.ts';
import { differencesIn } from '../../differences.ts';

let boards: BoardsByTheClock;
afterEach(() => boards.laurel.close());

const forRanks = { type: 'achievement', status: 'active', leaderboardKey: 'board' } as const;
const xp = {
  key: 'xp',
  name: 'XP',
  triggers: [
    { ...forRanks, points: 100, rankTo: 1 },
    { ...forRanks, points: 10, rankFrom: 2, rankTo: 3 },
    { ...forRanks, points: 1, rankPercent: 50 },
  ],
};
const podium = {
  key: 'podium',
  name: 'Podium',
  trigger: 'api',
  status: 'active',
  leaderboardKey: 'board',
  rankTo: 3,
} as const;

const due = (onRewardStep?: RankRewardsOptions['onRewardStep']): Promise<unknown[]> =>
  rewardRanks(boards, onRewardStep);

const pointsOf = async (user: string, system = 'xp'): Promise<number> =>
  (await boards.laurel.app.get(`/v1/users/${user}/points/${system}`)).body.total;
const completedBy = async (user: string): Promise<string[]> =>
  (await boards.laurel.app.get(`/v1/users/${user}/achievements`)).body.map(({ key }: { key: string }) => key);

const start = (board: object = DAILY, more: Partial<Configuration> = {}): Promise<BoardsByTheClock> =>
  BoardsByTheClock.start('2026-11-18T10:00:00Z', [board as never], {
    pointsSystems: [xp],
    achievements: [podium],
    ...more,
  });

test('final ranks are rewarded once, with points and achievements, as ties are ranked', async () => {
  boards = await start();
  for (const [user, value] of Object.entries({ a: 9, b: 7, c: 7, d: 5, e: 3 })) await boards.event(user, value);
  await boards.at('2026-11-19T11:00:00Z');
  expect(await due()).toEqual([]);
  expect(await pointsOf('a')).toBe(0);
  await boards.at('2026-11-19T12:00:11Z');
  expect(await due()).toEqual([]);
  // Half of five are three users, of whom two share rank 2.
  const points = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((user) => pointsOf(user)));
  expect(points).toEqual([101, 11, 11, 0, 0]);
  expect(await Promise.all(['a', 'c', 'd'].map(completedBy))).toEqual([['podium'], ['podium'], []]);
  const { body } = await boards.laurel.app.get('/v1/leaderboards/board?run=2026-11-18');
  expect(body.rankings.map(({ userId, rewards }: { userId: string; rewards?: object }) => [userId, rewards])).toEqual([
    ['a', { points: { xp: 101 }, achievements: ['podium'] }],
    ['c', { points: { xp: 11 }, achievements: ['podium'] }],
    ['b', { points: { xp: 11 }, achievements: ['podium'] }],
    ['d', undefined],
    ['e', undefined],
  ]);
  const history = await boards.laurel.app.get('/v1/users/a/points/xp?awards=10');
  expect(history.body.awards[0]).toMatchObject({ date: '2026-11-19T12:00:00.000Z' });
  await boards.at('2026-11-21T13:00:00Z');
  await due();
  expect(await pointsOf('a')).toBe(101);
});

test('the worker may die after any step: everyone is paid once, and only the rewarded ranks are visited', async () => {
  const some = { ...forRanks, points: 3, rankFrom: 400, rankTo: 402 };
  const most = { ...forRanks, points: 5, rankTo: 250 };
  boards = await start(DAILY, { pointsSystems: [{ key: 'xp', name: 'XP', triggers: [most, some] }], achievements: [] });
  const events = Array.from({ length: 500 }, (_, n) => ({ metricKey: 'm', user: { id: `u${n}` }, value: 1000 - n }));
  for (const { user, value } of events) await boards.event(user, value);
  await boards.at('2026-11-19T12:00:11Z');
  const killed: string[] = [];
  for (let failures: unknown[] = ['killed']; failures.length > 0;) {
    failures = await due((step) => {
      if (killed.filter((each) => each === step).length === 2) return;
      killed.push(step);
      throw new Error('killed');
    });
    expect([[], ['killed']]).toContainEqual([...new Set(failures)]);
  }
  expect(killed.toSorted()).toEqual(['ended', 'noted', 'noted', 'paid', 'paid']);
  const all = await Promise.all(events.map(({ user }) => pointsOf(user.id)));
  expect(all).toEqual(events.map((_, n) => (n < 250 ? 5 : n >= 399 && n < 402 ? 3 : 0)));
  const { rows } = await boards.laurel.pool.query(
    'SELECT count(*)::integer AS count, sum(rank)::integer AS ranks FROM rank_rewards',
  );
  expect(rows[0]).toEqual({ count: 253, ranks: (250 * 251) / 2 + 400 + 401 + 402 });
  const awards = await boards.laurel.pool.query('SELECT count(*)::integer AS count FROM awards');
  expect(awards.rows[0].count).toBe(253);
});

test('rules of later than the end, inactive ones and deleted users get and give nothing', async () => {
  boards = await start();
  await boards.event('a', 9);
  await boards.event('b', 7);
  await boards.event('c', 6);
  await boards.at('2026-11-19T12:00:05Z');
  const systems = (await boards.laurel.admin.get('/v1/points')).body;
  const id = systems.find(({ key }: { key: string }) => key === 'xp').id;
  const boardId = (await boards.laurel.admin.get('/v1/leaderboards')).body[0].id;
  const late = { type: 'achievement', points: 1000, status: 'active', leaderboardId: boardId, rankTo: 10 };
  expect((await boards.laurel.admin.post(`/v1/points/${id}/triggers`, [late])).body.issues).toEqual([]);
  const triggers = (await boards.laurel.admin.get(`/v1/points/${id}/triggers`)).body;
  const first = triggers.find(({ points }: { points: number }) => points === 100);
  const off = [{ id: first.id, status: 'inactive' }];
  expect((await boards.laurel.admin.patch(`/v1/points/${id}/triggers`, off)).body.issues).toEqual([]);
  await boards.at('2026-11-19T12:00:11Z');
  await boards.laurel.admin.delete('/v1/users/b');
  await boards.store();
  expect(await due()).toEqual([]);
  expect(await Promise.all(['a', 'c'].map((user) => pointsOf(user)))).toEqual([1, 10]);
  // The next run is rewarded by the rules that were active at its end.
  await boards.event('c', 6);
  await boards.at('2026-11-20T12:00:11Z');
  expect(await due()).toEqual([]);
  expect(await pointsOf('c')).toBe(10 + 1000 + 1);
});

test('rewards in points count on the leaderboards of the points, run by run, however late the work is done', async () => {
  const ofPoints = {
    ...DAILY,
    key: 'rich',
    name: 'Rich',
    rankBy: 'points',
    metricKey: undefined,
    pointsSystemKey: 'xp',
  };
  boards = await BoardsByTheClock.start('2026-11-18T10:00:00Z', [DAILY, ofPoints as never], { pointsSystems: [xp] });
  await boards.event('a', 9);
  await boards.event('b', 7);
  await boards.at('2026-11-19T10:00:00Z');
  await boards.event('b', 7);
  await boards.at('2026-11-22T13:00:00Z');
  expect(await due()).toEqual([]);
  expect(await boards.places('run=2026-11-18', 'rich')).toEqual([]);
  expect(await boards.places('run=2026-11-19', 'rich')).toEqual([
    [1, 'a', 101],
    [2, 'b', 10],
  ]);
  expect(await boards.places('run=2026-11-20', 'rich')).toEqual([[1, 'b', 101]]);
});

test('each group of a breakdown has its own ranks', async () => {
  boards = await start({ ...DAILY, breakdownAttributes: ['land'] });
  await boards.event({ id: 'a', attributes: { land: 'de' } }, 9);
  await boards.event({ id: 'b', attributes: { land: 'de' } }, 7);
  await boards.event({ id: 'c', attributes: { land: 'fr' } }, 1);
  await boards.at('2026-11-19T12:00:11Z');
  expect(await due()).toEqual([]);
  expect(await Promise.all(['a', 'b', 'c'].map((user) => pointsOf(user)))).toEqual([101, 10, 101]);
});

test('a correction after the end changes no rank, reward or award, and Redis holds what Postgres does', async () => {
  boards = await start();
  const { laurel } = boards;
  const send = async (user: string, value: number, occurredAt?: string): Promise<string> => {
    const body = { user: { id: user }, value, ...(occurredAt !== undefined && { occurredAt }) };
    const answer = await laurel.app.post('/v1/metrics/m/event', body);
    expect(answer.status).toBe(201);
    await boards.store();
    return answer.body.eventId;
  };
  const first = await send('a', 9);
  const larger = await send('b', 6);
  for (const [user, value] of [
    ['b', 1],
    ['c', 5],
    ['d', 3],
  ] as const)
    await send(user, value);
  await boards.at('2026-11-19T12:00:11Z');
  expect(await due()).toEqual([]);
  const shown = async () => [
    (await laurel.app.get('/v1/leaderboards/board?run=2026-11-18')).body.rankings,
    await Promise.all(['a', 'b', 'c', 'd'].map((user) => pointsOf(user))),
    (await laurel.pool.query('SELECT user_id, trigger_no, awarded FROM awards ORDER BY user_id, id')).rows,
  ];
  const before = await shown();
  expect(before[1]).toEqual([101, 11, 10, 0]);
  // The winner's event is gone, and the last one would have won.
  const reverse = async (id: string, body: object = {}) =>
    (await laurel.admin.post(`/v1/events/${id}/reverse`, body)).body;
  const run = { leaderboardKey: 'board', start: '2026-11-18', end: '2026-11-18' };
  const won = { points: { xp: 101 }, achievements: ['podium'] };
  const finalRuns = [{ ...run, rank: 1, rankWithout: null, rewards: won, rewardsDiffer: true }];
  expect(await reverse(first, { dryRun: true })).toMatchObject({ status: 'reversed', finalRuns });
  const { reversalId, ...reversed } = await reverse(first);
  expect(reversed).toMatchObject({ status: 'reversed', points: [], finalRuns });
  await boards.store();
  expect(await reverse(first)).toMatchObject({ status: 'unchanged', finalRuns: [] });
  expect((await reverse(larger, { dryRun: true })).finalRuns).toMatchObject([
    { ...run, rank: 2, rankWithout: 4, rewards: { points: { xp: 11 } }, rewardsDiffer: true },
  ]);
  // Restored: the run contains the event. A late event is not in the run.
  expect(await reverse(reversalId)).toMatchObject({ status: 'restored', finalRuns: [] });
  await boards.store();
  expect((await reverse(first)).finalRuns).toEqual(finalRuns);
  await boards.store();
  const late = await send('d', 50, '2026-11-18T11:00:00Z');
  expect((await reverse(late, { dryRun: true })).finalRuns).toEqual([]);
  expect(await due()).toEqual([]);
  await laurel.pool.query('UPDATE run_rewards SET is_done = false, place = 0, group_id = 0');
  expect(await due()).toEqual([]);
  expect(await shown()).toEqual(before);

  const differences = () => differencesIn(laurel);
  expect(await differences()).toEqual([]);
  // An award and the points of users, as somebody may change them by SQL.
  await laurel.pool.query("UPDATE awards SET awarded = awarded + 1 WHERE user_id = 'a' AND awarded = 100");
  await laurel.pool.query(
    `UPDATE users SET points = (SELECT jsonb_object_agg(key, 5) FROM jsonb_each(points)) WHERE id = 'b'`,
  );
  expect(
    (await differences()).map(({ part, redis, postgres }) => [part.replace(/ [\d ]+$/, ''), redis, postgres]),
  ).toEqual([
    ['points', expect.stringMatching(/: 11$/), expect.stringMatching(/: 5$/)],
    ['rank reward', 'not compared', '101 points noted, 102 awarded'],
  ]);
});

test('a reversal names final runs of highest values and of points in which the rank would differ', async () => {
  const best = { ...DAILY, key: 'best', name: 'Best', aggregate: 'max', maxParticipants: 2 };
  const fast = { ...DAILY, key: 'fast', name: 'Fast', aggregate: 'min', order: 'ascending' };
  const rich = { ...DAILY, key: 'rich', name: 'Rich', rankBy: 'points', metricKey: undefined, pointsSystemKey: 'xp' };
  const each = { type: 'metric', metricKey: 'm', metricThreshold: 1, points: 1, status: 'active' } as const;
  boards = await BoardsByTheClock.start('2026-11-18T10:00:00Z', [DAILY, best, fast, rich] as never, {
    pointsSystems: [{ key: 'xp', name: 'XP', triggers: [each] }],
  });
  const { laurel } = boards;
  const send = async (user: string, value: number): Promise<string> =>
    (await laurel.app.post('/v1/metrics/m/event', { user: { id: user }, value })).body.eventId;
  const highest = await send('a', 9);
  await send('a', 4);
  const lowest = await send('a', 1);
  await send('b', 6);
  await send('c', 5);
  await send('d', 2);
  await boards.store();
  await boards.at('2026-11-19T12:00:11Z');
  expect(await due()).toEqual([]);
  const runsWithout = async (id: string) => {
    const { body } = await laurel.admin.post(`/v1/events/${id}/reverse`, { dryRun: true });
    return body.finalRuns.map((run: { leaderboardKey: string; rank: number; rankWithout: number }) => [
      run.leaderboardKey,
      run.rank,
      run.rankWithout,
    ]);
  };
  // Of 14, 5 are left. The third is not on the leaderboard of two.
  expect((await runsWithout(highest)).toSorted()).toEqual([
    ['best', 1, null],
    ['board', 1, 2],
    ['rich', 1, 2],
  ]);
  expect(await runsWithout(lowest)).toEqual([['fast', 1, 2]]);
});

test('awards and achievements for ranks are imported with their rules', async () => {
  boards = await start();
  const date = '2026-11-10T12:00:00.000Z';
  const award = (awarded: number, total: number, ranks: object) => ({
    awarded,
    total,
    date,
    trigger: { type: 'achievement', points: awarded, ...ranks },
  });
  const awards = [award(10, 110, { rankFrom: 2, rankTo: 3 }), award(100, 100, { rankTo: 1 })];
  const old = {
    id: 'old',
    points: { xp: { total: 110, days: { '2026-11-10': 110 }, awards } },
    achievements: [{ key: 'podium', achievedAt: date }],
  };
  const answer = await boards.laurel.admin.post('/v1/imports?import=ranks', [old]);
  expect([answer.status, answer.body.issues]).toEqual([201, []]);
  await boards.store();
  const { body } = await boards.laurel.app.get('/v1/users/old/points/xp?awards=10');
  expect(body.awards.map(({ awarded, trigger }: { awarded: number; trigger: object }) => [awarded, trigger])).toEqual([
    [10, expect.objectContaining({ rankFrom: 2, rankTo: 3 })],
    [100, expect.objectContaining({ rankTo: 1 })],
  ]);
  expect(await completedBy('old')).toEqual(['podium']);
});
