import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FixedClock } from '../../../src/clock.ts';
import type { Configuration } from '../../../src/domain/configuration.ts';
import { rebuildServers } from '../../../src/engine/availability/accept.ts';
import { verify } from '../../../src/engine/rebuild/verify.ts';
import { startLaurel, type TestLaurel } from '../../laurel.ts';
import { emptyRedis } from '../../stack/all-servers.ts';
import { dump } from '../rebuild/dump.ts';
import { filled, plan } from '../recomputations/recompute-laurel.ts';

/** A sample on every run; `npm run test:long` is a thorough one. */
const RUNS = Number(process.env['RUNS'] ?? 5);
const SEED = Number(process.env['SEED']);

const HOUR = 3_600_000;
const START_MS = Date.parse('2031-01-30T00:00:00Z');
/** When the first run has ended and is not final. */
const END_MS = Date.parse('2031-02-01T11:00:00Z');
const RUN_DAYS = ['2031-01-01', '2031-02-01'] as const;

type Board = NonNullable<Configuration['leaderboards']>[number];
type Scoring = Pick<Board, 'aggregate' | 'order'>;

const SCORINGS: Record<string, Scoring> = {
  most: {},
  fewest: { order: 'ascending' },
  highest: { aggregate: 'max' },
  lowest: { aggregate: 'min', order: 'ascending' },
  strongest: { aggregate: 'max', order: 'ascending' },
  weakest: { aggregate: 'min' },
  latest: { aggregate: 'last' },
  'latest-lowest': { aggregate: 'last', order: 'ascending' },
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

/** A user's value on a board by the events that count; `null` if there is none. */
function valueOf({ aggregate, order }: Scoring, events: readonly Happened[]): number | null {
  const values = events
    .filter(({ counts }) => counts)
    .toSorted((a, b) => a.atMs - b.atMs)
    .map(({ value }) => value);
  const sum = values.reduce((all, value) => all + value, 0);
  if ((aggregate ?? 'sum') === 'sum' && order !== 'ascending') return sum > 0 ? sum : null;
  if (values.length === 0) return null;
  return { sum, max: Math.max(...values), min: Math.min(...values), last: values.at(-1)! }[aggregate ?? 'sum'];
}

interface Place {
  userId: string;
  rank: number;
  value: number;
}

function standings(scoring: Scoring, events: readonly Happened[], max = Infinity): Place[] {
  const sign = scoring.order === 'ascending' ? -1 : 1;
  const scored = [...new Set(events.map(({ user }) => user))].flatMap((userId) => {
    const value = valueOf(
      scoring,
      events.filter(({ user }) => user === userId),
    );
    return value === null ? [] : [{ userId, value }];
  });
  return scored
    .map((one) => ({ ...one, rank: 1 + scored.filter(({ value }) => sign * (value - one.value) > 0).length }))
    .filter(({ rank }) => rank <= max)
    .toSorted((a, b) => a.rank - b.rank || (a.userId < b.userId ? -1 : 1));
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
      const isChanged = key === 'most' ? sumsOf(before) !== sumsOf(events) : own(before) !== own(events);
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
        user: fc.constantFrom('a', 'b', 'c'),
        value: fc.constantFrom(0, 1, 2, 2, 3, -1, -3, 5),
        hoursAgo: fc.option(fc.integer({ min: 1, max: 50 })),
      }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('reverse' as const), nth: fc.nat(50) }) },
  );

  test('ranks by highest, lowest and latest value, as if late events were in time and reversed ones had never happened', async () => {
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
    const differences: unknown[] = [];
    await verify({ redis: laurel.redis, pool: laurel.pool, onDifference: (found) => differences.push(found) });
    expect(differences).toEqual([]);
    const redis = await laurel.connect();
    const before = await dump(redis);
    await emptyRedis(redis);
    await rebuildServers({ redis, pool: laurel.pool });
    expect(await dump(redis)).toEqual(before);
    redis.disconnect();
    await expect.poll(async () => (await fetch(`${laurel.adminUrl}/readyz`)).status).toBe(200);
    expect(await shown()).toEqual(wanted());
  });
});
