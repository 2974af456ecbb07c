/**
 * What the reads of the analytics screens take, of a tenant with N users (default 1,000,000), M events in the last 90 days (default 10,000,000)
 * and two years of daily sums: 20 metrics, 30 achievements, 40 triggers, 30 segments of attributes. Events, users and sums are made by statements.
 * Prints the milliseconds of each read, median, first and slowest of 11, beside the target, and the CPU milliseconds of a read, which other
 * work on the machine hardly changes.
 *
 *   npm run bench:analytics -- [users] [events]
 *
 * Uses a temporary Postgres and a temporary Redis.
 */
import type { Pool } from 'pg';
import { compileCatalog, type CompiledCatalog } from '../src/catalog/compiled-catalog.ts';
import { systemClock } from '../src/clock.ts';
import { COUNTED, mondayOf, SEGMENT, type Counted } from '../src/domain/analytics.ts';
import type { Catalog } from '../src/domain/catalog.ts';
import { DAY_MS, dateOf } from '../src/domain/periods.ts';
import { createAnalyticsReads } from '../src/engine/analytics/analytics-reads.ts';
import { CostlyReads } from '../src/engine/analytics/costly-reads.ts';
import { createGroupComparison } from '../src/engine/analytics/group-comparison.ts';
import { PointsReads } from '../src/engine/points/points-reads.ts';
import { encodeUser } from '../src/rules/user-codec.ts';
import { newUser } from '../src/rules/user.ts';
import { createPool } from '../src/postgres/pool.ts';
import { historyPool } from '../src/processes/frontend-core.ts';
import { treeCpu } from './cpu.ts';
import { median } from './rows.ts';
import { ANALYTICS_READ_MS } from './targets.ts';
import { demoCatalog, temporaryServers } from './temporary-servers.ts';

const [users = 1_000_000, events = 10_000_000] = process.argv.slice(2, 4).map(Number);
const USERS_A_PAGE = 10_000;
const EVENTS_A_PAGE = 500_000;
const EVENT_DAYS = 90;
const SUM_DAYS = 730;
const METRICS = 20;
const ACHIEVEMENTS = 30;
const TRIGGERS = 40;
const LEADERBOARDS = 10;
const VALUES = 30;
const READS = 11;
const CONTROL_SHARE = 0.1;
const today = Math.floor(Date.now() / DAY_MS);

/** A user with a few totals, completions and a streak. */
function stateOf(n: number): Buffer {
  const streak = {
    length: n % 30,
    startDay: today - (n % 30),
    lastPeriod: today - 1,
    extendedMs: (today - 1) * DAY_MS,
    currentPeriod: today,
    sums: new Map(),
  };
  return encodeUser({
    ...newUser((today - (n % SUM_DAYS)) * DAY_MS, { freezes: 0, generation: null }),
    updatedMs: Date.now() - (n % 86_400) * 1_000,
    activeDay: today - (n % 40),
    totals: new Map([
      [1, { whole: n % 1_000, micros: 0, peak: null }],
      [2, { whole: n % 70, micros: 0, peak: null }],
    ]),
    points: new Map([[3, n % 5_000]]),
    completions: new Map([
      [5, Date.now() - n],
      [9, Date.now() - n],
    ]),
    streaks: { daily: streak, weekly: streak, monthly: streak },
    attributes: new Map([[1, `value ${n % VALUES}`]]),
  });
}

async function storeUsers(pool: Pool): Promise<void> {
  for (let from = 0; from < users; from += USERS_A_PAGE) {
    const numbers = Array.from({ length: Math.min(USERS_A_PAGE, users - from) }, (_, index) => from + index);
    await pool.query(
      `INSERT INTO users (tenant_no, id, created, state, attributes, points)
       SELECT 0, 'user-' || n, now() - n % ${SUM_DAYS} * INTERVAL '1 day', state,
              jsonb_build_object('1', 'value ' || n % ${VALUES}), jsonb_build_object('3', n % 5000)
         FROM unnest($1::int[], $2::bytea[]) AS made (n, state)`,
      [numbers, numbers.map(stateOf)],
    );
  }
}

