import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FixedClock } from '../../../src/clock.ts';
import type { Configuration } from '../../../src/domain/configuration.ts';
import { rebuildServers } from '../../../src/engine/availability/accept.ts';
import { verify } from '../../../src/engine/rebuild/verify.ts';
import { dayOf } from '../../../src/domain/periods.ts';
import { readPlaces } from '../../../src/engine/live/live-listener.ts';
import { loadCatalog } from '../../../src/postgres/catalog.ts';
import { LiveStandings } from '../../../src/engine/leaderboards/standings.ts';
import { timedMember } from '../../../src/packed/state.ts';
import { boardKey } from '../../../src/redis/keys.ts';
import { tenantParts, userPart } from '../../../src/redis/parts.ts';
import { startLaurel, type TestLaurel } from '../../laurel.ts';
import { emptyRedis } from '../../stack/all-servers.ts';
import { dump } from '../rebuild/dump.ts';
import { filled, plan } from '../recomputations/recompute-laurel.ts';
import { BoardsByTheClock } from './boards-by-the-clock.ts';

/** A sample on every run; `npm run test:long` is a thorough one. */
const RUNS = Number(process.env['RUNS'] ?? 5);
const SEED = Number(process.env['SEED']);

const HOUR = 3_600_000;
const START_MS = Date.parse('2031-01-30T00:00:00Z');
/** When the first run has ended and is not final. */
const END_MS = Date.parse('2031-02-01T11:00:00Z');
const RUN_DAYS = ['2031-01-01', '2031-02-01'] as const;

type Board = NonNullable<Configuration['leaderboards']>[number];
type Scoring = Pick<Board, 'aggregate' | 'order' | 'ties'>;

const SCORINGS: Record<string, Scoring> = {
  most: { ties: 'first' },
  fewest: { order: 'ascending', ties: 'first' },
  highest: { aggregate: 'max', ties: 'first' },
  lowest: { aggregate: 'min', order: 'ascending', ties: 'first' },
  latest: { aggregate: 'last', ties: 'first' },
};
const KEYS = Object.keys(SCORINGS);

const configured = (more: (key: string) => Partial<Board>): Board[] =>
  KEYS.map((key) => ({
    key,
    name: key,
    rankBy: 'metric' as const,
    metricKey: 'm',
    start: '2031-01-01',
    runUnit: 'month' as const,
    runInterval: 1,
    status: 'active' as const,
    maxParticipants: 2,
    ...SCORINGS[key],
    ...more(key),
  }));

const configuration = (boards: Board[]): Configuration => ({
  attributes: [{ key: 'land', name: 'Land', type: 'user' }],
  metrics: [{ key: 'm', name: 'M' }],
  leaderboards: boards,
});

interface Happened {
  id: string;
  user: string;
  value: number;
  atMs: number;
  counts: boolean;
}

/** A user's value on a board by the events that count, and when it was reached; `null` if there is none. */
function valueOf({ aggregate }: Scoring, events: readonly Happened[]): { value: number; reached: number } | null {
  const counted = events.filter(({ counts }) => counts).toSorted((a, b) => a.atMs - b.atMs);
  const last = counted.at(-1);
  if (last === undefined) return null;
  const values = counted.map(({ value }) => value);
  const sum = values.reduce((all, value) => all + value, 0);
  if ((aggregate ?? 'sum') === 'sum') {
    const reachedBy = counted.findLast(({ value }) => value !== 0) ?? counted[0]!;
    return { value: sum, reached: reachedBy.atMs };
  }
  if (aggregate === 'last') return { value: last.value, reached: last.atMs };
  const best = aggregate === 'max' ? Math.max(...values) : Math.min(...values);
  return { value: best, reached: counted.find(({ value }) => value === best)!.atMs };
}

interface Place {
  userId: string;
  rank: number;
  value: number;
}

function standings(scoring: Scoring, events: readonly Happened[], max = Infinity): Place[] {
  const sign = scoring.order === 'ascending' ? -1 : 1;
  const scored = [...new Set(events.map(({ user }) => user))].flatMap((userId) => {
    const found = valueOf(
      scoring,
      events.filter(({ user }) => user === userId),
    );
    return found === null ? [] : [{ userId, ...found }];
  });
  return scored
    .toSorted((a, b) => sign * (b.value - a.value) || a.reached - b.reached)
    .map(({ userId, value }, index) => ({ userId, value, rank: index + 1 }))
    .slice(0, max);
}

