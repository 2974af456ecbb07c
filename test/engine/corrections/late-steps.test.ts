import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { MetricGuards } from '../../../src/domain/administration/guards.ts';
import type { BatchMetricEvent } from '../../../src/domain/event.ts';
import { createBatchIntake } from '../../../src/engine/events/batch-intake.ts';
import { createBatchProcessor } from '../../../src/engine/events/batch-processor.ts';
import { packedUser } from '../../../src/redis/parts.ts';
import { FREQUENCIES } from '../../../src/domain/periods.ts';
import { decodeUser } from '../../../src/rules/user-codec.ts';
import type { User } from '../../../src/rules/user.ts';
import { testDatabase } from '../../postgres/database.ts';
import { onlyPart } from '../../stack/only-part.ts';
import type { CatalogBuilder } from '../catalog-builder.ts';
import { type ReadFixture, withReads } from '../read-fixture.ts';
import { opened } from '../../stack/opened.ts';

/** Steps with many late events do the same as steps with one each. */

const RUNS = Number(process.env['RUNS'] ?? 6);
const SEED = Number(process.env['SEED']);
const USERS = ['a', 'b'];
/** Days of March 2026. */
const FIRST_DAY = 2;
const TODAY = 20;

const database = opened(() => testDatabase());

const clamp = { action: 'clamp' } as const;
const guards = fc.constantFrom<MetricGuards | null>(
  null,
  null,
  { maxValue: { limit: 2, ...clamp } },
  { maxTotal: { limit: 20, ...clamp } },
  { maxValue: { limit: 2, action: 'refuse' } },
  { maxValue: { limit: 2, action: 'quarantine' } },
);
/** Rules that depend on the order of events, and on the streaks on the way. */
const rules = fc.record({
  frequency: fc.constantFrom('daily' as const, 'weekly' as const),
  freezes: fc.constantFrom(0, 1, 2),
  threshold: fc.constantFrom(null, 1, 3),
  repeat: fc.constantFrom(null, 'daily' as const, 'weekly' as const),
  guards,
  /** Events cost points, so that some are refused. */
  blocks: fc.boolean(),
});
type Rules = typeof rules extends fc.Arbitrary<infer T> ? T : never;

function build(b: CatalogBuilder, { frequency, freezes, threshold, repeat, guards: limits, blocks }: Rules): void {
  const m = b.metric('m', limits);
  const n = b.metric('n');
  b.streaks({
    enabled: true,
    frequency,
    metrics: threshold === null ? [] : [{ metricId: m.id, threshold }],
    freezes: { ...b.catalog.streaks.freezes, enabled: freezes > 0, initial: freezes, max: 3 },
  });
  const three = b.achievement('streak', { streakLength: 3 });
  b.achievement('metric', { metricId: m.id, metricValue: 9 });
  b.achievement('achievement', { achievementIds: [three.id] });
  b.achievement('metric', { metricId: m.id, metricValue: 3, repeat });
  const xp = b.system('xp');
  b.trigger(xp, 'metric', { metricId: m.id, metricThreshold: 2, points: 5 });
  b.trigger(xp, 'streak', { streakLength: 2, points: 10 });
  if (blocks) b.trigger(xp, 'metric', { metricId: n.id, metricThreshold: 1, points: -9, blockIfOutOfPoints: true });
  b.leaderboard('weekly', 'metric', { metricId: m.id, runUnit: 'day', runInterval: 7, start: '2026-02-02' });
  b.leaderboard('all', 'metric', { metricId: m.id, start: '2026-02-02' });
}

const hour = fc.integer({ min: FIRST_DAY * 24, max: TODAY * 24 + 11 });
const atHour = (of: number): string => new Date(Date.UTC(2026, 2, 1) + (of - 24) * 3_600_000).toISOString();
const seldom = <T>(...values: T[]): fc.Arbitrary<T | null> =>
  fc.oneof({ weight: 9, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: fc.constantFrom(...values) });
const event = fc.record({
  user: fc.constantFrom(...USERS),
  key: fc.constantFrom('m', 'm', 'm', 'n'),
  value: fc.constantFrom(1, 1, 2, 3, -1),
  hour,
});
const live = fc.array(event, { maxLength: 15 });
const batch = fc.array(
  fc.record({
    event,
    /** An event without a time of its own. */
    isLive: seldom(true),
    tz: seldom('UTC', 'Asia/Tokyo', 'America/Los_Angeles'),
    idempotencyKey: seldom('k1', 'k2'),
  }),
  { minLength: 4, maxLength: 30 },
);

