import { beforeAll, beforeEach, expect, test } from 'vitest';
import { REBUILD_LOCK } from '../../../src/engine/availability/accept.ts';
import { rebuildServers } from '../../../src/engine/availability/accept.ts';
import { readCursors } from '../../../src/postgres/shards.ts';
import { verify } from '../../../src/engine/rebuild/verify.ts';
import { exclusively } from '../../../src/postgres/transaction.ts';
import { redisReady } from '../../../src/redis/client.ts';
import { connectionOf, endpointsOf } from '../../../src/redis/endpoints.ts';
import type { Accepted } from '../../../src/domain/shard-state.ts';
import { Gate, gateOf, RedisNotReady } from '../../../src/redis/gate.ts';
import {
  announcedKey,
  listenedKey,
  listeningUsersKey,
  markKey,
  outboxKey,
  shardPattern,
  userKey,
} from '../../../src/redis/keys.ts';
import { readRedisProcessId } from '../../../src/redis/server-info.ts';
import { Script } from '../../../src/redis/script.ts';
import { startLaurel, type TestLaurel } from '../../laurel.ts';
import { addTenants } from '../../several-tenants.ts';
import { dump } from './dump.ts';
import { onlyPart } from '../../stack/only-part.ts';
import { opened } from '../../stack/opened.ts';

/** Tenants in the order of their numbers, which begin at 1: so one on each of the shards 1 to 4. */
const TENANTS = ['a', 'b', 'c', 'd'];
/** Where the tenant `b` lives. */
const LOST = 2;

/** An unguarded connection. */
let redis: TestLaurel['redis'];

const laurel = opened(() => startLaurel({ workers: true }));
beforeAll(async () => {
  redis = await laurel.connect();
  await redisReady(redis);
  await addTenants(laurel, TENANTS);
});

const event = async (tenantId: string, user: string): Promise<number> =>
  (await laurel.app.post('/v1/metrics/flips/event', { user: { id: user }, value: 1 }, { tenantId })).status;

const read = async (tenantId: string): Promise<number> =>
  (await laurel.app.get('/v1/users/ada/metrics/flips', { tenantId })).status;

async function loseShard(): Promise<void> {
  await expect.poll(() => redis.xlen(outboxKey(LOST))).toBe(0);
  await redis.del(await redis.keys(shardPattern(LOST)));
}

const storageEpochs = async (): Promise<string[]> =>
  (await readCursors(laurel.pool)).cursors.map(({ storageEpoch }) => storageEpoch);

const isOpen = (): boolean => endpointsOf(laurel.redis).every(({ redis: server }) => gateOf(server)!.isWhole);

/** The contents of a shard in Redis, without what depends on when it is read. */
async function ofShard(shard: number): Promise<Record<string, unknown>> {
  const all = Object.entries(await dump(redis));
  return Object.fromEntries(all.filter(([key]) => key.startsWith(`{s${shard}}:${shard}:`)));
}

beforeEach(async () => {
  for (const tenantId of TENANTS) for (const user of ['ada', 'eve']) await event(tenantId, user);
});

test('rebuilds only the shard that loses all its keys, while the other tenants see no 503', async () => {
  await expect.poll(() => redis.xlen(outboxKey(LOST))).toBe(0);
  const before = { held: await ofShard(LOST), epochs: await storageEpochs() };
  let ended = false;
  const others = TENANTS.filter((tenantId) => tenantId !== 'b').map(async (tenantId) => {
    const seen = new Set<number>();
    for (let n = 0; !ended; n += 1) {
      const status = n % 3 === 0 ? await read(tenantId) : await event(tenantId, `user ${n % 5}`);
      seen.add(status);
    }
    return seen;
  });

  try {
    // No process can rebuild it while this holds the lock.
    await exclusively(laurel.pool, REBUILD_LOCK, async () => {
      await loseShard();
      expect(await event('b', 'ada')).toBe(503);
      expect(await read('b')).toBe(503);
      expect((await laurel.admin.get('/v1/organisation')).status).toBe(200);
      expect((await fetch(`${laurel.appUrl}/readyz`)).status).toBe(200);
    });
    await expect.poll(() => event('b', 'new')).toBe(201);
  } finally {
    ended = true;
  }

  for (const seen of await Promise.all(others)) expect(seen).toEqual(new Set([200, 201]));
  expect(await ofShard(LOST)).toMatchObject(withoutCounters(before.held));
  const after = await storageEpochs();
  expect(after.map((epoch, shard) => epoch !== before.epochs[shard])).toEqual(after.map((_, shard) => shard === LOST));
});

