import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { FixedClock } from '../../../src/clock.ts';
import type { Configuration } from '../../../src/domain/configuration.ts';
import { dayOf } from '../../../src/domain/periods.ts';
import { rebuildServers } from '../../../src/engine/availability/accept.ts';
import { readPlaces } from '../../../src/engine/live/stream-listener.ts';
import { loadCatalog } from '../../../src/postgres/catalog.ts';
import { startLaurel } from '../../laurel.ts';
import { emptyRedis } from '../../stack/all-servers.ts';
import { dump } from '../rebuild/dump.ts';
import { filled, plan } from '../recomputations/recompute-laurel.ts';
import { BoardsByTheClock } from './boards-by-the-clock.ts';
import { differencesIn } from '../../differences.ts';
import { opened } from '../../stack/opened.ts';

/** A sample on every run; `npm run test:long` is a thorough one. */
const RUNS = Number(process.env['RUNS'] ?? 5);
const SEED = Number(process.env['SEED']);

const HOUR = 3_600_000;
const START_MS = Date.parse('2031-01-30T00:00:00Z');
/** When the first run has ended and is not final. */
const END_MS = Date.parse('2031-02-01T11:00:00Z');
const RUN_DAYS = ['2031-01-01', '2031-02-01'] as const;

type Board = NonNullable<Configuration['leaderboards']>[number];
type Scoring = Pick<Board, 'aggregate' | 'order' | 'ties' | 'secondaryAttributeKey' | 'secondaryOrder'>;

const FEWEST_MOVES = { ties: 'first', secondaryAttributeKey: 'moves' } as const;
const MOST_MOVES = { ...FEWEST_MOVES, secondaryOrder: 'descending' } as const;

const SCORINGS: Record<string, Scoring> = {
  most: {},
  fewest: { order: 'ascending' },
  highest: { aggregate: 'max' },
  lowest: { aggregate: 'min', order: 'ascending' },
  strongest: { aggregate: 'max', order: 'ascending' },
  weakest: { aggregate: 'min' },
  latest: { aggregate: 'last' },
  'latest-lowest': { aggregate: 'last', order: 'ascending' },
  'most-first': { ties: 'first' },
  'fewest-first': { order: 'ascending', ties: 'first' },
  'highest-first': { aggregate: 'max', ties: 'first' },
  'lowest-first': { aggregate: 'min', order: 'ascending', ties: 'first' },
  'latest-first': { aggregate: 'last', ties: 'first' },
  'highest-fewest': { aggregate: 'max', ...FEWEST_MOVES },
  'lowest-most': { aggregate: 'min', order: 'ascending', ...MOST_MOVES },
  'weakest-fewest': { aggregate: 'min', ...FEWEST_MOVES },
  'latest-most': { aggregate: 'last', ...MOST_MOVES },
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
  attributes: [
    { key: 'land', name: 'Land', type: 'user' },
    { key: 'moves', name: 'Moves', type: 'event' },
  ],
  metrics: [{ key: 'm', name: 'M' }],
  leaderboards: boards,
});

interface Happened {
  id: string;
  user: string;
  value: number;
  /** The secondary score; `null` without a number. */
  moves: number | null;
  atMs: number;
  counts: boolean;
}

/**
 * A user's value on a board by the events that count, and when it was reached if equal values rank by that; `null` if there is
 * none.
 */
function valueOf(
  { aggregate = 'sum', order, ties, secondaryAttributeKey, secondaryOrder = 'ascending' }: Scoring,
  events: readonly Happened[],
): { value: number; secondary: number | null; goodness: number; reached: number } | null {
  const counted = events.filter(({ counts }) => counts).toSorted((a, b) => a.atMs - b.atMs);
  const last = counted.at(-1);
  if (last === undefined) return null;
  const values = counted.map(({ value }) => value);
  const sum = values.reduce((all, value) => all + value, 0);
  if (aggregate === 'sum' && order !== 'ascending' && ties !== 'first' && sum <= 0) return null;
  const value = { sum, max: Math.max(...values), min: Math.min(...values), last: last.value }[aggregate ?? 'sum'];
  const goodness = ({ moves }: Happened): number => {
    if (moves === null || secondaryAttributeKey === undefined) return -Infinity;
    return secondaryOrder === 'ascending' ? 0 - moves : moves;
  };
  const equal = counted.filter((each) => each.value === value);
  const best = Math.max(...equal.map(goodness));
  const reachedBy = {
    sum: counted.findLast((each) => each.value !== 0) ?? counted[0]!,
    last,
    max: equal.find((each) => goodness(each) === best)!,
    min: equal.find((each) => goodness(each) === best)!,
  }[aggregate ?? 'sum'];
  const secondary = secondaryAttributeKey === undefined ? null : reachedBy.moves;
  return { value, secondary, goodness: goodness(reachedBy), reached: ties === 'first' ? reachedBy.atMs : 0 };
}

