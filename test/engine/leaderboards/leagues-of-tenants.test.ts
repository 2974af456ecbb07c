import { afterEach, expect, test } from 'vitest';
import { startLaurel, type TestLaurel } from '../../laurel.ts';
import { addTenants } from '../../several-tenants.ts';

let laurel: TestLaurel;
afterEach(() => laurel.close());

const leagues = {
  tiers: [{ name: 'Bronze' }, { name: 'Silver' }],
  cohortUsers: 10,
  promoted: 1,
  demoted: 1,
  inactive: 'fall',
};
const configuration = (metric: string) => ({
  metrics: [{ key: metric, name: 'M', unitType: 'number', units: '' }],
  leaderboards: [
    {
      key: 'week',
      name: 'Week',
      status: 'active',
      rankBy: 'metric',
      metricKey: metric,
      start: '2031-03-03',
      runUnit: 'week',
      leagues,
    },
  ],
});

const put = (now: string) => laurel.admin.put('/v1/clock', { now });
const leagueOf = async (user: string, headers: object = {}) =>
  (await laurel.app.get(`/v1/users/${user}/leaderboards/week/leagues`, headers as never)).body;

test('on a wide tenant each part fills its cohorts, with workers, and moves are reported', async () => {
  laurel = await startLaurel({ testClock: true, workers: true, spread: 4 });
  await put('2031-03-05T13:00:00Z');
  expect((await laurel.admin.put('/v1/configuration', configuration('m'))).status).toBe(200);
  const hook = { name: 'Hook', url: 'https://example.com/hook', events: ['leaderboard.tier_changed'] };
  expect((await laurel.admin.post('/v1/webhooks', [hook])).body.issues).toEqual([]);
  const users = Array.from({ length: 100 }, (_, n) => `u${n}`);
  await Promise.all(
    users.map((id, n) => laurel.app.post('/v1/metrics/m/event', { user: { id, name: `Name ${n}` }, value: n + 1 })),
  );
  await expect
    .poll(async () => (await Promise.all(users.map((user) => leagueOf(user)))).every(({ cohort }) => cohort !== null))
    .toBe(true);
  const { rows: cohorts } = await laurel.pool.query<{ shard: number; members: number; users: string[] }>(
    `SELECT cohort.shard, cohort.members, array_agg(member.user_id ORDER BY member.user_id) AS users, count(DISTINCT member.shard)
       FROM league_cohorts AS cohort JOIN league_members AS member ON member.cohort = cohort.id AND member.shard = cohort.shard
      GROUP BY cohort.id ORDER BY cohort.id`,
  );
  expect(new Set(cohorts.map(({ shard }) => shard)).size).toBe(4);
  expect(cohorts.flatMap((cohort) => cohort.users).toSorted()).toEqual(users.toSorted());
  for (const { users: its, members } of cohorts) {
    expect(its).toHaveLength(members);
    expect(members).toBeLessThanOrEqual(10);
    const { cohort } = await leagueOf(its[0]!);
    const ranked = its.map((user) => Number(user.slice(1))).toSorted((a, b) => b - a);
    expect(cohort.rankings.map(({ userId, rank }: { userId: string; rank: number }) => [userId, rank])).toEqual(
      ranked.map((n, at) => [`u${n}`, at + 1]),
    );
  }
  expect((await put('2031-03-10T12:05:00Z')).status).toBe(200);
  const winners = cohorts.map(({ users: its }) => `u${Math.max(...its.map((user) => Number(user.slice(1))))}`);
  for (const user of winners) expect((await leagueOf(user)).tier).toEqual({ number: 2, name: 'Silver', badge: null });
  const messages = `SELECT user_id AS "user", payload::jsonb AS payload FROM webhook_messages WHERE type = 'leaderboard.tier_changed'`;
  await expect.poll(async () => (await laurel.pool.query(messages)).rowCount).toBe(winners.length);
  const { rows } = await laurel.pool.query<{ user: string; payload: Record<string, never> }>(messages);
  expect(rows.map(({ user }) => user).toSorted()).toEqual(winners.toSorted());
  expect(rows[0]!.payload).toMatchObject({
    type: 'leaderboard.tier_changed',
    user: { id: rows[0]!.user },
    leaderboard: {
      key: 'week',
      move: 'up',
      rank: 1,
      tier: { number: 2, name: 'Silver', badge: null },
      previousTier: { number: 1, name: 'Bronze', badge: null },
    },
  });
  const timeline = await laurel.admin.get(`/v1/users/${winners[0]}/timeline?kind=league`);
  expect(timeline.body.entries).toMatchObject([
    {
      kind: 'league',
      at: '2031-03-10T12:00:00.000Z',
      start: '2031-03-03',
      leaderboard: { key: 'week' },
      tier: { number: 2, name: 'Silver' },
      previousTier: { number: 1, name: 'Bronze' },
      rank: 1,
    },
  ]);
  const exported = await laurel.admin.get(`/v1/users/${winners[0]}/export`);
  expect(exported.body).toMatchObject({
    leagueTiers: [{ tier: 1 }],
    leagueCohorts: [{ runDay: '2031-03-03' }],
    leagueMoves: [{ tierBefore: 0, tier: 1, rank: 1 }],
  });
  // The winners do nothing for a week.
  expect((await put('2031-03-17T12:05:00Z')).status).toBe(200);
  for (const user of winners) expect((await leagueOf(user)).tier.name).toBe('Bronze');
  await expect.poll(async () => (await laurel.pool.query(messages)).rowCount).toBe(2 * winners.length);
});

test("tenants have leagues of their own, and a user's key reads only its own user", async () => {
  laurel = await startLaurel({ testClock: true, workers: true });
  await put('2031-03-05T13:00:00Z');
  await addTenants(laurel, ['one', 'two'], configuration('m') as never);
  for (const tenantId of ['one', 'two'])
    for (const [at, id] of ['a', 'b', 'c'].entries()) {
      const value = tenantId === 'one' ? 10 - at : at + 1;
      const sent = await laurel.app.post('/v1/metrics/m/event', { user: { id }, value }, { tenantId });
      expect(sent.status).toBe(201);
    }
  await expect.poll(async () => (await leagueOf('c', { tenantId: 'two' })).cohort?.users).toBe(3);
  await expect.poll(async () => (await leagueOf('a', { tenantId: 'one' })).cohort?.users).toBe(3);
  expect((await put('2031-03-10T12:05:00Z')).status).toBe(200);
  const tiers = async (tenantId: string): Promise<string[]> =>
    Promise.all(['a', 'b', 'c'].map(async (user) => (await leagueOf(user, { tenantId })).tier.name));
  expect(await tiers('one')).toEqual(['Silver', 'Bronze', 'Bronze']);
  expect(await tiers('two')).toEqual(['Bronze', 'Bronze', 'Silver']);
  const made = await laurel.admin.post('/v1/application-api-keys', [{ userId: 'a' }], { tenantId: 'one' });
  const key = made.body.created[0].key;
  const read = (user: string): Promise<Response> =>
    fetch(`${laurel.appUrl}/v1/users/${user}/leaderboards/week/leagues`, {
      headers: { 'X-API-KEY': key, 'Tenant-ID': 'one' },
    });
  expect((await read('a')).status).toBe(200);
  expect((await read('b')).status).toBe(403);
});