/** Everything but the sets and counters that the new user changed. */
const withoutCounters = (held: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(held).filter(([key]) => key.includes(':u:') || key.includes(':i:')));

test('an interrupted rebuild of one shard leaves only that one closed, and the next one completes it', async () => {
  await expect.poll(() => redis.xlen(outboxKey(LOST))).toBe(0);
  const before = { held: await ofShard(LOST), epochs: await storageEpochs() };
  const dying = rebuildServers({
    redis,
    pool: laurel.pool,
    shards: [LOST],
    onProgress: async ({ step }) => {
      if (step !== 'users') return;
      expect(await redis.exists(markKey(LOST - 1))).toBe(1);
      expect(await redis.exists(markKey(LOST))).toBe(0);
      throw new Error('the end of the process');
    },
  });
  await expect(dying).rejects.toThrow('the end of the process');
  await expect.poll(async () => isOpen() && (await storageEpochs())[LOST] !== before.epochs[LOST]).toBe(true);
  await expect.poll(() => ofShard(LOST)).toEqual(before.held);
  expect((await storageEpochs()).toSpliced(LOST, 1)).toEqual(before.epochs.toSpliced(LOST, 1));
});

test('compares one shard, and rebuilds it by hand', async () => {
  await expect.poll(isOpen).toBe(true);
  for (const tenantNo of [1, LOST]) await redis.del(userKey(onlyPart(tenantNo), 'ada'));
  const differences = async (shards: number[]): Promise<string[]> => {
    const found = new Set<string>();
    await verify({ redis, pool: laurel.pool, shards, onDifference: ({ key }) => void found.add(key) });
    return [...found];
  };
  expect(await differences([3, 4])).toEqual([]);
  expect(await differences([LOST])).toContain(userKey(onlyPart(LOST), 'ada'));
  const rebuilds = async () => (await laurel.admin.get('/v1/system')).body.rebuilds;
  const shown = new Map<string, unknown>();
  const onProgress = async ({ step }: { step: string }): Promise<void> => void shown.set(step, await rebuilds());
  await rebuildServers({ redis, pool: laurel.pool, shards: [LOST], onProgress });
  expect(shown.get('users')).toEqual([
    expect.objectContaining({ shards: [LOST], step: 'users', progress: { done: expect.any(Number), total: null } }),
  ]);
  expect(await rebuilds()).toEqual([]);
  expect(await differences([LOST])).toEqual([]);
  expect(await differences([1])).toContain(userKey(onlyPart(1), 'ada'));
  await rebuildServers({ redis, pool: laurel.pool, shards: [1] });
  expect(await differences([0, 1, 2])).toEqual([]);
});

test.each([
  [
    'another process of Redis',
    (accepted: Accepted) => ({ ...accepted, storageEpoch: accepted.storageEpoch.replace(/\/./, '/f0') }),
  ],
  ['another epoch', (accepted: Accepted) => ({ ...accepted, mark: `${accepted.mark}0` })],
])('writes nothing to a shard that is believed to be of %s', async (_, otherwise) => {
  const connection = await laurel.connect();
  await redisReady(connection);
  const server = connectionOf(connection, 3);
  const gate = new Gate(server);
  const accepted = { storageEpoch: `7/${await readRedisProcessId(server)}`, mark: (await redis.get(markKey(3)))! };
  const keys = [listenedKey(3), outboxKey(3), announcedKey(3), listeningUsersKey(onlyPart(3))];
  const write = (): Promise<unknown> =>
    new Script('listen_live').run(server, keys, [1_000, 'nobody', 3, '{"users":[]}']);
  await redis.del(listenedKey(3));
  gate.accept(gate.beginInspection([3]), new Map([[3, otherwise(accepted)]]));
  await expect(write()).rejects.toBeInstanceOf(RedisNotReady);
  expect(await redis.exists(listenedKey(3))).toBe(0);
  expect(gate.isOpen(3)).toBe(false);
  gate.accept(gate.beginInspection([3]), new Map([[3, accepted]]));
  await write();
  expect(await redis.exists(listenedKey(3))).toBe(1);
  connection.disconnect();
});