interface Place {
  userId: string;
  rank: number;
  value: number;
  secondaryScore?: number;
}

const byPlace = (a: Place, b: Place): number => a.rank - b.rank || (a.userId < b.userId ? -1 : 1);

function standings(scoring: Scoring, events: readonly Happened[], max = Infinity): Place[] {
  const sign = scoring.order === 'ascending' ? -1 : 1;
  const scored = [...new Set(events.map(({ user }) => user))].flatMap((userId) => {
    const found = valueOf(
      scoring,
      events.filter(({ user }) => user === userId),
    );
    return found === null ? [] : [{ userId, ...found }];
  });
  type Scored = (typeof scored)[number];
  const isBefore = (a: Scored, b: Scored): boolean => {
    if (a.value !== b.value) return sign * (a.value - b.value) > 0;
    return a.goodness === b.goodness ? a.reached < b.reached : a.goodness > b.goodness;
  };
  return scored
    .map((one) => ({
      userId: one.userId,
      value: one.value,
      ...(one.secondary !== null && { secondaryScore: one.secondary }),
      rank: 1 + scored.filter((other) => isBefore(other, one)).length,
    }))
    .filter(({ rank }) => rank <= max)
    .toSorted(byPlace);
}

const inRun = (events: readonly Happened[], runDay: string): Happened[] =>
  events.filter(({ atMs }) => new Date(atMs).toISOString().slice(0, 7) === runDay.slice(0, 7));