/** Takes the batch with steps of some size, and returns everything that it led to; and the number of steps. */
async function outcome(
  history: {
    rules: Rules;
    live: { user: string; key: string; value: number; hour: number }[];
    sent: BatchMetricEvent[];
  },
  lateEventsAStep: number,
): Promise<{ all: unknown; steps: number }> {
  let result: { all: unknown; steps: number } | undefined;
  // The IDs of events with keys are those of the run before.
  await database.pool.query('TRUNCATE used_keys, quarantine');
  await withReads(
    database,
    (b) => build(b, history.rules),
    async (reads) => {
      for (const { user, key, value, hour: at } of history.live.toSorted((one, other) => one.hour - other.hour)) {
        reads.at(atHour(at));
        await reads.laurel.event(key, user, value).catch(() => undefined);
      }
      await reads.persist();
      reads.at(atHour(TODAY * 24 + 12));
      const { results, steps } = await take(reads, history.sent, lateEventsAStep);
      result = { steps, all: { results, stored: await stored(reads) } };
    },
  );
  return result!;
}

async function take(reads: ReadFixture, events: BatchMetricEvent[], lateEventsAStep: number) {
  const { redis, clock, ids, late } = reads.laurel;
  const catalogs = { of: () => reads.compiled, atLeast: async () => undefined };
  const { tenantNo } = reads.compiled.catalog;
  const withAddress = async (): Promise<Set<string>> => new Set();
  const intake = createBatchIntake({
    redis,
    catalogs,
    clock,
    ids,
    withAddress,
    onAccepted: () => undefined,
    overloaded: () => false,
  });
  let steps = 0;
  const processor = createBatchProcessor({
    redis,
    catalogs,
    ids,
    lookUpKeys: () => Promise.reject(new Error('no key is old')),
    late,
    lateEventsAStep,
    onWritten: () => undefined,
    onRefused: () => undefined,
    onMoment: async (moment) => {
      if (moment === 'sent') return;
      steps += 1;
      await reads.persist();
    },
  });
  let draining: Promise<void> | undefined;
  const results = await intake.accept(tenantNo, events, {
    wait: true,
    onQueued: () => void (draining = processor.drain(onlyPart(tenantNo).shard)),
  });
  await draining;
  return { results: results!.map((each) => ({ ...each, eventId: undefined })), steps };
}

/** A user without the fields of a streak that has ended, and without how long the process knew the zone's offset. */
function comparable(user: User): object {
  for (const frequency of FREQUENCIES)
    if (user.streaks[frequency].length === 0) user.streaks[frequency].lastPeriod = null;
  return { ...user, offsetUntilMs: null };
}

/**
 * States and rows, without IDs that differ from run to run, and without changes of streaks that later events of the batch corrected
 * again. The time of a change is that of its last correction: a step corrects all changes since its first day together.
 */
async function stored(reads: ReadFixture): Promise<unknown> {
  const { laurel, pool } = reads;
  const rows = async (statement: string): Promise<unknown> => (await pool.query(statement)).rows;
  return {
    users: await Promise.all(
      USERS.map(async (user) => {
        const packed = await packedUser(laurel.redis, reads.compiled.catalog.tenantNo, user);
        return packed === null ? null : comparable(decodeUser(packed));
      }),
    ),
    changes: await rows(
      `SELECT user_id, frequency, kind, from_day, to_day, length FROM streak_changes WHERE superseded_by IS NULL
        ORDER BY user_id, frequency, from_day, to_day, kind`,
    ),
    events: await rows(
      'SELECT user_id, metric_no, value, total, at, local_date, occurred_at, streak FROM events ORDER BY user_id, at, metric_no, total, occurred_at',
    ),
    awards: await rows(
      'SELECT user_id, trigger_no, awarded, total, at, local_date FROM awards ORDER BY user_id, at, total, trigger_no',
    ),
    completions: await rows(
      'SELECT user_id, achievement_no, period, at FROM completions ORDER BY user_id, achievement_no, period',
    ),
  };
}

test('a step with many late events does the same as many steps with one each', async () => {
  const seen = { steps: 0, single: 0 };
  await fc.assert(
    fc.asyncProperty(rules, live, batch, async (configured, history, drawn) => {
      const sent = drawn.map(({ event: { user, key, value, hour: at }, isLive, tz, idempotencyKey }) => ({
        key,
        user: { id: user, ...(tz !== null && { tz }) },
        value,
        ...(isLive === null && { occurredAt: atHour(at) }),
        ...(idempotencyKey !== null && { idempotencyKey }),
      }));
      const single = await outcome({ rules: configured, live: history, sent }, 1);
      const many = await outcome({ rules: configured, live: history, sent }, 50);
      expect(many.all).toEqual(single.all);
      seen.steps += many.steps;
      seen.single += single.steps;
    }),
    { numRuns: RUNS, seed: SEED, endOnFailure: true },
  );
  // By how much depends on chance: batches without late events in a row have no larger steps.
  expect(seen.steps).toBeLessThan(seen.single);
}, 600_000);