/** The indexes are made afterwards: with random users, each row would otherwise touch another page. */
async function storeEvents(pool: Pool, metricNos: readonly number[]): Promise<void> {
  const { rows } = await pool.query<{ name: string; made: string }>(
    "SELECT indexname AS name, indexdef AS made FROM pg_indexes WHERE tablename = 'events' AND indexname <> 'events_pkey'",
  );
  for (const { name } of rows) await pool.query(`DROP INDEX ${name}`);
  for (let from = 0; from < events; from += EVENTS_A_PAGE)
    await pool.query(
      `INSERT INTO events (id, tenant_no, user_id, metric_no, value, total, at, local_date, attributes)
       SELECT (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '7000' || left(md5(n::text), 12) || '0000')::uuid,
              0, 'user-' || (hashint8(n) & 2147483647) % $1::int, ($3::int[])[1 + n % cardinality($3)], 1 + n % 97, n, at, at::date,
              jsonb_build_object('subject', 'subject ' || n % 7)
         FROM (SELECT n, now() - ($4::bigint - n) * (INTERVAL '${EVENT_DAYS} days' / $4) AS at
                 FROM generate_series($2::bigint, least($2 + ${EVENTS_A_PAGE}, $4) - 1) AS n) AS made`,
      [users, from, metricNos, events],
    );
  for (const { made } of rows) await pool.query(made.replace(' ON ONLY ', ' ON '));
}

/** Sums of every day, segment, subject and part, those of a day together, as the persister adds them. */
async function storeSums(
  pool: Pool,
  { systemNo, attributeNo }: { systemNo: number; attributeNo: number },
): Promise<void> {
  const segments = [
    SEGMENT.everyone,
    SEGMENT.control,
    SEGMENT.others,
    ...Array.from({ length: VALUES }, (_, n) => n + 1),
  ];
  const add = (kind: Counted, of: { segments: number[]; subjects?: number; parts?: number[]; every?: number }) =>
    pool.query(
      `INSERT INTO analytics_days (tenant_no, kind, segment, day, subject, part, events, value)
       SELECT 0, $1, segment, day, subject, part, 1 + (day * 7 + subject) % 5000, day
         FROM unnest($2::int[]) AS segment, generate_series($3::int, $4::int, $5::int) AS day,
              generate_series(1, $6::int) AS subject, unnest($7::int[]) AS part
        ORDER BY day, segment, subject, part`,
      [kind, of.segments, today - SUM_DAYS, today, of.every ?? 1, of.subjects ?? 1, of.parts ?? [0]],
    );
  const everyone = { segments: [SEGMENT.everyone] };
  const mondays = upTo(SUM_DAYS / 7).map((ago) => mondayOf(today) - ago * 7);
  await add(COUNTED.activeOnDay, { segments });
  await add(COUNTED.activeInWeek, { segments, every: 7 });
  await add(COUNTED.activeInMonth, { segments, every: 30 });
  await add(COUNTED.newUsers, { segments });
  await add(COUNTED.retained, { segments, every: 7, parts: mondays });
  await add(COUNTED.events, { segments, subjects: METRICS });
  await add(COUNTED.sizes, { ...everyone, subjects: METRICS, parts: upTo(12) });
  await add(COUNTED.completed, { segments, subjects: ACHIEVEMENTS });
  await add(COUNTED.durations, { ...everyone, subjects: ACHIEVEMENTS, parts: upTo(60), every: 7 });
  await add(COUNTED.awarded, { segments, subjects: TRIGGERS, parts: [systemNo] });
  await add(COUNTED.taken, { segments, subjects: TRIGGERS / 4, parts: [systemNo] });
  await add(COUNTED.streakChanges, { segments, parts: upTo(3) });
  await add(COUNTED.streaksExtended, { segments });
  for (const kind of [COUNTED.placesChanged, COUNTED.placesJoined])
    await add(kind, { ...everyone, subjects: LEADERBOARDS });
  await pool.query(
    `INSERT INTO analytics_values (tenant_no, attribute_no, value, introduced_by, is_shared)
     SELECT 0, $1, 'value ' || n, n, true FROM generate_series(0, $2::int) AS n`,
    [attributeNo, VALUES - 1],
  );
  const { rows } = await pool.query<{ n: number }>('SELECT count(*)::int AS n FROM analytics_days');
  console.log(`${rows[0]!.n.toLocaleString('en')} sums`);
}

const upTo = (most: number): number[] => Array.from({ length: most }, (_, index) => index + 1);