describe.each([
  ['a tenant on one shard', 1],
  ['a tenant spread over four shards', 4],
])('%s', (_, spread) => {
  const clock = new FixedClock(START_MS);
  let events: Happened[] = [];

  const laurel = opened(() =>
    startLaurel({ clock, workers: true, spread, configuration: configuration(configured(() => ({}))) }),
  );
  beforeAll(async () => {
    await filled(laurel);
  });

  const placesOf = async (key: string, runDay: string): Promise<Place[]> => {
    const { status, body } = await laurel.app.get(`/v1/leaderboards/${key}?run=${runDay}&limit=100`);
    expect(status).toBe(200);
    return body.rankings
      .map(({ userId, rank, value, secondaryScore }: Place) => ({
        userId,
        rank,
        value,
        ...(secondaryScore !== undefined && { secondaryScore }),
      }))
      .toSorted(byPlace);
  };

  const eachRun = <T>(of: (key: string, runDay: string) => T): T[] =>
    KEYS.flatMap((key) => RUN_DAYS.map((runDay) => of(key, runDay)));

  /** The places of all boards in both runs. `as`: the board's key. */
  const shown = (as = (key: string): string => key): Promise<[string, string, Place[]][]> =>
    Promise.all(eachRun(async (key, runDay) => [key, runDay, await placesOf(as(key), runDay)]));

  /** The same, as they must be. */
  const wanted = (): [string, string, Place[]][] =>
    eachRun((key, runDay) => [key, runDay, standings(SCORINGS[key]!, inRun(events, runDay), 2)]);

  /**
   * Compares each user's own place, as requests and live streams read it, and the ranking of all without a maximum, where equal
   * scores rank by time.
   */
  async function comparePlaces(): Promise<void> {
    const users = [...new Set(events.map(({ user }) => user))];
    const { rows } = await laurel.pool.query<{ no: number }>('SELECT no FROM tenants');
    const tenantNo = rows[0]!.no;
    const { leaderboards } = (await loadCatalog(laurel.pool, tenantNo))!;
    for (const [key, runDay] of eachRun((...names) => names)) {
      if (SCORINGS[key]!.ties !== 'first') continue;
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
        expect(body.secondaryScore ?? null).toBe(place?.secondaryScore ?? null);
        expect(live[index]).toEqual(place === undefined ? null : { rank: place.rank, value: place.value });
      }
    }
  }

  async function event(user: string, value: number, moves: string | null, occurredMs: number | null): Promise<void> {
    const occurred = {
      ...(moves !== null && { attributes: { moves } }),
      ...(occurredMs !== null && { occurredAt: new Date(occurredMs).toISOString() }),
    };
    const { status, body } = await laurel.app.post('/v1/metrics/m/event', { user: { id: user }, value, ...occurred });
    expect({ status, body }).toMatchObject({ status: 201 });
    const number = moves === null || moves === 'many' ? null : Number(moves);
    const happened = { id: body.eventId, user, value, moves: number, atMs: occurredMs ?? clock.now(), counts: true };
    const before = events;
    events = [...events, happened];
    const runDay = RUN_DAYS.find((day) => inRun([happened], day).length > 0)!;
    for (const key of KEYS) {
      const scoring = SCORINGS[key]!;
      const own = (of: readonly Happened[]) =>
        valueOf(
          scoring,
          inRun(of, runDay).filter((one) => one.user === user),
        );
      const answered = body.leaderboards[key];
      const sumsOf = (of: readonly Happened[]) =>
        inRun(of, runDay)
          .filter((one) => one.user === user && one.counts)
          .reduce((sum, one) => sum + one.value, 0);
      const isChanged =
        key === 'most' ? sumsOf(before) !== sumsOf(events) : !isDeepStrictEqual(own(before), own(events));
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
          ...(key !== 'most' && { full: isFull }),
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
        value: fc.constantFrom(0, 0, 1, 1, 2, 2, 3, -1, -3, 5),
        moves: fc.constantFrom(null, 'many', '7', '7', '7.0', '12', '-0.5'),
        hoursAgo: fc.option(fc.integer({ min: 1, max: 50 })),
      }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('reverse' as const), nth: fc.nat(50) }) },
  );

  test('ranks by highest, lowest and latest value, and equal scores by time, as if late events were in time and reversed ones had never happened', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 15, maxLength: 25 }), async (steps) => {
        clock.set(Math.max(clock.now(), START_MS + 50 * HOUR));
        for (const one of steps) {
          clock.set(Math.min(END_MS, clock.now() + 1_000));
          if (one.do === 'event') {
            const occurredMs = one.hoursAgo === null ? null : clock.now() - one.hoursAgo * HOUR;
            await event(one.user, one.value, one.moves, occurredMs);
          } else if (events.length > 0) await reverse(events[one.nth % events.length]!);
        }
        expect(await shown()).toEqual(wanted());
        await comparePlaces();
      }),
      { numRuns: RUNS, seed: SEED, endOnFailure: true },
    );
  });

  test('a filled leaderboard, a recomputation, a verification and a rebuild find the same scores', async () => {
    const copies = configured((key) => ({ key: `${key}-copy`, name: `${key} copied` }));
    const both = configuration([...configured(() => ({})), ...copies]);
    expect((await laurel.admin.put('/v1/configuration', both)).status).toBe(200);
    await filled(laurel);
    expect(await shown((key) => `${key}-copy`)).toEqual(wanted());
    const { figures } = await plan(laurel, { what: ['boards'] });
    expect(figures).toMatchObject({ gaining: 0, losing: 0, failed: 0 });
    expect(await differencesIn(laurel)).toEqual([]);
    const redis = await laurel.connect();
    const before = await dump(redis);
    await emptyRedis(redis);
    await rebuildServers({ redis, pool: laurel.pool });
    expect(await dump(redis)).toEqual(before);
    redis.disconnect();
    // Reads are refused from when the process notices that Redis was emptied until it accepts the rebuilt one.
    await expect.poll(() => shown()).toEqual(wanted());
    // The reads may have been answered before the process noticed.
    let id = '';
    const change = async (): Promise<number> => {
      const { status, body } = await laurel.admin.put('/v1/spread', { shards: spread === 1 ? 4 : 1 });
      if (status === 202) id = body.id;
      return status;
    };
    await expect.poll(change).toBe(202);
    const job = async (): Promise<unknown> => (await laurel.admin.get(`/v1/jobs/${id}`)).body;
    await expect.poll(job).toMatchObject({ status: 'done', error: null });
    await expect.poll(() => shown()).toEqual(wanted());
  });
});

