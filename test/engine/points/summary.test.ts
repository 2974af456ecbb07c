import { expect, test } from 'vitest';
import { pointsSummary } from '../../../src/operations/points.ts';
import { testDatabase } from '../../postgres/database.ts';
import { pointsKey } from '../../../src/redis/keys.ts';
import { fitting, withReads } from '../read-fixture.ts';
import { totalMoves } from '../../../src/redis/lua-library.ts';
import { onlyPart } from '../../stack/only-part.ts';
import { opened } from '../../stack/opened.ts';

const database = opened(() => testDatabase());

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

test('counting ends although the maximum grows with each query, and the last range has the users above it', () =>
  withReads(
    database,
    (b) => {
      const system = b.system('xp');
      b.trigger(system, 'metric', { metricId: b.metric('earn').id, metricThreshold: 1, points: 1 });
    },
    async (reads) => {
      const { redis } = reads.laurel;
      await reads.laurel.event('earn', 'a', 5);
      const key = pointsKey(onlyPart(0), reads.compiled.pointsSystems.get('xp')!.no);
      const send = redis.sendCommand.bind(redis);
      let queries = 0;
      // Before each query, the user has ten times the points.
      redis.sendCommand = (command, ...more) => {
        if (command.name.toLowerCase() === 'fcall') {
          queries += 1;
          const total = 5 * 10 ** Math.min(queries, 12);
          for (const [field, added] of totalMoves(total / 10, total)) void redis.hincrby(key, field, added);
        }
        return send(command, ...more);
      };
      const ranges = await reads.points.summary(reads.compiled, 'xp', undefined);
      redis.sendCommand = send;
      expect(queries).toBe(5);
      expect(ranges.reduce((sum, { users }) => sum + users, 0)).toBe(1);
      expect(ranges.at(-1)!.users).toBe(1);
    },
  ));
