import { afterEach, expect, test } from 'vitest';
import type { LeagueCohorts, Leagues, UserLeague } from '../../../src/domain/leagues.ts';
import type { ClosingStep } from '../../../src/engine/leaderboards/league-closing.ts';
import { BoardsByTheClock, DAILY } from './boards-by-the-clock.ts';
import { closeLeagues } from './leagues-by-the-clock.ts';

let boards: BoardsByTheClock;
afterEach(() => boards.laurel.close());

const tiers = ['Bronze', 'Silver', 'Gold'].map((name) => ({ name, badge: { url: `https://example.com/${name}.png` } }));
const leagues: Leagues = { tiers, cohortUsers: 10, promoted: 2, demoted: 2, inactive: 'fall' };

const daily = { ...DAILY, leagues };

const start = (more: object = {}, now = '2026-11-18T12:30:00Z'): Promise<BoardsByTheClock> =>
  BoardsByTheClock.start(now, [{ ...daily, ...more } as never]);

const due = (onStep?: (step: ClosingStep) => void): Promise<unknown[]> => closeLeagues(boards, onStep);

async function leagueOf(user: string, query = '', board = 'board'): Promise<UserLeague> {
  const { status, body } = await boards.laurel.app.get(`/v1/users/${user}/leaderboards/${board}/leagues?${query}`);
  if (status !== 200) throw new Error(JSON.stringify(body));
  return body;
}

/** A page of the cohorts that administrators see. */
async function listed(query: string): Promise<LeagueCohorts['cohorts']> {
  const { admin } = boards.laurel;
  const [{ id }] = (await admin.get('/v1/leaderboards')).body;
  const { status, body } = await admin.get(`/v1/leaderboards/${id}/cohorts?${query}`);
  if (status !== 200) throw new Error(JSON.stringify(body));
  return body.cohorts;
}

const tierNames = (users: readonly string[]): Promise<string[]> =>
  Promise.all(users.map(async (user) => (await leagueOf(user)).tier.name));

const cohortOf = async (user: string, query = ''): Promise<string[] | undefined> =>
  (await leagueOf(user, query)).cohort?.rankings.map(({ userId }) => userId).toSorted();

test('cohorts are filled in the order of first scores, and their best and last users move', async () => {
  boards = await start();
  const users = Array.from({ length: 12 }, (_, n) => `u${String(n).padStart(2, '0')}`);
  for (const [n, user] of users.entries()) await boards.event(user, 100 - n);
  expect(await leagueOf('u00')).toMatchObject({ cohort: null, rank: null, move: 'stay', tier: { number: 1 } });
  await boards.store();
  await boards.event('u00', 1);
  await boards.store();
  expect(await cohortOf('u00')).toEqual(users.slice(0, 10));
  expect(await cohortOf('u11')).toEqual(users.slice(10));
  expect(await leagueOf('u01')).toMatchObject({
    leaderboardKey: 'board',
    run: {
      start: '2026-11-18',
      end: '2026-11-18',
      endsAt: '2026-11-19T00:00:00.000Z',
      secondsLeft: 11.5 * 3600,
      finalAt: '2026-11-19T12:00:00.000Z',
      isClosed: false,
    },
    tier: { number: 1, name: 'Bronze', badge: { url: 'https://example.com/Bronze.png' } },
    tiers: 3,
    rank: 2,
    value: 99,
    move: 'up',
  });
  const { rankings } = (await leagueOf('u01')).cohort!;
  expect(rankings.map(({ rank, move }) => [rank, move])).toEqual([
    [1, 'up'],
    [2, 'up'],
    ...Array.from({ length: 8 }, (_, n) => [n + 3, 'stay']),
  ]);
  await boards.at('2026-11-19T12:00:11Z');
  expect(await due()).toEqual([]);
  expect(await tierNames(['u00', 'u01', 'u02', 'u09', 'u10', 'u11'])).toEqual([
    'Silver',
    'Silver',
    'Bronze',
    'Bronze',
    'Silver',
    'Silver',
  ]);
  // The closed run shows the tier in which the user was.
  expect(await leagueOf('u00', 'run=2026-11-18')).toMatchObject({
    tier: { name: 'Bronze' },
    move: 'up',
    rank: 1,
    run: { isClosed: true, secondsLeft: 0 },
  });
  expect(await leagueOf('u02', 'run=2026-11-18')).toMatchObject({ move: 'stay', rank: 3 });
});

