import { Redis } from 'ioredis';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { compileCatalog, type CompiledCatalog } from '../../../src/catalog/compiled-catalog.ts';
import { systemClock } from '../../../src/clock.ts';
import { Scripts } from '../../../src/engine/scripts.ts';
import { createEventBatcher, type EventBatcher } from '../../../src/engine/events/event-batcher.ts';
import type { ReadyEvent } from '../../../src/engine/events/ready-event.ts';
import { prepareEvent } from '../../../src/engine/events/prepared-event.ts';
import { createEventRanks } from '../../../src/engine/leaderboards/wide-ranks.ts';
import { KeyedIds } from '../../../src/engine/ids.ts';
import { RECORD } from '../../../src/packed/record-fields.ts';
import type { HappenedRecord, ScriptReply } from '../../../src/packed/record.ts';
import { createRedis, redisReady } from '../../../src/redis/client.ts';
import { Gate } from '../../../src/redis/gate.ts';
import { boardKeyPrefix, markKey, userKey } from '../../../src/redis/keys.ts';
import { readRedisProcessId } from '../../../src/redis/server-info.ts';
import { CuttingProxy } from '../../stack/cutting-proxy.ts';
import { testStack } from '../../stack/stack.ts';
import { CatalogBuilder } from '../catalog-builder.ts';
import { onlyPart } from '../../stack/only-part.ts';
import { opened } from '../../stack/opened.ts';

/** Each on its own shard. */
const TENANTS = [1, 2, 3] as const;
const EMPTIED = 2;
const MARKS = Object.fromEntries(TENANTS.map((tenantNo) => [markKey(onlyPart(tenantNo).shard), 'here:7']));
const ids = new KeyedIds(Buffer.alloc(32, 7));

let redis: Redis;
let gate: Gate;
let batcher: EventBatcher;
let calls: ConstructorParameters<typeof Scripts>[0];
let catalogs: ReadonlyMap<number, CompiledCatalog>;

const stack = opened(() => testStack({ database: 'none' }));
/** An unguarded connection. */
const direct = opened(() => new Redis(stack.redisUrl), 'quit');
const proxy = opened(() => new CuttingProxy(stack.redisUrl));
beforeAll(async () => {
  catalogs = new Map(TENANTS.map((tenantNo) => [tenantNo, catalogOf(tenantNo)]));
  redis = createRedis(await proxy.listen());
  redis.on('error', () => undefined);
  await redisReady(redis);
  gate = new Gate(redis);
  redis.on('ready', () => void openAll());
  batcher = createEventBatcher({
    redis,
    clock: systemClock,
    scripts: new Scripts((calls = { redis, clock: systemClock, onWritten: () => undefined, retryMs: 60_000 })),
    findPersisted: async () => new Map(),
    lookUpKeys: () => Promise.reject(new Error('no key is old')),
    addRanks: createEventRanks(redis, pino({ level: 'silent' })),
  });
});
afterAll(async () => {
  redis.disconnect();
});
beforeEach(async () => {
  // A test that failed may have left a shard closed.
  await direct.mset(MARKS);
  await openAll();
  await Promise.all(TENANTS.map((tenantNo) => submit(tenantNo, 'warm-up')));
});

function catalogOf(tenantNo: number): CompiledCatalog {
  const builder = new CatalogBuilder(tenantNo);
  const { id: metricId } = builder.metric('flips');
  builder.leaderboard('all', 'metric', { metricId });
  return compileCatalog(builder.catalog);
}

/** What a guard knows of a Redis that holds everything. */
async function openAll(): Promise<void> {
  const accepted = { storageEpoch: `7/${await readRedisProcessId(direct)}`, mark: 'here:7' };
  const shards = TENANTS.map((tenantNo) => onlyPart(tenantNo).shard);
  gate.accept(gate.beginInspection(shards), new Map(shards.map((shard) => [shard, accepted])));
}

const ready = (tenantNo: number, user: string): ReadyEvent =>
  prepareEvent(catalogs.get(tenantNo)!, 'flips', {
    event: { user: { id: user }, value: 1 },
    idempotencyKey: null,
    byClient: false,
    nowMs: systemClock.now(),
    ids,
  });

const submit = (tenantNo: number, user: string): Promise<ScriptReply> =>
  batcher.submit(tenantNo, ready(tenantNo, user));

const totalIn = (reply: ScriptReply): number => (reply as HappenedRecord)[RECORD.total]![0];

