import type { Redis } from 'ioredis';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { rebuildServers } from '../../../src/engine/availability/accept.ts';
import { verify } from '../../../src/engine/rebuild/verify.ts';
import { connectRedis } from '../../../src/engine/shards/connect-redis.ts';
import { moveShard, type MoveOptions, type Moved } from '../../../src/engine/shards/move-shard.ts';
import type { MoveProgress } from '../../../src/engine/shards/relocate.ts';
import { readPlacement, type PlacedShard } from '../../../src/postgres/shards/placement.ts';
import { redisReady } from '../../../src/redis/client.ts';
import { byServer, endpointsOf } from '../../../src/redis/endpoints.ts';
import { keptEntriesKey, shardPattern } from '../../../src/redis/keys.ts';
import { startLaurel, type TestLaurel } from '../../laurel.ts';
import { LiveClient } from '../../live/live-client.ts';
import { addTenants } from '../../several-tenants.ts';
import { OwnRedis } from '../rebuild/own-redis.ts';

/** In the order of their numbers, which begin at 1: those of even shards are on "east" at first, the others on "west". */
const TENANTS = ['one', 'two', 'three', 'four'];
/** That of the tenant `one`. */
const SHARD = 1;
const OTHERS = ['two', 'three', 'four'];

/** What the process that does not know a Redis logs. */
const lines: { msg: string; redis?: string }[] = [];

let east: OwnRedis;
let west: OwnRedis;
let laurel: TestLaurel;
let another: Awaited<ReturnType<TestLaurel['another']>>;
/** As a command has it: of a process of its own, which nobody guards. */
let redis: Redis;
const urlOf = (...servers: [string, OwnRedis][]): string =>
  servers.map(([name, { url }]) => `${name}=${url}`).join(',');

async function connected(url: string): Promise<Redis> {
  const connection = await connectRedis(url, laurel.pool);
  for (const server of new Set([connection, ...endpointsOf(connection).map((each) => each.redis)])) {
    server.on('error', () => undefined);
    await redisReady(server);
  }
  return connection;
}