test('users of the next run wait for the end of the one before, then move within their tiers', async () => {
  boards = await start();
  for (const [user, value] of Object.entries({ a: 9, b: 8, c: 7, d: 6 })) await boards.event(user, value);
  await boards.at('2026-11-19T10:00:00Z');
  for (const user of ['d', 'c', 'b', 'a']) await boards.event(user, 1);
  await boards.store();
  expect(await cohortOf('a')).toBeUndefined();
  const { body } = await boards.laurel.admin.get('/v1/leaderboards');
  const overview = (): Promise<{ body: unknown }> => boards.laurel.admin.get(`/v1/leaderboards/${body[0].id}/leagues`);
  expect((await overview()).body).toMatchObject({ waiting: 4, run: '2026-11-19' });
  await boards.at('2026-11-19T12:00:11Z');
  expect(await due()).toEqual([]);
  expect(await cohortOf('a')).toEqual(['a', 'b']);
  expect(await cohortOf('d')).toEqual(['c', 'd']);
  expect((await overview()).body).toMatchObject({
    waiting: 0,
    tiers: [
      { number: 1, name: 'Bronze', users: 2, cohorts: 1 },
      { number: 2, name: 'Silver', users: 2, cohorts: 1 },
      { number: 3, name: 'Gold', users: 0, cohorts: 0 },
    ],
  });
  // Equal scores share a rank and move alike: both are first.
  await boards.event('e', 5);
  await boards.store();
  expect(await cohortOf('e')).toEqual(['c', 'd', 'e']);
  await boards.at('2026-11-20T12:00:11Z');
  expect(await due()).toEqual([]);
  expect(await tierNames(['a', 'b', 'c', 'd', 'e'])).toEqual(['Gold', 'Gold', 'Silver', 'Silver', 'Silver']);
  // Nobody plays for two days: all fall, as often as there are runs, but not below the lowest tier.
  await boards.at('2026-11-21T12:00:11Z');
  expect(await due()).toEqual([]);
  expect(await tierNames(['a', 'c'])).toEqual(['Silver', 'Bronze']);
  await boards.at('2026-11-24T12:00:11Z');
  expect(await due()).toEqual([]);
  expect(await tierNames(['a', 'c'])).toEqual(['Bronze', 'Bronze']);
  const { rows } = await boards.laurel.pool.query(
    'SELECT count(*)::integer AS count FROM league_moves WHERE rank IS NULL',
  );
  expect(rows[0].count).toBe(2 * 2 + 3);
});

test('the worker may die before any commit: everyone moves once', async () => {
  boards = await start({ leagues: { ...leagues, promoted: 3, demoted: 3 } });
  const users = Array.from({ length: 1_050 }, (_, n) => `u${n}`);
  const eachOf = async (value: (n: number) => number): Promise<void> => {
    for (let from = 0; from < users.length; from += 50)
      await Promise.all(users.slice(from, from + 50).map((user, n) => boards.event(user, value(from + n))));
  };
  await eachOf((n) => n + 1);
  await boards.at('2026-11-19T10:00:00Z');
  await eachOf((n) => 2_000 - n);
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
  expect(new Set(killed)).toEqual(new Set(['cohorts', 'inactive', 'seated', 'ended']));
  const moves = async (): Promise<unknown> =>
    (
      await boards.laurel.pool.query(
        `SELECT run_day - 20775 AS day, tier_before, tier, count(*)::integer FROM league_moves GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`,
      )
    ).rows.map(Object.values);
  const first = (await moves()) as number[][];
  expect(first.map(([, ...rest]) => rest)).toEqual([[0, 1, 105 * 3]]);
  const { rows } = await boards.laurel.pool.query(
    `SELECT cohort.tier, cohort.members, count(*)::integer AS users FROM league_cohorts AS cohort
       JOIN league_members AS member ON member.cohort = cohort.id
      WHERE cohort.run_day = $1 GROUP BY cohort.id ORDER BY cohort.id`,
    [20_776],
  );
  expect(rows.every(({ members, users: count }) => members === count && count <= 10)).toBe(true);
  expect(rows.filter(({ tier }) => tier === 1).reduce((sum, { users: count }) => sum + count, 0)).toBe(315);
  await boards.at('2026-11-20T12:00:11Z');
  expect(await due()).toEqual([]);
  const { rows: twice } = await boards.laurel.pool.query(
    'SELECT user_id FROM league_moves GROUP BY user_id, run_day HAVING count(*) > 1',
  );
  expect(twice).toEqual([]);
});