test('lowest values in groups, for hidden users, at the end of a run, in daily snapshots, and filled from history', async () => {
  const laps = {
    key: 'board',
    name: 'Laps',
    status: 'active',
    rankBy: 'metric',
    metricKey: 'm',
    aggregate: 'min',
    order: 'ascending',
    start: '2031-03-01',
    runUnit: 'day',
    runInterval: 2,
  } as const;
  const boards = await BoardsByTheClock.start('2031-03-01T10:00:00Z', [
    laps,
    { ...laps, key: 'lands', breakdownAttributes: ['land'] },
    { ...laps, key: 'later', status: 'inactive', maxParticipants: 1 },
  ]);
  const hide = (hidden: boolean) => boards.laurel.admin.patch('/v1/users/a', { hidden });
  const lap = (id: string, value: number, land = 'fr') => boards.event({ id, attributes: { land } }, value);
  try {
    await lap('a', 60);
    await lap('b', 0);
    expect((await lap('a', 55)).leaderboards.board).toMatchObject({
      rank: 2,
      previousRank: 2,
      threshold: 0,
      full: false,
    });
    expect((await lap('a', 58)).leaderboards).toEqual({});
    expect(await boards.places('userAttributes=land:fr', 'lands')).toEqual([
      [1, 'b', 0],
      [2, 'a', 55],
    ]);
    // A changed value moves the score, with an event that does not improve it.
    await lap('b', 70, 'de');
    expect(await boards.places('userAttributes=land:fr', 'lands')).toEqual([[1, 'a', 55]]);
    expect(await boards.places('userAttributes=land:de', 'lands')).toEqual([[1, 'b', 0]]);
    await boards.at('2031-03-02T00:00:01Z');
    await boards.due();
    await lap('a', -3);
    expect(await boards.history('a')).toEqual([
      ['2031-03-01', null, 2, null, 55],
      ['2031-03-02', 2, 1, 55, -3],
    ]);
    expect((await hide(true)).status).toBe(200);
    expect(await boards.places()).toEqual([[1, 'b', 0]]);
    expect((await hide(false)).status).toBe(200);
    const ended = [
      [1, 'a', -3],
      [2, 'b', 0],
    ];
    expect(await boards.places()).toEqual(ended);
    await boards.at('2031-03-03T12:02:00Z');
    await boards.due();
    expect(await boards.sets()).toEqual([]);
    expect(await boards.places('run=2031-03-01')).toEqual(ended);
    expect(await boards.places('run=2031-03-01&userId=b')).toEqual([[2, 'b', 0]]);
    await lap('b', 90);
    await boards.change('later', { status: 'active' });
    await boards.fill();
    expect(await boards.places('run=2031-03-01', 'later')).toEqual([[1, 'a', -3]]);
    expect(await boards.places('', 'later')).toEqual([[1, 'b', 90]]);
    const { body } = await boards.laurel.admin.get('/v1/users/b/export');
    expect(body.leaderboards.board).toContainEqual({ firstDay: '2031-03-03', group: '', score: 90 });
    expect(body.finalRanks.map(({ rank, score }: { rank: number; score: number }) => [rank, score])).toContainEqual([
      2, 0,
    ]);
  } finally {
    await boards.laurel.close();
  }
});

test('aggregate and order are for boards of a metric; changing them starts the scores again from history', async () => {
  const board = { key: 'board', name: 'Board', status: 'active', rankBy: 'metric', metricKey: 'm' } as const;
  const boards = await BoardsByTheClock.start('2031-03-01T10:00:00Z', [{ ...board, start: '2031-03-01' }]);
  try {
    const { admin } = boards.laurel;
    for (const [field, value] of [
      ['aggregate', 'max'],
      ['order', 'ascending'],
    ] as const) {
      const { body } = await admin.post('/v1/leaderboards', [
        { key: 's', name: 'S', rankBy: 'streak', [field]: value },
      ]);
      expect(JSON.stringify(body.issues)).toContain(field);
      expect(body.created ?? []).toEqual([]);
    }
    for (const value of [4, 9, 2]) await boards.event('u', value);
    const [{ aggregate, order, id }] = (await admin.get('/v1/leaderboards')).body;
    expect([aggregate, order]).toEqual([undefined, undefined]);
    for (const [changed, score] of [
      [{ aggregate: 'max' }, 9],
      [{ aggregate: 'min', order: 'ascending' }, 2],
      [{ aggregate: 'last' }, 2],
      [{ aggregate: 'sum', order: 'descending' }, 15],
    ] as const) {
      await boards.change('board', { status: 'inactive' });
      await boards.change('board', { status: 'active', ...changed });
      await boards.fill();
      expect([changed, await boards.places()]).toEqual([changed, [[1, 'u', score]]]);
    }
    const [after] = (await admin.get('/v1/leaderboards')).body;
    expect(after).toMatchObject({ id });
    expect(after).not.toHaveProperty('aggregate');
  } finally {
    await boards.laurel.close();
  }
});
