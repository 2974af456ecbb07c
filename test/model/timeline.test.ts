import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import type { TimelineEntry, TimelineQuery } from '../../src/domain/administration/timeline.ts';
import { createTimeline } from '../../src/engine/timeline/timeline.ts';
import { CatalogBuilder } from '../engine/catalog-builder.ts';
import { TestUsers } from '../engine/users/test-users.ts';
import { testDatabase } from '../postgres/database.ts';
import { micros, sum as exactSum } from './decimals.ts';
import { catalogOf } from './drawn-catalog.ts';
import { randomCatalog } from './random-catalog.ts';
import { randomHistory } from './random-history.ts';
import { SideBySide } from './side-by-side.ts';
import { stored } from './stored.ts';
import { pointsOf, totalOf } from './user.ts';
import { opened } from '../stack/opened.ts';

/** A sample on every run; `npm run test:long` is a thorough one. */
const RUNS = Number(process.env['RUNS'] ?? 10);

const database = opened(() => testDatabase());
const engine = opened(() => new TestUsers(database.stack.redisUrl, new CatalogBuilder().catalog));
beforeAll(async () => {
  await engine.ready();
});

/** All of a timeline, page by page. */
async function timelineOf(userId: string, asked: Pick<TimelineQuery, 'limit' | 'order'>): Promise<TimelineEntry[]> {
  const timeline = createTimeline({ pool: database.pool, users: engine.users });
  const entries: TimelineEntry[] = [];
  for (let cursor: string | null = null; ;) {
    const query: TimelineQuery = { ...asked, ...(cursor !== null && { cursor }) };
    const page = await timeline.page(engine.compiled(), userId, query);
    entries.push(...page.entries);
    cursor = page.nextCursor;
    if (cursor === null) return entries;
  }
}

const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0);

let tenantNo = 500;

/** Without rewards for final ranks: those need a catalog in Postgres, and the entries would have names instead of numbers. */
const catalogs = randomCatalog.map((drawn) => ({ ...drawn, ranks: null }));

test('a timeline accounts for all totals, points and achievements', { timeout: 300_000 + RUNS * 5_000 }, () =>
  fc.assert(
    fc.asyncProperty(catalogs, randomHistory, fc.integer({ min: 1, max: 9 }), async (drawn, history, limit) => {
      const { start, homes, steps } = history;
      const startMs = Date.parse(start);
      const catalog = catalogOf(drawn, (tenantNo += 1), startMs);
      const both = await SideBySide.start(engine, database.pool, { catalog, startMs, homes });
      for (const step of steps) await both.take(step);
      await stored(engine.redis, database.pool, tenantNo);
      for (const user of both.users()) {
        const entries = await timelineOf(user.id, { limit: 100, order: 'desc' });
        expect(await timelineOf(user.id, { limit, order: 'desc' })).toEqual(entries);
        expect((await timelineOf(user.id, { limit, order: 'asc' })).toReversed()).toEqual(entries);
        expect(new Set(entries.map(({ position }) => position)).size).toBe(entries.length);
        const caused = entries.flatMap((entry) => ('caused' in entry ? entry.caused : []));
        // The catalog is not in Postgres here, except points systems: the others are named by their numbers.
        for (const { id, no } of catalog.metrics) {
          const values = entries.flatMap((entry) =>
            entry.kind === 'event' && entry.metric.name === String(no) ? [entry.value] : [],
          );
          expect(exactSum(values.map(micros))).toBe(totalOf(user, id));
        }
        for (const { id } of catalog.pointsSystems) {
          const awarded = caused.flatMap((each) =>
            each.kind === 'award' && each.pointsSystem.id === id ? [each.awarded] : [],
          );
          expect(sum(awarded)).toBe(pointsOf(user, id));
        }
        const completed = [...entries, ...caused].flatMap((each) =>
          each.kind === 'achievement' ? [Number(each.achievement.name)] : [],
        );
        const expected = catalog.achievements
          .filter(({ id }) => user.completed.has(id))
          .flatMap(({ id, no }) => Array.from({ length: user.quests.get(id)?.size ?? 1 }, () => no));
        expect(completed.toSorted((a, b) => a - b)).toEqual(expected.toSorted((a, b) => a - b));
      }
    }),
    { numRuns: RUNS },
  ),
);
