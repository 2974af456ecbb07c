import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { boardKeyPrefix, pointsKey } from '../../src/redis/keys.ts';
import { TOTALS } from '../../src/redis/lua-library.ts';
import { forgetOtherScripts, Script } from '../../src/redis/script.ts';
import { withEngineOn } from '../engine/events/engine.ts';
import { testStack } from '../stack/stack.ts';
import { onlyPart } from '../stack/only-part.ts';
import { opened } from '../stack/opened.ts';

const stack = opened(() => testStack({ database: 'none' }));
const redis = opened(() => new Redis(stack.redisUrl), 'quit');

const libraries = async (): Promise<string[]> =>
  ((await redis.call('FUNCTION', 'LIST', 'LIBRARYNAME', 'laurel_*')) as string[][]).map(([, name]) => name!);

test('loads a script if Redis does not know it, also for many calls at once', async () => {
  const { name } = new Script('find_aged_keys');
  expect(await libraries()).toEqual([]);
  const calls = Array.from({ length: 5 }, () => new Script('find_aged_keys').run(redis, [], ['0']));
  expect(await Promise.all(calls)).toEqual(Array.from({ length: 5 }, () => []));
  expect(await libraries()).toContain(name);
});

test('concurrent calls that find a script missing load it once, each time that it is gone', async () => {
  const script = new Script('find_aged_keys');
  for (let round = 0; round < 2; round += 1) {
    await redis.call('FUNCTION', 'FLUSH');
    await redis.config('RESETSTAT');
    await Promise.all(Array.from({ length: 50 }, () => script.run(redis, [], ['0'])));
    expect(await redis.info('commandstats')).toMatch(/cmdstat_function\|load:calls=1,/);
  }
});

test('removes scripts of other versions, and keeps those of this one and others’ libraries', async () => {
  const other = 'laurel_commit_0123456789ab';
  const text = (name: string): string => `#!lua name=${name}\nredis.register_function('${name}', function() end)`;
  await redis.call('FUNCTION', 'LOAD', 'REPLACE', text(other));
  await redis.call('FUNCTION', 'LOAD', 'REPLACE', text('somebody_elses'));
  const { name } = new Script('find_aged_keys');
  await new Script('find_aged_keys').run(redis, [], ['0']);
  await forgetOtherScripts(redis);
  expect(await libraries()).toContain(name);
  expect(await libraries()).not.toContain(other);
  expect(await redis.call('FUNCTION', 'LIST', 'LIBRARYNAME', 'somebody_elses')).toHaveLength(1);
  await redis.call('FUNCTION', 'DELETE', 'somebody_elses');
});

test('a call that fails while it writes leaves nothing to the next one', () =>
  withEngineOn(() => stack.redisUrl)(
    (builder) => {
      const metricId = builder.metric('steps').id;
      builder.trigger(builder.system('xp'), 'metric', { metricId, metricThreshold: 1 });
      builder.leaderboard('board', 'metric', { metricId, maxParticipants: null });
    },
    async (laurel) => {
      await laurel.event('steps', 'first', 1);
      const [board] = await redis.keys(`${boardKeyPrefix(onlyPart(0))}*`);
      await redis.rename(board!, `${board!}:away`);
      await redis.set(board!, 'no sorted set');
      await expect(laurel.event('steps', 'second', 1)).rejects.toThrow('WRONGTYPE');
      await redis.rename(`${board!}:away`, board!);
      await laurel.event('steps', 'third', 1);
      const points = pointsKey(onlyPart(0), laurel.catalog.pointsSystems[0]!.no);
      expect(await redis.hget(points, TOTALS.holders)).toBe('2');
      expect(await redis.zrange(board!, '0', '-1')).toEqual(['first', 'third']);
    },
  ));
