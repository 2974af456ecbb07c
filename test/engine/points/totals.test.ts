import { expect, test } from 'vitest';
import { countersKey, pointsKey } from '../../../src/redis/keys.ts';
import { totalFields } from '../../../src/redis/lua-library.ts';
import { Script } from '../../../src/redis/script.ts';
import { testStack } from '../../stack/stack.ts';
import { withEngineOn, type TestEngine } from '../events/engine.ts';
import { onlyPart } from '../../stack/only-part.ts';
import { opened } from '../../stack/opened.ts';

const stack = opened(() => testStack({ database: 'none' }));

const withPoints = (run: (laurel: TestEngine, key: string) => Promise<void>): Promise<void> =>
  withEngineOn(() => stack.redisUrl)(
    (builder) => {
      const system = builder.system('xp');
      builder.trigger(system, 'metric', { metricId: builder.metric('earn').id, metricThreshold: 1, points: 1 });
      builder.trigger(system, 'metric', { metricId: builder.metric('spend').id, metricThreshold: 1, points: -1 });
    },
    (laurel) => run(laurel, pointsKey(onlyPart(0), laurel.catalog.pointsSystems[0]!.no)),
  );

const script = new Script('count_points');

/** Statistics from the counts and from the totals of all users: holders, the maximum, then the number in each range. */
async function compare(laurel: TestEngine, key: string, totals: readonly number[]): Promise<void> {
  const holders = totals.filter((total) => total > 0);
  const greatest = Math.max(0, ...holders);
  const bounds = [
    1,
    2,
    31,
    32,
    33,
    1023,
    1024,
    1025,
    ...totals.slice(-5),
    ...totals.slice(-5).map((total) => total + 1),
  ];
  const ranges = [
    [0, Infinity],
    [-5, 3],
    [1e300, Infinity],
    [40, 1e300],
    ...bounds.flatMap((from) => bounds.map((to) => [from, to])),
  ] as [number, number][];
  const args = ranges.flat();
  const [users, ...counted] = (await script.run(laurel.redis, [countersKey(onlyPart(0)), key], args)) as number[];
  expect(users).toBe(totals.length);
  expect(counted).toEqual([
    holders.length,
    greatest,
    ...ranges.map(([from, to]) => holders.filter((total) => total >= from && total <= to).length),
  ]);
  // The counts that a rebuild would load.
  const fields = new Map<string, number>();
  for (const field of holders.flatMap(totalFields)) fields.set(field, (fields.get(field) ?? 0) + 1);
  const held = Object.entries(await laurel.redis.hgetall(key)).map(([field, count]) => [field, Number(count)] as const);
  expect(new Map(held)).toEqual(fields);
}

test('counts in any range as many users as have a total in it, however the totals move', () =>
  withPoints(async (laurel, key) => {
    const totals: number[] = [];
    await compare(laurel, key, totals);
    const of = (n: number): number => totals[n] ?? 0;
    const act = async (n: number, change: number): Promise<void> => {
      await laurel.event(change > 0 ? 'earn' : 'spend', `user ${n}`, Math.abs(change));
      totals[n] = Math.max(0, of(n) + change);
    };
    for (let n = 0; n < 60; n += 1) await act(n, (n * 7) % 130 || -1);
    await compare(laurel, key, totals);
    // Few fields, but no linear search for any of them.
    expect(await laurel.redis.object('ENCODING', key)).toBe('hashtable');
    for (let n = 0; n < 400; n += 1) await act(60 + n, Math.floor(32 ** ((n % 80) / 10)) + n);
    for (let n = 0; n < 3; n += 1) await act(460 + n, 1e12 - n);
    await compare(laurel, key, totals);
    for (let n = 0; n < totals.length; n += 3) await act(n, n % 2 === 0 ? -of(n) || -1 : 5);
    await compare(laurel, key, totals);
  }));

test('counts many changes of one call like those of many calls; users without points leave nothing', () =>
  withPoints(async (laurel, key) => {
    await Promise.all(Array.from({ length: 40 }, (_, n) => laurel.event('earn', `user ${n % 8}`, 10)));
    await compare(
      laurel,
      key,
      Array.from({ length: 8 }, () => 50),
    );
    await Promise.all(Array.from({ length: 8 }, (_, n) => laurel.event('spend', `user ${n}`, 60)));
    expect(await laurel.redis.exists(key)).toBe(0);
  }));
