import type { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createRedis, redisReady } from '../../src/redis/client.ts';
import { NotReplicated, ReplicaAcknowledgement } from '../../src/redis/replica-acknowledgement.ts';
import { readRedisProcessId } from '../../src/redis/server-info.ts';
import { OwnRedis } from '../engine/rebuild/own-redis.ts';
import { OwnSentinel } from './own-sentinel.ts';

let master: OwnRedis;
let replicas: OwnRedis[];
let redis: Redis;
let acknowledgement: ReplicaAcknowledgement;

beforeEach(async () => {
  [master, ...replicas] = (await Promise.all(Array.from({ length: 4 }, () => OwnRedis.start()))) as [
    OwnRedis,
    ...OwnRedis[],
  ];
  await follow(replicas.slice(0, 2));
  redis = createRedis(master.url);
  redis.on('error', () => undefined);
  await redisReady(redis);
  const gate = { redisProcessId: await readRedisProcessId(redis), connection: 0, own: [] };
  acknowledgement = new ReplicaAcknowledgement({ redis, gate, timeoutMs: 3_000 });
  await acknowledges();
});
afterEach(async () => {
  acknowledgement.close();
  redis.disconnect();
  await Promise.all([master, ...replicas].map((server) => server.close()));
});

/** Resolves when all replicas report that they have the master's writes. */
async function follow(some: readonly OwnRedis[]): Promise<void> {
  for (const replica of some) await replica.follow(master);
  await master.command('PUBLISH', 'written', 'behind the copy');
  const caughtUp = async (): Promise<boolean> => {
    const [, offset, attached] = (await master.command('ROLE')) as [string, number, [string, string, string][]];
    return some.every(({ port }) => attached.some(([, at, has]) => Number(at) === port && Number(has) >= offset));
  };
  await expect.poll(caughtUp).toBe(true);
}

const acknowledges = (): Promise<void> => expect.poll(() => acknowledgement.wait().then(() => true, String)).toBe(true);

/** Resolves when the noted writes are acknowledged, which a replica on a busy machine may delay beyond the time limit. */
async function untilAcknowledged(): Promise<void> {
  while (
    !(await acknowledgement.waitForNoted().then(
      () => true,
      () => false,
    ))
  )
    await acknowledges();
}

const write = (key: string): Promise<unknown> => acknowledgement.noteOffset(redis.set(key, key));

test('acknowledges overlapping calls only when all replicas have each of them', async () => {
  const lane = async (name: string): Promise<void> => {
    for (let n = 0; n < 25; n += 1) {
      await write(`${name}-${n}`);
      await untilAcknowledged();
      const held = await Promise.all(replicas.slice(0, 2).map((replica) => replica.command('GET', `${name}-${n}`)));
      expect(held).toEqual([`${name}-${n}`, `${name}-${n}`]);
    }
  };
  await Promise.all(['a', 'b', 'c', 'd'].map(lane));
});

test('another replica does not replace one that hangs and may lack writes', async () => {
  const [, hanging, another] = replicas;
  hanging!.pause();
  await follow([another!]);
  await write('first');
  await expect(acknowledgement.waitForNoted()).rejects.toThrow(NotReplicated);
  // No call waits for a replica that is being retried.
  expect(() => acknowledgement.refuseAway()).toThrow(NotReplicated);
  await expect(acknowledgement.wait()).rejects.toThrow(NotReplicated);

  hanging!.resume();
  await acknowledges();
  expect(await hanging!.command('GET', 'first')).toBe('first');
});

describe('behind Sentinels', () => {
  let sentinel: OwnSentinel;
  let gone: (readonly string[])[];

  beforeEach(async () => {
    sentinel = await OwnSentinel.start(master, null, 2);
    gone = [];
    acknowledgement.close();
    redis.disconnect();
    redis = createRedis(sentinel.urlOfAlive);
    redis.on('error', () => undefined);
    await redisReady(redis);
    const gate = { redisProcessId: await readRedisProcessId(redis), connection: 0, own: [] };
    const onGone = (names: readonly string[]): void => void gone.push(names);
    acknowledgement = new ReplicaAcknowledgement({ redis, gate, timeoutMs: 3_000, onGone });
    await acknowledges();
  });
  afterEach(() => sentinel.close());

  test('writes continue without a replica that died, and wait for it again once it is back', async () => {
    const [, dying] = replicas;
    await dying!.kill();
    await write('first');
    await untilAcknowledged();
    expect(gone).toEqual([[`127.0.0.1:${dying!.port}`]]);
    expect(await acknowledgement.acknowledging()).toBe(1);

    await dying!.start();
    await follow([dying!]);
    await expect.poll(() => acknowledgement.acknowledging()).toBe(2);
    dying!.pause();
    await write('second');
    await expect(acknowledgement.waitForNoted()).rejects.toThrow(NotReplicated);
    dying!.resume();
  });

  test('acknowledges nothing without a connected replica that a Sentinel reaches', async () => {
    const [, leading] = replicas;
    await leading!.lead(master);
    await write('first');
    await expect(acknowledgement.waitForNoted()).rejects.toThrow(NotReplicated);
    expect(gone).toEqual([]);
  });

  test('a former master acknowledges nothing once a replica took over and died', async () => {
    await sentinel.failover();
    const leading = (
      await Promise.all(
        replicas.slice(0, 2).map(async (each) => ((await each.command('ROLE')) as unknown[])[0] === 'master' && each),
      )
    ).find((each) => each !== false);
    await leading!.kill();
    await expect(write('first').then(() => acknowledgement.waitForNoted())).rejects.toThrow();
    expect(gone).toEqual([]);
  });
});