test('groups have cohorts of their own, and ties rank as the leaderboard says', async () => {
  boards = await start({ breakdownAttributes: ['land'], ties: 'first', leagues: { ...leagues, promoted: 1 } });
  const event = (id: string, land: string, value: number): Promise<unknown> =>
    boards.event({ id, attributes: { land } }, value);
  for (const id of ['a', 'b', 'c']) await event(id, 'de', 5);
  for (const id of ['x', 'y']) await event(id, 'fr', 5);
  await boards.store();
  expect(await cohortOf('a')).toEqual(['a', 'b', 'c']);
  expect(await cohortOf('x')).toEqual(['x', 'y']);
  expect((await leagueOf('c')).cohort!.rankings.map(({ userId, rank }) => [userId, rank])).toEqual([
    ['a', 1],
    ['b', 2],
    ['c', 3],
  ]);
  expect(await listed('limit=1')).toMatchObject([
    { tier: { number: 1, name: 'Bronze' }, users: 3, userAttributes: { land: 'de' } },
  ]);
  const [first] = await listed('limit=1');
  expect(await listed(`run=2026-11-18&after=${first!.id}`)).toMatchObject([
    { users: 2, userAttributes: { land: 'fr' } },
  ]);
  expect(await listed('run=2026-11-17')).toEqual([]);
  // A user who moves to another group keeps the cohort of the run.
  await event('b', 'fr', 5);
  await boards.store();
  expect((await leagueOf('b')).cohort!.rankings.map(({ userId }) => userId)).toEqual(['b', 'a', 'c']);
  await boards.at('2026-11-19T12:00:11Z');
  expect(await due()).toEqual([]);
  expect(await tierNames(['a', 'b', 'c', 'x', 'y'])).toEqual(['Bronze', 'Silver', 'Bronze', 'Silver', 'Bronze']);
});

test('cohorts show secondary scores', async () => {
  boards = await BoardsByTheClock.start(
    '2026-11-18T12:30:00Z',
    [
      {
        ...daily,
        aggregate: 'max',
        ties: 'first',
        secondaryAttributeKey: 'moves',
        secondaryOrder: 'ascending',
        leagues: { ...leagues, promoted: 1 },
      } as never,
    ],
    { attributes: [{ key: 'moves', name: 'Moves', type: 'event' }] },
  );
  for (const [id, moves] of Object.entries({ a: '31', b: '7', c: 'many' })) {
    const body = { user: { id }, value: 5, attributes: { moves } };
    expect((await boards.laurel.app.post('/v1/metrics/m/event', body)).status).toBe(201);
  }
  await boards.store();
  expect(await leagueOf('a')).toMatchObject({
    rank: 2,
    secondaryScore: 31,
    cohort: {
      rankings: [
        { userId: 'b', rank: 1, secondaryScore: 7, move: 'up' },
        { userId: 'a', rank: 2, secondaryScore: 31, move: 'stay' },
        { userId: 'c', rank: 3 },
      ],
    },
  });
  expect((await leagueOf('c')).cohort!.rankings[2]).not.toHaveProperty('secondaryScore');
  expect((await leagueOf('c')).secondaryScore).toBeNull();
  await boards.at('2026-11-19T12:00:11Z');
  expect(await due()).toEqual([]);
  expect(await tierNames(['a', 'b'])).toEqual(['Bronze', 'Silver']);
  expect(await leagueOf('b', 'run=2026-11-18')).toMatchObject({ rank: 1, secondaryScore: 7, move: 'up' });
});

