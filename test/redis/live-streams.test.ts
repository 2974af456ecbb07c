import { beforeEach, describe, expect, test } from 'vitest';
import type { Notification } from '../../src/domain/notifications/notification.ts';
import {
  announcedKey,
  handedUpToKey,
  listenedKey,
  listeningUsersKey,
  outboxKey,
  recentKey,
} from '../../src/redis/keys.ts';
import {
  announceLive,
  gapAfter,
  type Listened,
  listenedTenants,
  listenLive,
  type LivePosition,
  MOST_LISTENING_USERS,
  parseAnnounced,
  readLive,
} from '../../src/redis/live-streams.ts';
import { OUTBOX_START, RECENT_BYTES, trimOutbox } from '../../src/redis/outbox.ts';
import { connectedRedis } from '../stack/connected-redis.ts';
import { everybodyOf } from './everybody-of.ts';
import { onlyPart } from '../stack/only-part.ts';

const redis = await connectedRedis();
const START: LivePosition = { outbox: OUTBOX_START, announced: OUTBOX_START };
const SHARD = 1;
/** Two tenants of the shard. */
const ONE = 1;
const OTHER = 9;

beforeEach(async () => {
  await redis.flushall();
});

const add = async (tenantNo: number, records = 'records'): Promise<string> =>
  (await redis.xadd(outboxKey(SHARD), '*', 't', tenantNo, 'r', records, 'u', 'zoë', 's', Buffer.from([0xff, 0])))!;

async function readAll(after: LivePosition): Promise<string[]> {
  const { entries } = await readLive(redis, { shard: SHARD, after, count: 10_000 });
  return entries.map(([id]) => String(id));
}

/** Why a listener that had read everything until `at` cannot continue at the time `now`, in the nth of its tenants. */
const gap = (at: { last: LivePosition; nowMs: number }, now: Listened, n = 0): string | null =>
  gapAfter({ position: at.last, asOfMs: at.nowMs }, now.nowMs, now.since[n]!);

const notification = (tenantNo: number, source: string): Notification => ({
  type: 'points.boost_started',
  tenantNo,
  userId: null,
  atMs: 1,
  source,
  about: {},
  payload: '{"type":"points.boost_started"}',
});

describe('whose streams have listeners', () => {
  const users = (...ids: string[]) => ({ tenantNo: ONE, users: ids, ranks: false });
  const listened = async (): Promise<unknown> => (await listenedTenants(redis)).get(ONE);

  test('single users, those of all listeners', async () => {
    expect(await listened()).toBe(undefined);
    await listenLive(redis, SHARD, [users('ada', 'zoë')]);
    await listenLive(redis, SHARD, [users('bo'), ...everybodyOf(OTHER)]);
    expect(await listened()).toEqual(new Set(['ada', 'bo', 'zoë']));
  });

  test('everybody, while one listener says so, with any others', async () => {
    await listenLive(redis, SHARD, everybodyOf(ONE));
    await listenLive(redis, SHARD, [users('ada')]);
    expect(await listened()).toBe(null);
  });

  test('everybody, if more users listen than are distinguished', async () => {
    const many = Array.from({ length: MOST_LISTENING_USERS }, (_, n) => `user ${n}`);
    await listenLive(redis, SHARD, [users(...many)]);
    expect(await listened()).toEqual(new Set(many));
    await listenLive(redis, SHARD, [users('ada')]);
    expect(await listened()).toBe(null);
  });

  test('nobody whose time is over', async () => {
    await listenLive(redis, SHARD, [users('ada', 'bo')]);
    await redis.zadd(listeningUsersKey(onlyPart(ONE)), 'XX', 1, 'ada');
    expect(await listened()).toEqual(new Set(['bo']));
    expect(await redis.pttl(listeningUsersKey(onlyPart(ONE)))).toBeGreaterThan(0);
  });
});

test('without listeners, keeps nothing of what leaves the outbox', async () => {
  const position = await add(ONE);
  await trimOutbox(redis, SHARD, position);
  await announceLive(redis, [notification(ONE, 'a')]);
  expect((await redis.keys('*')).toSorted()).toEqual([handedUpToKey(SHARD), outboxKey(SHARD)]);
  expect(await redis.xlen(outboxKey(SHARD))).toBe(0);
});

test('keeps trimmed outbox entries readable and unchanged under their positions, for tenants with listeners', async () => {
  await listenLive(redis, SHARD, everybodyOf(ONE));
  const positions = [await add(ONE), await add(OTHER), await add(ONE), await add(ONE)];
  const [first, , third, fourth] = positions as [string, string, string, string];
  const [written] = (await readLive(redis, { shard: SHARD, after: START, count: 1 })).entries;
  await trimOutbox(redis, SHARD, third);
  expect(await readAll(START)).toEqual([first, third, fourth]);
  expect(await readAll({ ...START, outbox: first })).toEqual([third, fourth]);
  const [kept] = (await readLive(redis, { shard: SHARD, after: START, count: 1 })).entries;
  expect(kept).toEqual(written);
});

