import { pino } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { RedisGuard } from '../../../src/engine/availability/redis-guard.ts';
import { createPool } from '../../../src/postgres/pool.ts';
import { createRedis, redisReady } from '../../../src/redis/client.ts';
import { markKey } from '../../../src/redis/keys.ts';
import { testStack, type TestStack } from '../../stack/stack.ts';
import { OwnRedis } from '../rebuild/own-redis.ts';

const SHARDS = [0, 1, 2, 3];

let own: OwnRedis;
let stack: TestStack;
let redis: ReturnType<typeof createRedis>;
let pool: ReturnType<typeof createPool>;
let guard: RedisGuard;
let lines: { msg: string; reasons?: object; why?: string }[];

beforeEach(async () => {
  lines = [];
  [own, stack] = await Promise.all([OwnRedis.start(), testStack({ redis: false, database: 'migrated' })]);
  pool = createPool(stack.databaseUrl, { max: 4 });
  redis = createRedis(own.url);
  redis.on('error', () => undefined);
  await redisReady(redis);
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
  guard = new RedisGuard({ redis, pool, log, shards: SHARDS });
  await guard.start();
});

afterEach(async () => {
  await guard.close();
  redis.disconnect();
  await pool.end();
  await Promise.all([own.close(), stack.close()]);
});

const states = (): string[] =>
  SHARDS.map((shard) => {
    const state = guard.gate.state(shard);
    return state.name === 'closed' ? state.reason : state.name;
  });

const ALL_OPEN = SHARDS.map(() => 'open');

test('logs shards that stay closed with the reasons; they open when the reasons end, without a rebuild', async () => {
  await expect.poll(states).toEqual(ALL_OPEN);
  await own.command('REPLICAOF', '127.0.0.1', '1');
  // Shards that were slow to open after the start have other reasons.
  await expect
    .poll(() => lines.filter(({ msg }) => msg.startsWith('shards are closed')).map(({ reasons }) => reasons))
    .toContainEqual({ 'served elsewhere': '0 to 3' });
  expect(lines.some(({ msg }) => msg.includes('is a replica'))).toBe(true);

  await own.command('REPLICAOF', 'NO', 'ONE');
  await expect.poll(states).toEqual(ALL_OPEN);
  expect(guard.rebuilds).toBe(0);
});

test('one shard closes, is rebuilt and opens, while the others stay open', async () => {
  await expect.poll(states).toEqual(ALL_OPEN);
  const seen = new Set<string>();
  guard.gate.listen(() => {
    seen.add(states().join());
  });
  await redis.del(markKey(2));
  await expect.poll(() => guard.rebuilds).toBe(1);
  await expect.poll(states).toEqual(ALL_OPEN);
  expect(lines.find(({ why }) => why !== undefined)?.why).toBe('it is empty or was not rebuilt to the end');
  expect([...seen].toSorted()).toEqual(['open,open,changed,open', 'open,open,open,open']);
});

test('a contradiction closes a shard until an inspection accepts it, even if Redis returns to its earlier state', async () => {
  await expect.poll(states).toEqual(ALL_OPEN);
  const accepted = guard.gate.accepted[1];
  guard.gate.contradicted(1);
  expect(states()).toEqual(['open', 'contradiction', 'open', 'open']);
  await expect.poll(states).toEqual(ALL_OPEN);
  // Only an inspection creates a new object; a shard that opens without one keeps the old object.
  expect(guard.gate.accepted[1]).toEqual(accepted);
  expect(guard.gate.accepted[1]).not.toBe(accepted);
});