test('hidden users have no rank, deleted ones leave nothing, and corrections count until the end of the run', async () => {
  boards = await start();
  for (const [user, value] of Object.entries({ a: 9, b: 8, c: 7, d: 6, e: 5 })) await boards.event(user, value);
  const first = await boards.event('f', 20);
  await boards.store();
  expect((await boards.laurel.admin.patch('/v1/users/a', { hidden: true })).status).toBe(200);
  await boards.store();
  const reversed = await boards.laurel.admin.post(`/v1/events/${first.eventId}/reverse`);
  expect([200, 201]).toContain(reversed.status);
  await boards.laurel.admin.delete('/v1/users/b');
  await boards.store();
  expect(await cohortOf('c')).toEqual(['c', 'd', 'e']);
  expect(await leagueOf('a')).toMatchObject({ rank: null, cohort: { users: 3 } });
  await boards.at('2026-11-19T12:00:11Z');
  expect(await due()).toEqual([]);
  expect(await tierNames(['a', 'c', 'd', 'e', 'f'])).toEqual(['Bronze', 'Silver', 'Silver', 'Bronze', 'Bronze']);
  await boards.laurel.admin.delete('/v1/users/c');
  await boards.store();
  for (const table of ['league_members', 'league_tiers', 'league_moves']) {
    const { rows } = await boards.laurel.pool.query(`SELECT user_id FROM ${table} WHERE user_id IN ('b', 'c')`);
    expect(rows).toEqual([]);
  }
});

test('leagues that are switched on later begin in the current run, and fewer tiers move users to the highest', async () => {
  boards = await start({ leagues: null });
  await boards.event('a', 9);
  await boards.store();
  const asked = await boards.laurel.app.get('/v1/users/a/leaderboards/board/leagues');
  expect([asked.status, asked.body.error]).toEqual([422, "The leaderboard 'board' has no leagues."]);
  await boards.change('board', { leagues });
  await boards.event('a', 1);
  await boards.event('b', 1);
  await boards.store();
  expect(await cohortOf('a')).toEqual(['a', 'b']);
  for (const day of ['19', '20', '21']) {
    await boards.at(`2026-11-${day}T12:00:11Z`);
    expect(await due()).toEqual([]);
    await boards.event('a', 1);
  }
  expect(await tierNames(['a'])).toEqual(['Gold']);
  await boards.change('board', { leagues: { ...leagues, tiers: tiers.slice(0, 2) } });
  expect(await tierNames(['a'])).toEqual(['Silver']);
  await boards.change('board', { leagues: null });
  await boards.at('2026-11-23T12:00:11Z');
  expect(await due()).toEqual([]);
  await boards.change('board', { leagues });
  await boards.event('a', 1);
  await boards.store();
  expect(await cohortOf('a')).toEqual(['a']);
});

test('a bad configuration names the field', async () => {
  boards = await start();
  const { body } = await boards.laurel.admin.get('/v1/leaderboards');
  expect(body[0].leagues).toEqual(leagues);
  const issue = async (changed: object): Promise<unknown> => {
    const answer = await boards.laurel.admin.patch('/v1/leaderboards', [{ id: body[0].id, ...changed }]);
    return answer.status === 200 ? answer.body.issues[0]?.message : answer.body.error;
  };
  expect(await issue({ leagues: { ...leagues, cohortUsers: 9 } })).toMatch(/leagues\.cohortUsers.*at least 10/);
  expect(await issue({ leagues: { ...leagues, cohortUsers: 201 } })).toMatch(/leagues\.cohortUsers.*at most 200/);
  expect(await issue({ leagues: { ...leagues, promoted: 9 } })).toMatch(/leagues\.demoted.*together/);
  expect(await issue({ leagues: { ...leagues, promoted: -1 } })).toMatch(/leagues\.promoted.*at least 0/);
  expect(await issue({ leagues: { ...leagues, tiers: tiers.slice(0, 1) } })).toMatch(/leagues\.tiers.*2 to 50/);
  expect(await issue({ leagues: { ...leagues, tiers: [{ name: 'A' }, { name: 'A' }] } })).toMatch(
    /leagues\.tiers\[1\]\.name.*named twice/,
  );
  const badge = { url: 'javascript:alert(1)' };
  expect(await issue({ leagues: { ...leagues, tiers: [{ name: 'A', badge }, { name: 'B' }] } })).toMatch(
    /leagues\.tiers\[0\]\.badge\.url/,
  );
  expect(await issue({ leagues: { ...leagues, sideways: 1 } })).toMatch(/sideways/);
  expect(await issue({ runUnit: null, leagues })).toMatch(/leagues.*runUnit/);
});
