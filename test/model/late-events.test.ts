import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import type { Catalog } from '../../src/domain/catalog.ts';
import { type Decimal, decimalText } from '../../src/domain/decimal.ts';
import { NO_PAST } from '../engine/leaderboards/no-past.ts';
import { createLeaderboardReads } from '../../src/engine/leaderboards/reads/leaderboard-reads.ts';
import { Persister } from '../../src/engine/persist/persister.ts';
import { createStreakAdmin } from '../../src/engine/streaks/streak-admin.ts';
import { createStreakReads } from '../../src/engine/streaks/streak-reads.ts';
import { CatalogBuilder } from '../engine/catalog-builder.ts';
import { TestUsers } from '../engine/users/test-users.ts';
import { testDatabase } from '../postgres/database.ts';
import { dayOf } from '../../src/domain/periods.ts';
import { finalMs } from '../../src/domain/runs.ts';
import { dayIn } from '../../src/domain/zone.ts';
import { onlyTenant } from './only-tenant.ts';
import { catalogOf } from './drawn-catalog.ts';
import { METRICS, randomCatalog, weekdays } from './random-catalog.ts';
import { STARTS, ZONES } from './random-history.ts';
import { onlyPart } from '../stack/only-part.ts';
import { opened } from '../stack/opened.ts';

/** A sample on every run; `npm run test:long` is a thorough one. */
const RUNS = Number(process.env['RUNS'] ?? 20);
const SEED = Number(process.env['SEED']);
const HOUR = 3_600_000;
const DAYS = 30;
const END_MS = (DAYS + 1) * 24 * HOUR;
const USERS = ['a', 'b'] as const;

const database = opened(() => testDatabase());
const engine = opened(() => new TestUsers(database.stack.redisUrl, new CatalogBuilder().catalog, database.pool));
beforeAll(async () => {
  await engine.ready();
});

const atMs = fc.integer({ min: 1, max: DAYS * 24 * HOUR });
const event = fc.record({
  do: fc.constant('event' as const),
  atMs,
  user: fc.constantFrom(...USERS),
  metric: fc.constantFrom(...METRICS),
  value: fc.constantFrom(1, 1, 2, 5, 0.5, 9.9),
  /** How late it arrives, or never before the end. */
  delayMs: fc.oneof(
    { weight: 3, arbitrary: fc.constant(0) },
    { weight: 2, arbitrary: fc.integer({ min: 1, max: 72 * HOUR }) },
    { weight: 1, arbitrary: fc.integer({ min: HOUR, max: DAYS * 24 * HOUR }) },
  ),
});
const call = fc.record({
  do: fc.constantFrom('freeze' as const, 'pause' as const, 'pause' as const),
  atMs,
  user: fc.constantFrom(...USERS),
  from: fc.nat(4),
  days: fc.nat(12),
});
const history = fc.record({
  start: fc.constantFrom(...STARTS),
  zones: fc.record({ a: fc.constantFrom(...ZONES), b: fc.constantFrom(...ZONES) }),
  own: fc.option(weekdays),
  drawn: randomCatalog.map(({ streaks, boards }) => ({
    streaks,
    boards: boards.map((board) => ({
      ...board,
      split: false,
      by: board.by === 'points' ? ('metric' as const) : board.by,
    })),
    achievements: [],
    systems: [],
    ranks: null,
  })),
  events: fc.array(event, { minLength: 1, maxLength: 30, size: 'max' }),
  calls: fc.array(call, { maxLength: 4 }),
});
type Drawn = typeof history extends fc.Arbitrary<infer T> ? T : never;

/** The result of a history. */
interface Readings {
  /** For each freeze given by an administrator: whether the user had room for it. */
  freezesGiven: boolean[];
  users: Record<string, { streak: { extended: string | null } }>;
  boards: Record<string, unknown>;
}

const sums = (table: ReadonlyMap<number, Decimal>): [no: number, sum: string][] =>
  Array.from(table, ([no, sum]): [number, string] => [no, decimalText(sum)]).toSorted(([a], [b]) => a - b);

const arrivesLate = ({ atMs: when, delayMs }: Drawn['events'][number]): number => Math.min(when + delayMs, END_MS);

let tenantNo = 5_000;