type Reads = [name: string, read: () => Promise<unknown>][];

function readsOf(
  pool: Pool,
  { compiled, points }: { compiled: CompiledCatalog; points: PointsReads },
  days: number,
): Reads {
  const common = {
    pool,
    clock: systemClock,
    caughtUp: { tenant: async () => undefined },
    controlShare: () => CONTROL_SHARE,
    costly: new CostlyReads(),
  };
  const reads = createAnalyticsReads({ ...common, redis: servers.redis, points });
  const groups = createGroupComparison(common);
  const { metrics, achievements, pointsSystems } = compiled.catalog;
  const query = { from: dateOf(today - days + 1), to: dateOf(today) };
  const segment = { ...query, group: 'control' as const };
  const [attribute] = compiled.userAttributes.keys();
  const ofValue = { ...query, userAttributes: [`${attribute}:value 1`] };
  return [
    ['users', () => reads.users(compiled, query)],
    ['users of a segment', () => reads.users(compiled, segment)],
    ['metrics', () => reads.metrics(compiled, { ...query, days: false })],
    ['metric', () => reads.metric(compiled, metrics[0]!.id, query)],
    ['retention', () => groups.retention(compiled, query)],
    ['retention of a value', () => groups.retention(compiled, ofValue)],
    ['engagement', () => groups.engagement(compiled, { ...query, metricId: metrics[0]!.id })],
    ['achievements', () => reads.achievements(compiled, query)],
    ['achievement', () => reads.achievement(compiled, achievements[0]!.id, query)],
    ['points', () => reads.points(compiled, query)],
    ['points system', () => reads.pointsSystem(compiled, pointsSystems[0]!.id, query)],
    ['streaks', () => reads.streaks(compiled, query)],
    ['leaderboards', () => reads.leaderboards(compiled, query)],
  ];
}

async function time(reads: Reads, { days, postmaster }: { days: number; postmaster: number }): Promise<void> {
  for (const [name, read] of reads) {
    const times: number[] = [];
    const before = { own: process.cpuUsage(), postgres: treeCpu(postmaster) };
    for (let n = 0; n < READS; n += 1) {
      const from = performance.now();
      JSON.stringify(await read());
      times.push(performance.now() - from);
    }
    const { user, system } = process.cpuUsage(before.own);
    const cpu = {
      own: (user + system) / 1_000 / READS,
      postgres: ((treeCpu(postmaster) - before.postgres) * 1_000) / READS,
    };
    const [first] = times;
    console.log(
      `${`${name}, ${days} days`.padEnd(30)} median ${median(times).toFixed(0)} ms, first ${first!.toFixed(0)}, slowest ` +
        `${Math.max(...times).toFixed(0)} (target ${ANALYTICS_READ_MS}); CPU: Laurel ${cpu.own.toFixed(0)}, Postgres ${cpu.postgres.toFixed(0)}`,
    );
  }
}

const servers = await temporaryServers({ durable: false });
try {
  const { pool, redis } = servers;
  const catalog: Catalog = await demoCatalog(pool);
  const step = async (name: string, work: () => Promise<void>): Promise<void> => {
    const from = performance.now();
    await work();
    console.log(`${name}: stored in ${((performance.now() - from) / 1000).toFixed(0)} s`);
  };
  await step(`${users.toLocaleString('en')} users`, () => storeUsers(pool));
  await step(`${events.toLocaleString('en')} events`, () =>
    storeEvents(
      pool,
      catalog.metrics.map(({ no }) => no),
    ),
  );
  await step('daily sums', () =>
    storeSums(pool, {
      systemNo: catalog.pointsSystems[0]!.no,
      attributeNo: catalog.attributes.find(({ type }) => type === 'user')!.no,
    }),
  );
  await pool.query('VACUUM ANALYZE');
  const compiled = compileCatalog(catalog);
  const { rows } = await pool.query<{ pid: number }>(
    "SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)::int AS pid",
  );
  const postmaster = rows[0]!.pid;
  const reading = createPool(servers.databaseUrl, historyPool());
  const points = new PointsReads(redis, reading, systemClock);
  for (const days of [30, 366]) await time(readsOf(reading, { compiled, points }, days), { days, postmaster });
  await reading.end();
} finally {
  await servers.close();
}
