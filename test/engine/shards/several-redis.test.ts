import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectRedis } from '../../../src/engine/shards/connect-redis.ts';
import { rebuildServers } from '../../../src/engine/availability/accept.ts';
import { verify } from '../../../src/engine/rebuild/verify.ts';
import { redisReady } from '../../../src/redis/client.ts';
import { byServer, endpointsOf } from '../../../src/redis/endpoints.ts';
import { SHARD_NUMBERS, shardPattern } from '../../../src/redis/keys.ts';
import { startLaurel, type TestLaurel } from '../../laurel.ts';
import { addTenants } from '../../several-tenants.ts';
import { OwnRedis } from '../rebuild/own-redis.ts';

/** In the order of their numbers, which begin at 1: those of even shards are on the first server, the others on the second. */
const TENANTS = ['one', 'two', 'three', 'four'];
const ON_FIRST = ['two', 'four'];
const ON_SECOND = ['one', 'three'];

let first: OwnRedis;
let second: OwnRedis;
let laurel: TestLaurel;
let taken: number;

beforeAll(async () => {
  [first, second] = await Promise.all([OwnRedis.start(), OwnRedis.start()]);
  laurel = await startLaurel({ redisUrl: `${first.url},west=${second.url}`, workers: true });
  await addTenants(laurel, TENANTS);
  taken = 0;
});
afterAll(async () => {
  await laurel.close();
  await Promise.all([first.close(), second.close()]);
});

async function event(tenantId: string): Promise<number> {
  const { status } = await laurel.app.post('/v1/metrics/flips/event', { user: { id: 'ada' }, value: 1 }, { tenantId });
  if (status === 201) taken += 1;
  return status;
}

const read = async (tenantId: string): Promise<number> =>
  (await laurel.app.get('/v1/users/ada/metrics/flips', { tenantId })).status;

const stored = async (): Promise<number> =>
  (await laurel.pool.query<{ n: number }>('SELECT count(*)::int AS n FROM events')).rows[0]!.n;

/** The answers to some rounds of events and reads. */
async function answers(tenants: readonly string[], rounds: number): Promise<Set<number>> {
  const seen = new Set<number>();
  for (let n = 0; n < rounds; n += 1)
    for (const tenantId of tenants) {
      seen.add(await event(tenantId));
      seen.add(await read(tenantId));
    }
  return seen;
}

const READ_AND_WRITTEN = new Set([200, 201]);

test('each tenant lives on the server on which its shard is placed, and Redis as a whole holds what Postgres does', async () => {
  expect(await answers(TENANTS, 3)).toEqual(READ_AND_WRITTEN);
  const { rows } = await laurel.pool.query<{ endpoint: string }>('SELECT endpoint FROM shards ORDER BY shard');
  const name = `127.0.0.1:${first.port}`;
  expect(rows.map(({ endpoint }) => endpoint)).toEqual(SHARD_NUMBERS.map((shard) => [name, 'west'][shard % 2]));
  const held = await Promise.all(
    endpointsOf(laurel.redis).map(async ({ redis }) =>
      Promise.all([1, 2, 3, 4].map(async (shard) => (await redis.keys(shardPattern(shard))).length > 0)),
    ),
  );
  expect(held).toEqual([
    [false, true, false, true],
    [true, false, true, false],
  ]);
  await expect.poll(stored).toBe(taken);
  const differences: unknown[] = [];
  await verify({ redis: laurel.redis, pool: laurel.pool, onDifference: (each) => void differences.push(each) });
  expect(differences).toEqual([]);
});

describe.each([
  ['second', ON_FIRST, ON_SECOND],
  ['first', ON_SECOND, ON_FIRST],
])('while the %s is away', (which, served, away) => {
  test('tenants of the other see no 503, and what they send is stored', async () => {
    const server = which === 'first' ? first : second;
    const before = taken;
    await server.kill();
    expect(await answers(served, 20)).toEqual(READ_AND_WRITTEN);
    for (const tenantId of away) expect(await event(tenantId)).toBe(503);
    expect((await fetch(`${laurel.appUrl}/readyz`)).status).toBe(200);
    expect(taken).toBe(before + 20 * served.length);
    // A batch is found without its wake-up.
    const batch = Array.from({ length: 5 }, () => ({ key: 'flips', user: { id: 'eve' }, value: 1 }));
    expect((await laurel.admin.post('/v1/metrics/events', batch, { tenantId: served[0]! })).status).toBe(202);
    taken += batch.length;
    await expect.poll(stored).toBe(taken);

    // What it does not hold can be compared, and rebuilt by hand.
    const shards = which === 'first' ? [1, 3] : [2, 4];
    const redis = await connectRedis(laurel.redisUrl, laurel.pool);
    for (const each of [redis, ...endpointsOf(redis).map((endpoint) => endpoint.redis)])
      each.on('error', () => undefined);
    for (const { redis: well } of byServer(redis, shards)) await redisReady(well);
    await verify({ redis, pool: laurel.pool, shards, onDifference: ({ key }) => expect.fail(key) });
    await rebuildServers({ redis, pool: laurel.pool, shards });
    redis.disconnect();
    for (const tenantId of served) await expect.poll(() => event(tenantId)).toBe(201);
    await expect.poll(stored).toBe(taken);

    // It comes back empty: its shards alone are rebuilt.
    server.lose();
    await server.start();
    for (const tenantId of away) await expect.poll(() => event(tenantId)).toBe(201);
    expect(await answers(TENANTS, 1)).toEqual(READ_AND_WRITTEN);
    await expect.poll(stored).toBe(taken);
  });
});

test('a server that hangs holds up its own tenants alone', async () => {
  first.pause();
  const waiting = event('two');
  let status: number | null = null;
  void waiting.then((answered) => (status = answered));
  while (status === null) expect(await answers(ON_SECOND, 1)).toEqual(READ_AND_WRITTEN);
  expect(status).toBe(503);
  expect(await answers(ON_SECOND, 5)).toEqual(READ_AND_WRITTEN);
  first.resume();
  await expect.poll(() => event('two')).toBe(201);
});

describe('a REDIS_URL that does not fit where the shards are is refused', () => {
  const connect = async (url: string): Promise<never> => {
    const redis = await connectRedis(url, laurel.pool);
    await redisReady(redis);
    redis.disconnect();
    throw new Error('taken');
  };

  test('one that names one of the servers only', async () => {
    await expect(connect(second.url)).rejects.toThrow(
      `"127.0.0.1:${first.port}" (0 to 254 in steps of 2) and "west" (1 to 255 in steps of 2), which REDIS_URL does not name`,
    );
  });

  test('one that names a server twice', async () => {
    await expect(connect(`${first.url},${first.url}`)).rejects.toThrow(`names "127.0.0.1:${first.port}" twice`);
    const same = `${first.url},west=redis://localhost:${first.port}`;
    await expect(laurel.another(same)).rejects.toThrow('are one server');
  });

  test('one whose entries were exchanged, and nothing is rebuilt then', async () => {
    const epoch = async (): Promise<unknown> => (await laurel.pool.query('SELECT epoch FROM redis_epoch')).rows;
    const before = await epoch();
    const exchanged = `127.0.0.1:${first.port}=${second.url},west=${first.url}`;
    await expect(laurel.another(exchanged)).rejects.toThrow('which are placed on another');
    expect(await epoch()).toEqual(before);
  });
});
