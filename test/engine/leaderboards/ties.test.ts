import { expect, test } from 'vitest';
import type { Configuration } from '../../../src/domain/configuration.ts';
import { LiveStandings } from '../../../src/engine/leaderboards/live-standings.ts';
import { timedMember } from '../../../src/packed/state.ts';
import { boardKey } from '../../../src/redis/keys.ts';
import { tenantParts, userPart } from '../../../src/redis/parts.ts';
import { startLaurel } from '../../laurel.ts';
import { BoardsByTheClock } from './boards-by-the-clock.ts';

const configuration = (leaderboards: NonNullable<Configuration['leaderboards']>): Configuration => ({
  attributes: [{ key: 'land', name: 'Land', type: 'user' }],
  metrics: [{ key: 'm', name: 'M' }],
  leaderboards,
});

test('within a millisecond, in groups, for hidden users, at the end of a run, in daily snapshots, and filled from history', async () => {
  const jumps = {
    key: 'board',
    name: 'Jumps',
    status: 'active',
    rankBy: 'metric',
    metricKey: 'm',
    aggregate: 'max',
    ties: 'first',
    start: '2031-03-01',
    runUnit: 'day',
    runInterval: 2,
  } as const;
  const boards = await BoardsByTheClock.start('2031-03-01T10:00:00Z', [
    jumps,
    { ...jumps, key: 'lands', breakdownAttributes: ['land'] },
    { ...jumps, key: 'later', status: 'inactive', maxParticipants: 2 },
  ]);
  const { admin, app } = boards.laurel;
  const jump = (id: string, value: number, land = 'fr') => boards.event({ id, attributes: { land } }, value);
  const among = async (key: string, userIds: string[]): Promise<[number, string][]> => {
    const { status, body } = await app.post(`/v1/leaderboards/${key}/rankings`, { userIds, run: '2031-03-01' });
    expect(status).toBe(200);
    return body.rankings.map(({ rank, userId }: { rank: number; userId: string }) => [rank, userId]);
  };
  try {
    // All at the same time of the clock.
    for (const user of ['b', 'c', 'a']) await jump(user, 5);
    const ordered = [
      [1, 'b', 5],
      [2, 'c', 5],
      [3, 'a', 5],
    ];
    expect(await boards.places()).toEqual(ordered);
    expect((await jump('b', 5)).leaderboards).toEqual({});
    // The clock goes back.
    boards.clock.set(Date.parse('2031-03-01T09:59:30Z'));
    await jump('d', 5);
    boards.clock.set(Date.parse('2031-03-01T10:00:01Z'));
    const five = [...ordered, [4, 'd', 5]];
    expect(await boards.places()).toEqual(five);
    expect(await boards.places('userId=a&offset=-1&limit=3')).toEqual(five.slice(1));
    expect(await among('board', ['d', 'a', 'b'])).toEqual([
      [1, 'b'],
      [2, 'a'],
      [3, 'd'],
    ]);
    const { body: place } = await app.get('/v1/users/c/leaderboards/board');
    expect(place).toMatchObject({ rank: 2, value: 5, participants: 4, percentile: 75 });
    // A changed group keeps the time.
    await jump('c', 1, 'de');
    expect(await boards.places('userAttributes=land:fr', 'lands')).toEqual([
      [1, 'b', 5],
      [2, 'a', 5],
      [3, 'd', 5],
    ]);
    await jump('d', 1, 'de');
    await jump('c', 1, 'fr');
    await jump('d', 1, 'fr');
    expect(await boards.places('userAttributes=land:fr', 'lands')).toEqual(five);
    for (const hidden of [true, false]) {
      expect((await admin.patch('/v1/users/c', { hidden })).status).toBe(200);
      expect((await boards.places()).length).toBe(hidden ? 3 : 4);
    }
    expect(await boards.places()).toEqual(five);
    await boards.at('2031-03-02T00:00:01Z');
    await boards.due();
    expect(await boards.history('c')).toEqual([
      ['2031-03-01', null, 2, null, 5],
      ['2031-03-02', 2, 2, 5, 5],
    ]);
    expect((await admin.delete('/v1/users?ids=b')).body).toMatchObject({ issues: [] });
    const ended = [
      [1, 'c', 5],
      [2, 'a', 5],
      [3, 'd', 5],
    ];
    expect(await boards.places()).toEqual(ended);
    await boards.at('2031-03-03T12:02:00Z');
    await boards.due();
    expect(await boards.sets()).toEqual([]);
    expect(await boards.places('run=2031-03-01')).toEqual(ended);
    expect(await boards.places('run=2031-03-01&userId=a&offset=-1&limit=2')).toEqual(ended.slice(0, 2));
    for (const key of ['board', 'lands'])
      expect(await among(key, ['d', 'a', 'c'])).toEqual([
        [1, 'c'],
        [2, 'a'],
        [3, 'd'],
      ]);
    await boards.change('later', { status: 'active' });
    await boards.fill();
    // `d` jumped half a minute earlier by the clock, which history knows in milliseconds.
    expect(await boards.places('run=2031-03-01', 'later')).toEqual([
      [1, 'd', 5],
      [2, 'c', 5],
    ]);
  } finally {
    await boards.laurel.close();
  }
});

