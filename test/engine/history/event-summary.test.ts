import fc from 'fast-check';
import { Redis } from 'ioredis';
import { beforeAll, describe, expect, test } from 'vitest';
import { compileCatalog, type CompiledCatalog } from '../../../src/catalog/compiled-catalog.ts';
import type { EventSummaryEntry, EventSummaryQuery } from '../../../src/domain/history.ts';
import { dateOf, DAY_MS, dayOf } from '../../../src/domain/periods.ts';
import { createHistoryReads, type HistoryReads } from '../../../src/engine/history/history-reads.ts';
import { ReadLimits } from '../../../src/engine/history/read-limits.ts';
import { UserReads } from '../../../src/engine/users/user-reads.ts';
import { checkAnswer } from '../../contract/contract.ts';
import { testDatabase } from '../../postgres/database.ts';
import { CatalogBuilder } from '../catalog-builder.ts';
import { storeUser } from './stored-history.ts';
import { opened } from '../../stack/opened.ts';

let history: HistoryReads;
let compiled: CompiledCatalog;
const catalog = new CatalogBuilder();
const steps = catalog.metric('steps');
const pages = catalog.metric('pages');
const xp = catalog.system('xp');

const database = opened(() => testDatabase());
const redis = opened(() => new Redis(database.stack.redisUrl), 'disconnect');
beforeAll(async () => {
  history = createHistoryReads({ pool: database.pool, limits: new ReadLimits(), users: new UserReads(redis) });
  compiled = compileCatalog(catalog.catalog);
});

const store = (user: Parameters<typeof storeUser>[1]): Promise<void> => storeUser({ pool: database.pool, redis }, user);

const FIRST = dayOf('2025-11-20');
const date = fc.integer({ min: 0, max: 420 }).map((offset) => dateOf(FIRST + offset));
const event = fc.record({
  metricNo: fc.constantFrom(steps.no, pages.no),
  date,
  micros: fc.oneof(
    fc.integer({ min: -5_000_000, max: 5_000_000 }),
    fc.integer({ min: -1e12, max: 1e12 }).map((value) => value * 1000),
  ),
});
const award = fc.record({ systemNo: fc.constant(xp.no), date, awarded: fc.integer({ min: -50, max: 500 }) });
const range = fc
  .record({
    aggregation: fc.constantFrom('daily' as const, 'weekly' as const, 'monthly' as const),
    from: fc.integer({ min: -30, max: 400 }),
    days: fc.integer({ min: 0, max: 400 }),
  })
  .map(({ aggregation, from, days }) => ({
    aggregation,
    startDate: dateOf(FIRST + from),
    endDate: dateOf(FIRST + from + days),
  }));
const weekStart = fc.constantFrom('sunday' as const, 'monday' as const);

/** First day of a day's period, found by walking back day by day. */
function firstOf(day: string, aggregation: string, week: string): string {
  const first = (at: Date): boolean =>
    aggregation === 'daily' ||
    (aggregation === 'weekly' ? at.getUTCDay() === (week === 'sunday' ? 0 : 1) : at.getUTCDate() === 1);
  let at = new Date(`${day}T00:00:00Z`);
  while (!first(at)) at = new Date(at.getTime() - DAY_MS);
  return at.toISOString().slice(0, 10);
}

/** The answer by definition: every day from the range's first period to its last, one after another. */
function model(changes: { date: string; micros: number }[], query: EventSummaryQuery, week: string): unknown[] {
  const { aggregation, startDate, endDate } = query;
  const last = firstOf(endDate, aggregation, week);
  const entries: { date: string; total: bigint; change: bigint }[] = [];
  const before = firstOf(startDate, aggregation, week);
  let total = changes.filter((change) => change.date < before).reduce((sum, { micros }) => sum + BigInt(micros), 0n);
  for (let day = dayOf(before); firstOf(dateOf(day), aggregation, week) <= last; day++) {
    const period = firstOf(dateOf(day), aggregation, week);
    if (entries.at(-1)?.date !== period) entries.push({ date: period, total, change: 0n });
    const entry = entries.at(-1)!;
    for (const change of changes.filter((one) => one.date === dateOf(day))) {
      total += BigInt(change.micros);
      entry.change += BigInt(change.micros);
    }
    entry.total = total;
  }
  const number = (micros: bigint): number => {
    const digits = String(micros < 0n ? -micros : micros).padStart(7, '0');
    const size = Number(`${digits.slice(0, -6)}.${digits.slice(-6)}`);
    return micros < 0n ? -size : size;
  };
  return entries.map((entry) => ({ date: entry.date, total: number(entry.total), change: number(entry.change) }));
}

const entriesOf = async (json: Promise<string>): Promise<EventSummaryEntry[]> =>
  JSON.parse(await json) as EventSummaryEntry[];
const metricEntries = (...call: Parameters<HistoryReads['metricSummary']>): Promise<EventSummaryEntry[]> =>
  entriesOf(history.metricSummary(...call));
const pointsEntries = (...call: Parameters<HistoryReads['pointsSummary']>): Promise<EventSummaryEntry[]> =>
  entriesOf(history.pointsSummary(...call));

let users = 0;