beforeAll(async () => {
  [east, west] = await Promise.all([OwnRedis.start(), OwnRedis.start()]);
  const redisUrl = urlOf(['east', east], ['west', west]);
  const log = pino({ level: 'error' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  laurel = await startLaurel({ redisUrl, workers: true, log });
  another = await laurel.another();
  redis = await connected(redisUrl);
  await addTenants(laurel, TENANTS);
});
afterAll(async () => {
  redis.disconnect();
  await another.close();
  await laurel.close();
  await Promise.all([east.close(), west.close()]);
});

let taken = 0;

async function event(tenantId: string, key?: string, app = laurel.app): Promise<number> {
  const headers = key === undefined ? {} : { 'Idempotency-Key': key };
  const body = { user: { id: 'ada' }, value: 1 };
  const { status, headers: answered } = await app.post('/v1/metrics/flips/event', body, { tenantId, headers });
  if (status === 201) taken += 1;
  if (status === 503) expect(answered.get('retry-after')).not.toBeNull();
  return status;
}

async function batch(tenantId: string): Promise<number> {
  const events = Array.from({ length: 250 }, (_, n) => ({ key: 'flips', user: { id: `user ${n % 50}` }, value: 1 }));
  const { status } = await laurel.admin.post('/v1/metrics/events', events, { tenantId });
  if (status === 202) taken += events.length;
  return status;
}

const read = async (tenantId: string, app = laurel.app): Promise<number> =>
  (await app.get('/v1/users/ada/metrics/flips', { tenantId })).status;

const stored = async (): Promise<number> =>
  (await laurel.pool.query<{ n: number }>('SELECT count(*)::int AS n FROM events')).rows[0]!.n;

const placed = async (): Promise<PlacedShard> => (await readPlacement(laurel.pool))[SHARD]!;

const keysOn = async (server: OwnRedis): Promise<string[]> =>
  (await server.command('KEYS', shardPattern(SHARD))) as string[];

const move = (to: string, options: Partial<MoveOptions> = {}): Promise<Moved> =>
  moveShard({ redis, pool: laurel.pool, shard: SHARD, to, ...options });

/** What `/readyz` answers. */
async function readiness(url: string): Promise<[status: number, body: unknown]> {
  const answer = await fetch(`${url}/readyz`);
  return [answer.status, await answer.json()];
}

/** What the shard is on, and what it is not on. */
async function sides(): Promise<{ here: string; there: string; left: OwnRedis }> {
  const here = (await placed()).endpoint;
  return here === 'east' ? { here, there: 'west', left: east } : { here, there: 'east', left: west };
}

/** All that was accepted is stored, once, and both databases hold the same. */
async function expectWhole(): Promise<void> {
  await expect.poll(stored).toBe(taken);
  const differences: unknown[] = [];
  const fresh = await connected(laurel.redisUrl);
  await verify({ redis: fresh, pool: laurel.pool, onDifference: (each) => void differences.push(each) });
  fresh.disconnect();
  expect(differences).toEqual([]);
}

const untilServed = async (tenantId: string): Promise<void> => expect.poll(() => event(tenantId)).toBe(201);

beforeEach(async () => {
  for (const tenantId of TENANTS) await untilServed(tenantId);
});

test('a shard moves while everybody sends: others see no 503, its own tenants go on where it is, and all is stored once', async () => {
  const { here, there, left } = await sides();
  expect(await event('one', 'a key')).toBe(201);
  let ended = false;
  const traffic = (tenantId: string): Promise<Set<number>> =>
    (async () => {
      const seen = new Set<number>();
      for (let n = 0; !ended; n += 1) {
        seen.add(n % 3 === 0 ? await read(tenantId) : await event(tenantId));
        if (n % 20 === 0) seen.add(await batch(tenantId));
      }
      return seen;
    })();
  const others = OTHERS.map(traffic);
  const own = traffic('one');
  // A caller waits for what becomes of a batch that the move overtakes.
  const events = Array.from({ length: 500 }, (_, n) => ({ key: 'flips', user: { id: `user ${n}` }, value: 1 }));
  const waiting = laurel.admin.post('/v1/metrics/events?wait=true', events, { tenantId: 'one' });
  const steps = new Set<string>();
  const moved = await move(there, { onProgress: ({ step }) => void steps.add(step) });
  ended = true;

  expect(moved.from).toBe(here);
  for (const seen of await Promise.all(others)) expect(seen).toEqual(new Set([200, 201, 202]));
  expect([...(await own)].filter((status) => ![200, 201, 202, 503].includes(status))).toEqual([]);
  const { status, body } = await waiting;
  if (status !== 503) {
    taken += events.length;
    expect([200, 202]).toContain(status);
    if (status === 200) expect(body.results).toHaveLength(events.length);
  }
  expect(await placed()).toEqual({
    shard: SHARD,
    endpoint: there,
    movingTo: null,
    leftOn: null,
    chosen: true,
  });
  expect(await keysOn(left)).toEqual([]);
  // Another frontend follows without a restart, and knows what was used.
  await expect.poll(() => read('one', another.app)).toBe(200);
  expect(await event('one', 'a key', another.app)).toBe(202);
  await expectWhole();
});

test('a listener is told what holds now, and hears what follows', async () => {
  const { there } = await sides();
  const made = await laurel.app.post('/v1/live/tickets', {}, { tenantId: 'one' });
  expect(made.status).toBe(201);
  const client = await LiveClient.open(laurel.adminUrl, { ticket: made.body.ticket as string });
  await client.next('ready');
  await move(there);
  expect((await client.next('reset')).reason).toBe('Redis was rebuilt');
  const heard = { user: { id: 'listened' }, value: 12 };
  await expect
    .poll(async () => (await laurel.app.post('/v1/metrics/flips/event', heard, { tenantId: 'one' })).status)
    .toBe(201);
  taken += 1;
  expect((await client.next('achievement.completed')).user.id).toBe('listened');
  client.close();
});

test('entries that only Redis keeps go along', async () => {
  const { here, there } = await sides();
  const on = (name: string): Redis => endpointsOf(redis).find((each) => each.name === name)!.redis;
  const bytes = Buffer.from([0x91, 0xc4, 0]);
  await on(here).hset(keptEntriesKey(SHARD), '1-0', bytes);
  await move(there);
  expect(await on(there).hgetallBuffer(keptEntriesKey(SHARD))).toEqual({ '1-0': bytes });
  await on(there).del(keptEntriesKey(SHARD));
});

test('a move to where the shard is does nothing, and two moves take turns', async () => {
  const { here, there } = await sides();
  const steps: string[] = [];
  expect(await move(here, { onProgress: ({ step }) => void steps.push(step) })).toEqual({ from: null, shutMs: 0 });
  expect(steps).toEqual([]);
  expect(await event('one')).toBe(201);
  const both = await Promise.all([move(there), move(there)]);
  expect(new Set(both.map(({ from }) => from))).toEqual(new Set([here, null]));
  await untilServed('one');
});

describe('is refused, without one 503', () => {
  test('to a Redis that REDIS_URL does not name', async () => {
    await expect(move('north')).rejects.toThrow('REDIS_URL does not name a Redis "north"; it names "east", "west".');
    expect(await event('one')).toBe(201);
  });

  test('to a Redis that is down', async () => {
    const spare = await OwnRedis.start();
    const wider = await connected(urlOf(['east', east], ['west', west], ['spare', spare]));
    await spare.kill();
    await expect(move('spare', { redis: wider })).rejects.toThrow('The Redis "spare" cannot be used');
    expect(await event('one')).toBe(201);
    await spare.close();
    wider.disconnect();
  });

  test('to another name of the server that it is on', async () => {
    const { here } = await sides();
    const same = await connected(urlOf(['east', east], ['west', west], ['twin', here === 'east' ? east : west]));
    await expect(move('twin', { redis: same })).rejects.toThrow('are one server');
    expect(await event('one')).toBe(201);
    same.disconnect();
  });
});

const STEPS: [MoveProgress['step'], 'here' | 'there'][] = [
  ['clear target', 'here'],
  ['store outbox', 'here'],
  ['carry', 'here'],
  ['users', 'here'],
  ['idempotency keys', 'here'],
  ['place', 'here'],
  ['open', 'there'],
  ['clear source', 'there'],
];

test.each(STEPS)('a process that dies at "%s" loses nothing, and the same again goes on', async (at, where) => {
  const { here, there, left } = await sides();
  expect(await batch('one')).toBe(202);
  await event('one', `before ${at}`);
  // What the Redis that it is to be on holds of an older time is removed, not taken.
  const stale = there === 'east' ? east : west;
  await stale.command('SET', `{s${SHARD}}:${SHARD}:u:stranger`, 'stale');
  const died = move(there, {
    onProgress: ({ step }) => {
      if (step === at) throw new Error('the end of the process');
    },
  });
  await expect(died).rejects.toThrow('the end of the process');
  expect((await placed()).endpoint).toBe(where === 'here' ? here : there);
  // Whoever finds it shut makes it whole where it is placed.
  await untilServed('one');
  expect((await placed()).movingTo).toBeNull();
  expect(await event('one', `before ${at}`)).toBe(202);
  expect(await batch('one')).toBe(202);

  expect((await move(there)).from).toBe(where === 'here' ? here : null);
  await untilServed('one');
  expect(await placed()).toMatchObject({ endpoint: there, leftOn: null });
  expect(await keysOn(left)).toEqual([]);
  await expectWhole();
});

test('who believes that the shard is where it was cannot rebuild it there', async () => {
  const { here, there, left } = await sides();
  const old = await connected(laurel.redisUrl);
  await move(there);
  expect(byServer(old, [SHARD])).toMatchObject([{ name: here }]);
  const rebuilding = rebuildServers({ redis: old, shards: [SHARD], pool: laurel.pool });
  await expect(rebuilding).rejects.toThrow(`Shard ${SHARD} is on "${there}".`);
  expect(await keysOn(left)).toEqual([]);
  expect(await event('one')).toBe(201);
  old.disconnect();
});

test('a process that does not know the Redis answers 503 to the tenants of this shard alone, until it is back', async () => {
  const { here } = await sides();
  const spare = await OwnRedis.start();
  const wideUrl = urlOf(['east', east], ['west', west], ['spare', spare]);
  const wider = await connected(wideUrl);
  await move('spare', { redis: wider });
  expect(await event('one')).toBe(503);
  for (const tenantId of OTHERS) expect([await event(tenantId), await read(tenantId)]).toEqual([201, 200]);
  const notice =
    'Shard 1 is on the Redis "spare", which REDIS_URL does not name here: this process answers its tenants 503 until it is started with it';
  const degraded = { status: 'ready', degraded: ['some tenants'] };
  await expect.poll(() => readiness(laurel.adminUrl)).toEqual([200, { ...degraded, notices: [notice] }]);
  expect(lines.filter(({ msg }) => msg === notice)).toContainEqual(expect.objectContaining({ redis: 'spare' }));
  // The application's port is open to anyone, whom names of servers do not concern.
  expect(await readiness(laurel.appUrl)).toEqual([200, degraded]);
  const knowing = await laurel.another(wideUrl);
  expect(await read('one', knowing.app)).toBe(200);
  expect(await event('one', undefined, knowing.app)).toBe(201);

  await move(here, { redis: wider });
  await untilServed('one');
  expect(await readiness(laurel.adminUrl)).toEqual([200, { status: 'ready' }]);
  await expect.poll(() => read('one', knowing.app)).toBe(200);
  await knowing.close();
  wider.disconnect();
  await spare.close();
  await expectWhole();
});