async function commands(): Promise<number> {
  const info = await direct.info('commandstats');
  return Number(/^cmdstat_fcall:calls=(\d+)/m.exec(info)?.[1] ?? 0);
}

/** The outcome of an event of each tenant that is sent in the same turn. */
const ofEach = async (user: string): Promise<(number | string)[]> =>
  (await Promise.allSettled(TENANTS.map((tenantNo) => submit(tenantNo, user)))).map((outcome) =>
    outcome.status === 'fulfilled' ? totalIn(outcome.value) : String((outcome.reason as Error).message).slice(0, 20),
  );

test('events of several tenants share one read and one commit; each is applied, those of a user in their order', async () => {
  const before = await commands();
  const sent = [1, 2, 3, 4].flatMap(() => TENANTS.map((tenantNo) => submit(tenantNo, 'ada')));
  expect((await Promise.all(sent)).map(totalIn)).toEqual([1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4]);
  expect((await commands()) - before).toBe(2);
  for (const tenantNo of TENANTS) expect(await direct.exists(userKey(onlyPart(tenantNo), 'ada'))).toBe(1);
});

test('loads the script into a Redis that does not know it, and applies each part once', async () => {
  await direct.call('FUNCTION', 'FLUSH');
  expect(await ofEach('new library')).toEqual([1, 1, 1]);
  expect(await ofEach('new library')).toEqual([2, 2, 2]);
});

test('only an emptied shard answers 503, and nothing is written to it', async () => {
  calls.retryMs = 1_000;
  onTestFinished(() => void (calls.retryMs = 60_000));
  await direct.del(markKey(EMPTIED));
  expect(await ofEach('bob')).toEqual([1, 'The event store does', 1]);
  expect(await direct.exists(userKey(onlyPart(EMPTIED), 'bob'))).toBe(0);
  expect(TENANTS.map((tenantNo) => gate.isOpen(onlyPart(tenantNo).shard))).toEqual([true, false, true]);
  await direct.set(markKey(EMPTIED), 'here:7');
  await openAll();
  expect(await ofEach('bob')).toEqual([2, 1, 2]);
});

test('a part that waits for its shard delays no other tenant, and is applied by itself', async () => {
  await direct.del(markKey(EMPTIED));
  const waiting = submit(EMPTIED, 'eve');
  expect(await Promise.all([1, 2, 3].map(async () => totalIn(await submit(1, 'eve'))))).toEqual([1, 2, 3]);
  await expect.poll(() => gate.isOpen(EMPTIED), { interval: 1 }).toBe(false);
  expect(totalIn(await submit(3, 'eve'))).toBe(1);
  await direct.set(markKey(EMPTIED), 'here:7');
  await openAll();
  expect(totalIn(await waiting)).toBe(1);
});

test('a failing part does not affect the others', async () => {
  const [board] = await direct.keys(`${boardKeyPrefix(onlyPart(EMPTIED))}*`);
  await direct.rename(board!, `${board!}:away`);
  await direct.set(board!, 'no sorted set');
  expect(await ofEach('carl')).toEqual([1, expect.stringContaining('WRONGTYPE'), 1]);
  await direct.rename(`${board!}:away`, board!);
  expect((await ofEach('dora')).map(Number)).toEqual([1, 1, 1]);
});

test('the answer is lost: the retry of each part finds what was applied of it', async () => {
  proxy.cutNext('replies', undefined, (chunk) => chunk.includes('laurel_commit_') && chunk.includes('lost'));
  expect(await ofEach('lost')).toEqual([1, 1, 1]);
  expect(await ofEach('lost')).toEqual([2, 2, 2]);
});

test('the request is lost: the retry of each part applies it', async () => {
  proxy.cutNext('requests', undefined, (chunk) => chunk.includes('laurel_commit_') && chunk.includes('late'));
  expect(await ofEach('late')).toEqual([1, 1, 1]);
});

test('many events of one tenant do not make the others wait', async () => {
  const before = await commands();
  const answered: string[] = [];
  const noted = async (tenantNo: number, user: string): Promise<void> => {
    await submit(tenantNo, user);
    answered.push(user);
  };
  const flood = Array.from({ length: 500 }, () => noted(1, 'flood'));
  await Promise.all([...flood, noted(2, 'two'), noted(3, 'three')]);
  expect(answered.slice(0, 128)).toEqual(expect.arrayContaining(['two', 'three']));
  // 126 in the first, with the two; then as many as a command takes. Each is a commit; only the first reads its users.
  expect((await commands()) - before).toBe(1 + 4);
});