describe('an event-summary', () => {
  test('of a metric follows its definition, regardless of other users and tenants', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(event, { maxLength: 25 }), range, weekStart, async (events, query, week) => {
        const id = `metric-${++users}`;
        await store({ id, events });
        await store({ id: `${id}-other`, events: [{ metricNo: steps.no, date: query.startDate, micros: 7 }] });
        await store({ id, tenantNo: 8, events: [{ metricNo: steps.no, date: query.startDate, micros: 7 }] });
        const current = compileCatalog({
          ...catalog.catalog,
          streaks: { ...catalog.catalog.streaks, weekStart: week },
        });
        const body = await metricEntries(current, { userId: id, key: 'steps', query });
        const own = events.filter(({ metricNo }) => metricNo === steps.no);
        expect(body).toEqual(model(own, query, week));
        checkAnswer({
          surface: 'application',
          method: 'get',
          path: '/v1/users/{id}/metrics/{key}/event-summary',
          status: 200,
          body,
        });
      }),
      { numRuns: 60 },
    );
  });

  test('of a points system follows its definition', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(award, { maxLength: 25 }), range, weekStart, async (awards, query, week) => {
        const id = `points-${++users}`;
        await store({ id, awards });
        const current = compileCatalog({
          ...catalog.catalog,
          streaks: { ...catalog.catalog.streaks, weekStart: week },
        });
        const body = await pointsEntries(current, { userId: id, key: 'xp', query });
        const changes = awards.map(({ date: on, awarded }) => ({ date: on, micros: awarded * 1_000_000 }));
        expect(body).toEqual(model(changes, query, week));
        checkAnswer({
          surface: 'application',
          method: 'get',
          path: '/v1/users/{id}/points/{key}/event-summary',
          status: 200,
          body,
        });
      }),
      { numRuns: 40 },
    );
  });

  test('keeps the decimals that doubles lose', async () => {
    const micros = [100_000, 200_000, 1e12 * 1000, 300_000, -1e12 * 1000];
    await store({
      id: 'decimal',
      events: micros.map((value, at) => ({ metricNo: steps.no, date: dateOf(FIRST + at), micros: value })),
    });
    const query = { aggregation: 'daily' as const, startDate: dateOf(FIRST), endDate: dateOf(FIRST + 4) };
    const body = await metricEntries(compiled, { userId: 'decimal', key: 'steps', query });
    expect(body.map(({ total }) => total)).toEqual([0.1, 0.3, 1e9 + 0.3, 1e9 + 0.6, 0.6]);
  });

  test('has whole periods: a range that begins within a week shows that week like a wider range does', async () => {
    await store({
      id: 'weeks',
      events: [1, 2, 3].map((day) => ({ metricNo: steps.no, date: `2026-02-0${day}`, micros: 1_000_000 })),
    });
    const ask = (startDate: string, endDate: string) =>
      metricEntries(compiled, {
        userId: 'weeks',
        key: 'steps',
        query: { aggregation: 'weekly', startDate, endDate },
      });
    expect(await ask('2026-02-03', '2026-02-03')).toEqual([{ date: '2026-02-01', total: 3, change: 3 }]);
    expect(await ask('2026-01-31', '2026-02-10')).toEqual([
      { date: '2026-01-25', total: 0, change: 0 },
      { date: '2026-02-01', total: 3, change: 3 },
      { date: '2026-02-08', total: 3, change: 0 },
    ]);
  });

  test('is zero for a user whose first event is not stored yet', async () => {
    await store({ id: 'new', events: [{ metricNo: steps.no, date: '2026-01-01', micros: 5_000_000 }] });
    await database.pool.query(`DELETE FROM users WHERE id = 'new'`);
    await database.pool.query(`DELETE FROM events WHERE user_id = 'new'`);
    const query = { aggregation: 'monthly' as const, startDate: '2026-01-01', endDate: '2026-01-01' };
    expect(await metricEntries(compiled, { userId: 'new', key: 'steps', query })).toEqual([
      { date: '2026-01-01', total: 0, change: 0 },
    ]);
  });

  describe('refuses', () => {
    const ask = (over: Partial<EventSummaryQuery> & { userId?: string; key?: string }) => {
      const { userId = 'asker', key = 'steps', ...query } = over;
      const full = { aggregation: 'daily' as const, startDate: '2026-01-01', endDate: '2026-01-31', ...query };
      return metricEntries(compiled, { userId, key, query: full });
    };
    beforeAll(() => store({ id: 'asker' }));

    test.each([
      ['the end before the start', { startDate: '2026-02-01' }, 422],
      ['a start that does not exist', { startDate: '2025-02-30' }, 422],
      ['an end that is not a date', { endDate: 'tomorrow' }, 422],
      ['a year before all calendars', { startDate: '0001-01-01', endDate: '0001-01-02' }, 422],
      ['more than 3,660 days', { startDate: '2016-01-24' }, 422],
      ['an unknown user', { userId: 'nobody' }, 404],
      ['an unknown metric', { key: 'nothing' }, 404],
    ])('%s', async (_, over, status) => {
      await expect(ask(over)).rejects.toMatchObject({ status });
    });

    test('an unknown points system', async () => {
      const query = { aggregation: 'daily' as const, startDate: '2026-01-01', endDate: '2026-01-31' };
      await expect(pointsEntries(compiled, { userId: 'asker', key: 'nothing', query })).rejects.toMatchObject({
        status: 404,
      });
    });

    test('but neither ten years of days, nor centuries of months, nor the ends of the calendar', async () => {
      expect(await ask({ startDate: '2016-01-25' })).toHaveLength(3_660);
      expect(await ask({ aggregation: 'monthly', startDate: '1800-01-01' })).toHaveLength(226 * 12 + 1);
      expect(await ask({ aggregation: 'monthly', startDate: '9999-12-01', endDate: '9999-12-31' })).toHaveLength(1);
      expect(await ask({ aggregation: 'weekly', startDate: '9999-12-01', endDate: '9999-12-31' })).toHaveLength(5);
    });
  });
});
