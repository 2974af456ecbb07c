import { afterAll, beforeAll, expect, test } from 'vitest';
import { pointsSummary } from '../../../src/operations/points.ts';
import { testDatabase, type TestDatabase } from '../../postgres/database.ts';
import { fitting, withReads } from '../read-fixture.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.close());

test('the ranges follow the current maximum up and down, and count everybody once', () =>
  withReads(
    database,
    (b) => {
      const system = b.system('xp');
      b.trigger(system, 'metric', { metricId: b.metric('earn').id, metricThreshold: 1, points: 1 });
      b.trigger(system, 'metric', { metricId: b.metric('spend').id, metricThreshold: 1, points: -1 });
    },
    async (reads) => {
      const held = async () => {
        const ranges = fitting(pointsSummary, await reads.points.summary(reads.compiled, 'xp', undefined));
        expect(ranges).toHaveLength(11);
        return ranges.filter(({ users }) => users > 0).map(({ from, to, users }) => [from, to, users]);
      };
      expect(await held()).toEqual([]);
      await reads.laurel.event('earn', 'a', 10);
      await reads.laurel.event('earn', 'b', 0);
      expect(await held()).toEqual([
        [0, 0, 1],
        [10, 10, 1],
      ]);
      await reads.laurel.event('earn', 'c', 1001);
      expect(await held()).toEqual([
        [0, 0, 1],
        [1, 1000, 1],
        [1001, 2000, 1],
      ]);
      await reads.laurel.event('spend', 'c', 1000);
      expect(await held()).toEqual([
        [0, 0, 1],
        [1, 1, 1],
        [10, 10, 1],
      ]);
    },
  ));