test('keeps entries in order, each once, when several calls trim them', async () => {
  await listenLive(redis, SHARD, everybodyOf(ONE));
  const positions: string[] = [];
  for (let n = 0; n < 1_000; n += 1) positions.push(await add(ONE));
  await trimOutbox(redis, SHARD, positions[899]!);
  await trimOutbox(redis, SHARD, positions[899]!);
  expect(await redis.xlen(outboxKey(SHARD))).toBe(100);
  expect(await readAll(START)).toEqual(positions);
  let after = START;
  const paged: string[] = [];
  for (let isMore = true; isMore;) {
    const read = await readLive(redis, { shard: SHARD, after, count: 70 });
    paged.push(...read.entries.map(([id]) => String(id)));
    after = { ...after, outbox: paged.at(-1)! };
    isMore = read.isMore;
  }
  expect(paged).toEqual(positions);
});

test('a new listener begins at the end; an earlier one can continue from there', async () => {
  await add(ONE);
  const begun = await listenLive(redis, SHARD, everybodyOf(ONE));
  expect(begun.since).toEqual([begun.last]);
  const missed = await add(ONE);
  await trimOutbox(redis, SHARD, missed);
  const again = await listenLive(redis, SHARD, everybodyOf(ONE, OTHER));
  expect(gap(begun, again)).toBeNull();
  expect(await readAll(begun.last)).toEqual([missed]);
  expect(gap(begun, again, 1)).toMatch('no longer kept');
  expect(gap(again, { ...again, nowMs: again.nowMs + 86_400_000 })).toMatch('too old');
});

test('a time without listeners is a gap', async () => {
  const before = await listenLive(redis, SHARD, everybodyOf(ONE));
  const field = await redis.hget(listenedKey(SHARD), String(ONE));
  await redis.hset(listenedKey(SHARD), String(ONE), field!.replace(/^\d+/, '1'));
  await trimOutbox(redis, SHARD, await add(ONE));
  expect(await redis.exists(recentKey(SHARD))).toBe(0);
  expect(gap(before, await listenLive(redis, SHARD, everybodyOf(ONE)))).toMatch('no longer kept');
});

test('keeps a bounded amount, and what was dropped is a gap', async () => {
  const before = await listenLive(redis, SHARD, everybodyOf(ONE));
  const large = 'r'.repeat(1_000_000);
  let newest = '';
  for (let n = 0; n < 20; n += 1) newest = await add(ONE, large);
  await trimOutbox(redis, SHARD, newest);
  expect(await redis.memory('USAGE', recentKey(SHARD), 'SAMPLES', 0)).toBeLessThan(RECENT_BYTES);
  const again = await listenLive(redis, SHARD, everybodyOf(ONE));
  expect(gap(before, again)).toMatch('no longer kept');
  const [since] = again.since;
  expect((await readAll(START))[0]).toBe(since!.outbox);
  expect(gap({ ...again, last: since! }, again)).toBeNull();
});

test('trims a full Redis anyway, and what could not be kept is a gap', async () => {
  const listening = await listenLive(redis, SHARD, everybodyOf(ONE));
  const position = await add(ONE);
  const before = (await redis.config('GET', 'maxmemory')) as unknown as { maxmemory: string };
  await redis.config('SET', 'maxmemory', 1);
  try {
    await trimOutbox(redis, SHARD, position);
  } finally {
    await redis.config('SET', 'maxmemory', before.maxmemory ?? 0);
  }
  expect(await redis.xlen(outboxKey(SHARD))).toBe(0);
  expect(gap(listening, await listenLive(redis, SHARD, everybodyOf(ONE)))).toMatch('no longer kept');
});

test('announces notifications to tenants with listeners, and they expire', async () => {
  const { last } = await listenLive(redis, SHARD, everybodyOf(ONE));
  await announceLive(redis, [
    notification(ONE, 'a'),
    notification(OTHER, 'b'),
    notification(2, 'c'),
    notification(ONE, 'd'),
  ]);
  const { announced } = await readLive(redis, { shard: SHARD, after: last, count: 10 });
  expect(announced.map((entry) => parseAnnounced(entry)?.notification)).toEqual([
    notification(ONE, 'a'),
    notification(ONE, 'd'),
  ]);
  expect(await redis.pttl(announcedKey(SHARD))).toBeGreaterThan(0);
  expect(await redis.pttl(listenedKey(SHARD))).toBeGreaterThan(0);
  expect((await listenLive(redis, SHARD, everybodyOf(ONE))).last.announced).toBe(String(announced.at(-1)![0]));
});