const inRun = (events: readonly Happened[], runDay: string): Happened[] =>
  events.filter(({ atMs }) => new Date(atMs).toISOString().slice(0, 7) === runDay.slice(0, 7));

describe.each([
  ['a tenant on one shard', 1],
  ['a tenant spread over four shards', 4],
])('%s', (_, spread) => {
  let laurel: TestLaurel;
  const clock = new FixedClock(START_MS);
  let events: Happened[] = [];

  beforeAll(async () => {
    laurel = await startLaurel({ clock, workers: true, spread, configuration: configuration(configured(() => ({}))) });
    await filled(laurel);
  });
  afterAll(() => laurel.close());

  const placesOf = async (key: string, runDay: string): Promise<Place[]> => {
    const { status, body } = await laurel.app.get(`/v1/leaderboards/${key}?run=${runDay}&limit=100`);
    expect(status).toBe(200);
    return body.rankings
      .map(({ userId, rank, value }: Place) => ({ userId, rank, value }))
      .toSorted((a: Place, b: Place) => a.rank - b.rank || (a.userId < b.userId ? -1 : 1));
  };

  const eachRun = <T>(of: (key: string, runDay: string) => T): T[] =>
    KEYS.flatMap((key) => RUN_DAYS.map((runDay) => of(key, runDay)));

  /** The places of all boards in both runs. `as`: the board's key. */
  const shown = (as = (key: string): string => key): Promise<[string, string, Place[]][]> =>
    Promise.all(eachRun(async (key, runDay) => [key, runDay, await placesOf(as(key), runDay)]));

  /** The same, as they must be. */
  const wanted = (): [string, string, Place[]][] =>
    eachRun((key, runDay) => [key, runDay, standings(SCORINGS[key]!, inRun(events, runDay), 2)]);

  /** Compares each user's own place, as requests and live streams read it, and the ranking of all without a maximum. */
  async function comparePlaces(): Promise<void> {
    const users = [...new Set(events.map(({ user }) => user))];
    const { rows } = await laurel.pool.query<{ no: number }>('SELECT no FROM tenants');
    const tenantNo = rows[0]!.no;
    const { leaderboards } = (await loadCatalog(laurel.pool, tenantNo))!;
    for (const [key, runDay] of eachRun((...names) => names)) {
      const all = standings(SCORINGS[key]!, inRun(events, runDay));
      const among = await laurel.app.post(`/v1/leaderboards/${key}/rankings`, { userIds: users, run: runDay });
      expect(among.body.rankings).toMatchObject(all);
      const board = leaderboards.find((each) => each.key === key)!;
      const seat = { runDay: dayOf(runDay), group: '' };
      const live = await readPlaces(
        laurel.redis,
        users.map((userId) => ({ tenantNo, board, seat, userId })),
      );
      for (const [index, user] of users.entries()) {
        const place = all.find(({ userId, rank }) => userId === user && rank <= 2);
        const { body } = await laurel.app.get(`/v1/users/${user}/leaderboards/${key}?run=${runDay}`);
        expect([key, user, body.rank, body.value]).toEqual([key, user, place?.rank ?? null, place?.value ?? null]);
        expect(live[index]).toEqual(place === undefined ? null : { rank: place.rank, value: place.value });
      }
    }
  }

  async function event(user: string, value: number, occurredMs: number | null): Promise<void> {
    const occurred = occurredMs === null ? {} : { occurredAt: new Date(occurredMs).toISOString() };
    const { status, body } = await laurel.app.post('/v1/metrics/m/event', { user: { id: user }, value, ...occurred });
    expect({ status, body }).toMatchObject({ status: 201 });
    const happened = { id: body.eventId, user, value, atMs: occurredMs ?? clock.now(), counts: true };
    const before = events;
    events = [...events, happened];
    const runDay = RUN_DAYS.find((day) => inRun([happened], day).length > 0)!;
    for (const key of KEYS) {
      const scoring = SCORINGS[key]!;
      const answered = body.leaderboards[key];
      const own = (of: readonly Happened[]) =>
        valueOf(
          scoring,
          inRun(of, runDay).filter((one) => one.user === user),
        );
      const isChanged = JSON.stringify(own(before)) !== JSON.stringify(own(events));
      expect([key, answered !== undefined]).toEqual([key, isChanged]);
      if (answered === undefined) continue;
      const [then, now] = [before, events].map((of) => standings(scoring, inRun(of, runDay), 2)) as [Place[], Place[]];
      const rankIn = (places: Place[]): number | null => places.find(({ userId }) => userId === user)?.rank ?? null;
      const isFull = now.length >= 2;
      expect([key, answered]).toMatchObject([
        key,
        {
          rank: rankIn(now),
          previousRank: rankIn(then),
          threshold: isFull ? now.at(-1)!.value : 0,
          full: isFull,
        },
      ]);
    }
  }

  /** Reverses an event, or restores it. */
  async function reverse(happened: Happened): Promise<void> {
    const { status, body } = await laurel.admin.post('/v1/events/reverse', { eventIds: [happened.id] });
    expect({ status, body }).toMatchObject({ status: 200, body: { issues: [] } });
    const [{ reversalId, status: done }] = body.reversals;
    expect(done).toBe(happened.counts ? 'reversed' : 'restored');
    events = events.map((one) => (one.id === happened.id ? { ...one, id: reversalId, counts: !one.counts } : one));
  }

  const step = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constant('event' as const),
        user: fc.constantFrom('a', 'b', 'c', 'd'),
        value: fc.constantFrom(1, 1, 1, 2, 2, -1, 0, 0),
        hoursAgo: fc.option(fc.integer({ min: 1, max: 50 })),
      }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('reverse' as const), nth: fc.nat(50) }) },
  );

  test('equal scores rank by who reached them first, as if late events were in time and reversed ones had never happened', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 15, maxLength: 25 }), async (steps) => {
        clock.set(Math.max(clock.now(), START_MS + 50 * HOUR));
        for (const one of steps) {
          clock.set(Math.min(END_MS, clock.now() + 1_000));
          if (one.do === 'event') {
            await event(one.user, one.value, one.hoursAgo === null ? null : clock.now() - one.hoursAgo * HOUR);
          } else if (events.length > 0) await reverse(events[one.nth % events.length]!);
        }
        expect(await shown()).toEqual(wanted());
        await comparePlaces();
      }),
      { numRuns: RUNS, seed: SEED, endOnFailure: true },
    );
  });

  test('a filled leaderboard, a recomputation, a verification and a rebuild find the same order', async () => {
    const copies = configured((key) => ({ key: `${key}-copy`, name: `${key} copied` }));
    const both = configuration([...configured(() => ({})), ...copies]);
    expect((await laurel.admin.put('/v1/configuration', both)).status).toBe(200);
    await filled(laurel);
    expect(await shown((key) => `${key}-copy`)).toEqual(wanted());
    const { figures } = await plan(laurel, { what: ['boards'] });
    expect(figures).toMatchObject({ gaining: 0, losing: 0, failed: 0 });
    const differences: unknown[] = [];
    await verify({ redis: laurel.redis, pool: laurel.pool, onDifference: (found) => differences.push(found) });
    expect(differences).toEqual([]);
    const redis = await laurel.connect();
    const before = await dump(redis);
    await emptyRedis(redis);
    await rebuildServers({ redis, pool: laurel.pool });
    expect(await dump(redis)).toEqual(before);
    redis.disconnect();
    // Reads are refused from when the process notices that Redis was emptied until it accepts the rebuilt one.
    await expect.poll(() => shown(), { timeout: 20_000 }).toEqual(wanted());
    const { status, body } = await laurel.admin.put('/v1/spread', { shards: spread === 1 ? 4 : 1 });
    expect({ status, body }).toMatchObject({ status: 202 });
    const job = async (): Promise<unknown> => (await laurel.admin.get(`/v1/jobs/${body.id}`)).body;
    await expect.poll(job, { timeout: 20_000 }).toMatchObject({ status: 'done', error: null });
    await expect.poll(() => shown(), { timeout: 20_000 }).toEqual(wanted());
  });
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
    return body.rankings.map(({ rank, userId }: Place) => [rank, userId]);
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
    const board = { aggregate: null, order: null, ties: 'first', maxParticipants: null } as const;
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
