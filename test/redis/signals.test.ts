import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Signals } from '../../src/redis/signals.ts';
import { listenLive } from '../../src/redis/live-streams.ts';
import { Receiver } from '../engine/webhooks/receiver.ts';
import { startLaurel } from '../laurel.ts';
import { LiveClient } from '../live/live-client.ts';
import { testStack } from '../stack/stack.ts';
import { STUDY_APP } from '../study-app.ts';
import { everybodyOf } from './everybody-of.ts';
import { opened } from '../stack/opened.ts';

const AN_HOUR_MS = 3_600_000;

const stack = opened(() => testStack({ database: 'none' }));
const redis = opened(() => new Redis(stack.redisUrl), 'disconnect');

/** The URL of Redis for a user with these rules. */
async function urlOf(user: string, ...rules: string[]): Promise<string> {
  await redis.acl('SETUSER', user, 'on', '>secret', ...rules);
  const url = new URL(stack.redisUrl);
  [url.username, url.password] = [user, 'secret'];
  return url.href;
}

describe('signals', () => {
  let signals: Signals;
  let heard: (string | null)[];

  beforeEach(async () => {
    signals = new Signals(redis);
    heard = [];
    await signals.start();
  });
  afterEach(() => signals.close());

  const subscribed = async (): Promise<unknown> => redis.pubsub('CHANNELS', 'laurel:*');

  test('a listener gets each message, and null after each subscription', async () => {
    signals.listen('jobs', (message) => heard.push(message));
    await expect.poll(() => heard).toEqual([null]);
    await signals.publish('jobs', 'first');
    await expect.poll(() => heard).toEqual([null, 'first']);
    await redis.client('KILL', 'TYPE', 'PUBSUB');
    await expect.poll(() => heard).toEqual([null, 'first', null]);
    await signals.publish('jobs', 'second');
    await expect.poll(() => heard).toEqual([null, 'first', null, 'second']);
  });

  test('a listener is called with null at its interval, also while Redis is unavailable', async () => {
    const away = new Signals(new Redis({ port: 1, lazyConnect: true, retryStrategy: null }));
    const stop = away.listen('jobs', (message) => heard.push(message), 10);
    away.listen('jobs', () => expect.unreachable(), AN_HOUR_MS);
    await expect.poll(() => heard.length).toBeGreaterThan(3);
    stop();
    expect(new Set(heard)).toEqual(new Set([null]));
    await away.close();
  });

  test('a Redis that refuses subscriptions does not block the start', async () => {
    const deaf = new Redis(await urlOf('deaf', '~*', 'resetchannels', '+@all'));
    const refused = new Signals(deaf);
    refused.listen('jobs', (message) => heard.push(message), 10);
    await refused.start();
    await expect.poll(() => heard.length).toBeGreaterThan(3);
    await refused.close();
    deaf.disconnect();
  });

  test('subscribes only to kinds with listeners', async () => {
    const stops = [1, 2].map(() => signals.listen('outbox', () => undefined));
    await expect.poll(subscribed).toEqual(['laurel:outbox']);
    stops[0]!();
    signals.listen('clock', () => undefined);
    await expect.poll(subscribed).toHaveLength(2);
    stops[1]!();
    await expect.poll(subscribed).toEqual(['laurel:clock']);
  });

  test('announcements in quick succession share few messages, the last of which is sent at the end at the latest', async () => {
    signals.listen('outbox', (message) => heard.push(message));
    await expect.poll(() => heard).toEqual([null]);
    const other = new Signals(redis);
    for (let n = 0; n < 1_000; n += 1) for (const shard of [3, 200]) other.announce('outbox', shard);
    await other.close();
    await expect.poll(() => heard.join(' ').split(' ')).toContain('200');
    expect(heard[1]).toBe('3');
    expect(heard.length).toBeLessThan(10);
  });

  test("the first listener of a tenant's live streams is a signal, once", async () => {
    signals.listen('listened', (message) => heard.push(message));
    await expect.poll(() => heard).toEqual([null]);
    await listenLive(redis, 1, everybodyOf(1));
    await listenLive(redis, 1, everybodyOf(1));
    await listenLive(redis, 1, everybodyOf(1, 257));
    await expect.poll(() => heard).toEqual([null, '1', '257']);
  });
});

test('polling finds all work when every signal and every wake-up is lost', async () => {
  const receiver = await Receiver.start();
  const laurel = await startLaurel({
    redisUrl: await urlOf('laurel', '~*', '&*', '+@all'),
    workers: true,
    webhookAllowPrivate: true,
    testClock: true,
    configuration: STUDY_APP,
  });
  const hook = { name: 'All', url: receiver.url, events: ['points.changed'], enabled: true };
  expect((await laurel.admin.post('/v1/webhooks', [hook])).status).toBe(201);
  const { ticket } = (await laurel.app.post('/v1/live/tickets', {})).body as { ticket: string };
  const live = await LiveClient.open(laurel.adminUrl, { ticket });
  await live.next('ready');
  // From now on Redis refuses subscriptions, messages, and the keys of BullMQ. Functions may publish, or they would fail.
  await redis.acl('SETUSER', 'laurel', 'resetchannels', '&laurel:listened', 'resetkeys', '~{s*', '~laurel:*');
  await expect.poll(() => redis.pubsub('CHANNELS', 'laurel:*')).toEqual([]);

  const event = { user: { id: 'ada' }, value: 12 };
  expect((await laurel.app.post('/v1/metrics/flips/event', event)).status).toBe(201);
  await live.next('points.changed');
  const stored = async (): Promise<number> => (await laurel.pool.query('SELECT FROM events')).rowCount ?? 0;
  await expect.poll(stored).toBe(1);
  await expect.poll(() => receiver.received.length).toBeGreaterThan(0);

  const batch = Array.from({ length: 2 }, () => ({ ...event, key: 'flips' }));
  expect((await laurel.admin.post('/v1/metrics/events', batch)).status).toBe(202);
  await expect.poll(stored).toBe(3);

  const late = { key: 'late', name: 'Late', trigger: 'metric', metricKey: 'flips', metricValue: 5, status: 'active' };
  const achievements = [...STUDY_APP.achievements!, late];
  expect((await laurel.admin.put('/v1/configuration', { ...STUDY_APP, achievements })).status).toBe(200);
  await expect
    .poll(async () => (await laurel.admin.get('/v1/backdatings')).body as unknown)
    .toContainEqual(expect.objectContaining({ status: 'done', usersDone: 1 }));
  const now = new Date(Date.now() + 60_000).toISOString();
  expect((await laurel.admin.put('/v1/clock', { now })).status).toBe(200);

  live.close();
  await redis.acl('SETUSER', 'laurel', 'resetkeys', '~*', '&*');
  await laurel.close();
  await receiver.close();
});