test("a group is still listed after its only user's time has changed", async () => {
  const boards = await BoardsByTheClock.start('2031-03-01T10:00:00Z', [
    {
      key: 'board',
      name: 'Board',
      status: 'active',
      rankBy: 'metric',
      metricKey: 'm',
      ties: 'first',
      start: '2031-03-01',
      breakdownAttributes: ['land'],
    },
  ]);
  try {
    const { admin } = boards.laurel;
    const { body: listed } = await admin.get('/v1/leaderboards');
    for (let event = 0; event < 2; event += 1) {
      await boards.event({ id: 'a', attributes: { land: 'fr' } }, 5);
      const { body } = await admin.get(`/v1/leaderboards/${listed[0].id}/groups`);
      expect(body).toEqual([{ userAttributes: { land: 'fr' }, users: 1 }]);
    }
  } finally {
    await boards.laurel.close();
  }
});

test('ties are for boards of a metric; changing them starts the scores again from history', async () => {
  const board = { key: 'board', name: 'Board', status: 'active', rankBy: 'metric', metricKey: 'm' } as const;
  const boards = await BoardsByTheClock.start('2031-03-01T10:00:00Z', [{ ...board, start: '2031-03-01' }]);
  try {
    const { admin } = boards.laurel;
    const { body } = await admin.post('/v1/leaderboards', [{ key: 's', name: 'S', rankBy: 'streak', ties: 'first' }]);
    expect(JSON.stringify(body.issues)).toContain('ties');
    expect(body.created ?? []).toEqual([]);
    const teams = { ...board, start: '2031-03-01', ties: 'first' as const, teamAttributeKey: 'land' };
    const refused = await admin.put('/v1/configuration', configuration([teams]));
    expect(refused.status).toBe(422);
    expect(JSON.stringify(refused.body)).toContain('only for a board of the highest sum with shared ties');
    for (const user of ['b', 'c', 'a']) {
      await boards.event(user, 5);
      boards.clock.set(boards.clock.now() + 1);
    }
    expect((await boards.places()).map(([rank]) => rank)).toEqual([1, 1, 1]);
    for (const [ties, ranks] of [
      ['first', [1, 2, 3]],
      ['shared', [1, 1, 1]],
    ] as const) {
      await boards.change('board', { status: 'inactive' });
      await boards.change('board', { status: 'active', ties });
      await boards.fill();
      const places = await boards.places();
      expect(places.map(([rank]) => rank)).toEqual(ranks);
      expect((await admin.get('/v1/leaderboards')).body[0].ties).toBe(ties === 'first' ? ties : undefined);
      if (ties === 'first') expect(places.map(([, user]) => user)).toEqual(['b', 'c', 'a']);
    }
    expect((await admin.get('/v1/leaderboards')).body[0]).not.toHaveProperty('ties');
  } finally {
    await boards.laurel.close();
  }
});

test('pages and places among thousands of equal scores on four shards', async () => {
  const laurel = await startLaurel({ spread: 4, configuration: configuration([]) });
  try {
    const { redis } = laurel;
    const [tenantNo] = (await laurel.pool.query('SELECT no FROM tenants')).rows.map(({ no }) => no as number);
    const at = { tenantNo: tenantNo!, boardNo: 1, runDay: 0, group: '' };
    const board = {
      aggregate: null,
      order: null,
      ties: 'first',
      secondaryAttributeId: null,
      maxParticipants: null,
    } as const;
    const members = Array.from({ length: 3_000 }, (_, n) => ({
      userId: `user ${n}`,
      score: n % 2 === 0 ? 7 : n % 5,
      reached: 1_900_000_000_000_000 + ((n * 7_919) % 3_001),
    }));
    const parts = tenantParts(redis, at.tenantNo);
    expect(parts.length).toBe(4);
    await Promise.all(
      members.map(({ userId, score, reached }) =>
        redis.zadd(boardKey(userPart(redis, at.tenantNo, userId), at), score, timedMember(userId, reached)),
      ),
    );
    const sorted = members.toSorted((a, b) => b.score - a.score || a.reached - b.reached);
    const standings = new LiveStandings(redis, at, board);
    for (const from of [0, 990, 1_200, 2_400, 2_990]) {
      const page = await standings.page(from, 20);
      expect(page).toEqual(
        sorted.slice(from, from + 20).map((member, index) => ({ ...member, rank: from + index + 1 })),
      );
    }
    for (const place of [0, 700, 1_499, 1_500, 2_999]) expect(await standings.rankOf(sorted[place]!)).toBe(place + 1);
  } finally {
    await laurel.close();
  }
});