/** Plays a history, and reads the result. `arrives`: when an event arrives, after the history's start. */
async function taken(drawn: Drawn, arrives: (event: Drawn['events'][number]) => number): Promise<Readings> {
  const { redis, users, clock, scripts } = engine;
  const { pool } = database;
  const startMs = Date.parse(drawn.start);
  const catalog: Catalog = catalogOf(drawn.drawn, (tenantNo += 1), startMs);
  engine.catalog = catalog;
  await onlyTenant(pool, catalog);
  const persister = new Persister({ redis, pool });
  const persist = (): Promise<unknown> => persister.drain(onlyPart(catalog.tenantNo).shard);
  const admin = createStreakAdmin({
    pool,
    users,
    clock,
    recordAudit: async () => undefined,
    scripts,
    isStored: async () => false,
    persisted: async () => void (await persist()),
  });
  const freezesGiven: boolean[] = [];
  clock.set(startMs);
  for (const id of USERS) {
    await engine.profiles.upsert(engine.compiled(), id, { tz: drawn.zones[id] });
    if (drawn.own !== null && catalog.streaks.personalization && catalog.streaks.frequency === 'daily')
      await engine.profiles.updatePreferences(engine.compiled(), id, { streak: { daysOff: drawn.own } });
  }
  const steps = [
    ...drawn.events.map((one) => ({ ...one, comesMs: arrives(one) })),
    ...drawn.calls.map((one) => ({ ...one, comesMs: one.atMs })),
  ].sort((a, b) => a.comesMs - b.comesMs);
  for (const step of steps) {
    clock.set(startMs + step.comesMs);
    if (step.do === 'event') {
      const occurredAt = new Date(startMs + step.atMs).toISOString();
      const isLate = step.comesMs > step.atMs;
      if (isLate) await persist();
      await engine.event(step.metric, step.user, step.value, isLate ? { occurredAt } : {});
    } else if (step.do === 'freeze') {
      const answer = await admin.giveFreeze(engine.compiled(), step.user, { by: { who: 'test' } });
      freezesGiven.push(typeof answer === 'object' && 'userId' in answer);
    } else if (step.do === 'pause') {
      const today = Math.floor((startMs + step.comesMs) / 86_400_000) + 2 + step.from;
      const day = (n: number): string => new Date(n * 86_400_000).toISOString().slice(0, 10);
      const pause = { userId: step.user, start: day(today), end: day(today + step.days) };
      await admin.pause(engine.compiled(), pause, { by: { who: 'test' } });
    }
  }
  clock.set(startMs + END_MS);
  await persist();
  return { ...(await readings(catalog)), freezesGiven };
}

/** Keys of leaderboards that end before a late event arrives: final ranks never change. */
function finalBoards({ drawn, events, start }: Drawn): string[] {
  const startMs = Date.parse(start);
  const lastMs = Math.max(...events.filter(({ delayMs }) => delayMs > 0).map(arrivesLate));
  return catalogOf(drawn, tenantNo, startMs)
    .leaderboards.filter(({ end }) => end !== null && finalMs(dayOf(end)) <= startMs + lastMs)
    .map(({ key }) => key);
}

/**
 * Results of late events, with `extended` as in time where it may be later: an event of the user arrived on the local day on
 * which it happened, behind a later one that had met the period by then. Only if metrics must reach thresholds: otherwise
 * the first event of positive value meets the period in any order.
 */
function asInTime({ events, start, zones, drawn }: Drawn, late: Readings, inTime: Readings): Readings {
  const startMs = Date.parse(start);
  const adapted = structuredClone(late);
  if (drawn.streaks.thresholds.every((threshold) => threshold === null)) return adapted;
  for (const id of USERS) {
    const [streak, expected] = [adapted.users[id]!.streak, inTime.users[id]!.streak];
    if (streak.extended === null || expected.extended === null) continue;
    const [metMs, expectedMs] = [streak.extended, expected.extended].map((at) => Date.parse(at) - startMs);
    const localDay = (ms: number): number => dayIn(zones[id] || null, startMs + ms);
    const own = events.filter(({ user }) => user === id);
    const meeting = own.find(({ atMs: when }) => when === metMs);
    const isDeclared =
      meeting !== undefined &&
      expectedMs! < metMs! &&
      own.some(
        (one) =>
          one.atMs <= expectedMs! &&
          localDay(one.atMs) === localDay(arrivesLate(one)) &&
          arrivesLate(one) >= arrivesLate(meeting),
      );
    if (isDeclared) streak.extended = expected.extended;
  }
  return adapted;
}

async function readings(catalog: Catalog): Promise<Omit<Readings, 'freezesGiven'>> {
  const { redis, users, clock } = engine;
  const compiled = engine.compiled();
  const streaks = createStreakReads(redis, database.pool, users, clock);
  const boards = createLeaderboardReads({ redis, users, clock, past: NO_PAST });
  const read: Omit<Readings, 'freezesGiven'> = { users: {}, boards: {} };
  for (const id of USERS) {
    const { totals, counts } = await users.state(catalog.tenantNo, id);
    const { pauses, ...streak } = await streaks.ofUser(compiled, id, 40);
    const held = {
      totals: sums(totals),
      counts: sums(counts),
      streak,
      pauses: pauses.map(({ start, end }) => [start, end]),
    };
    read.users[id] = held;
  }
  for (const { key, status, rankBy } of catalog.leaderboards) {
    if (status !== 'active' || rankBy === 'streak') continue;
    const page = await boards.rankings(compiled, key, { offset: 0, limit: 10 });
    read.boards[key] = page.rankings.map(({ userId, rank, value }) => [userId, rank, value]);
  }
  return read;
}

test(
  'the same events, sent when they happen or late and out of order, give the same result',
  { timeout: 300_000 + RUNS * 10_000 },
  () =>
    fc.assert(
      fc.asyncProperty(history, async (drawn) => {
        const inTime = await taken(drawn, ({ atMs: when }) => when);
        const late = await taken(drawn, arrivesLate);
        // A freeze refused because the user had enough is not given when a late event shows that one was used before.
        fc.pre(late.freezesGiven.join() === inTime.freezesGiven.join());
        for (const key of finalBoards(drawn)) {
          delete late.boards[key];
          delete inTime.boards[key];
        }
        expect(asInTime(drawn, late, inTime)).toEqual(inTime);
      }),
      { numRuns: Math.ceil(RUNS / 5), seed: SEED, endOnFailure: true },
    ),
);
