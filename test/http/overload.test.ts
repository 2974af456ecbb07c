import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { startLaurel, type TestLaurel } from '../laurel.ts';
import { STUDY_APP } from '../study-app.ts';
import { OwnRedis } from '../engine/rebuild/own-redis.ts';
import { RawConnection, rawRequest } from './raw-connection.ts';

/** An event of a user of its own, because events of one user are sent one after the other. */
const eventOf = (key: string): object => ({ user: { id: key }, value: 1 });

let redis: OwnRedis;
let laurel: TestLaurel;

beforeAll(async () => {
  redis = await OwnRedis.start();
  laurel = await startLaurel({ redisUrl: redis.url, configuration: STUDY_APP });
  // While Redis hangs, this process keeps its connection.
  laurel.redis.options.socketTimeout = 3_600_000;
});
afterAll(async () => {
  await laurel.close();
  await redis.close();
});

async function event(key: string): Promise<[status: number, total: number]> {
  const headers = { 'Idempotency-Key': key };
  const { status, body } = await laurel.app.post('/v1/metrics/flips/event', eventOf(key), { headers });
  return [status, body.total];
}

/** Sends an event over a connection of its own. */
async function sent(key: string): Promise<RawConnection> {
  const connection = await RawConnection.open(Number(new URL(laurel.appUrl).port));
  const headers = [`X-API-KEY: ${laurel.adminKey}`, 'Content-Type: application/json', `Idempotency-Key: ${key}`];
  const body = JSON.stringify(eventOf(key));
  connection.send(rawRequest('POST', '/v1/metrics/flips/event', { headers, body }));
  return connection;
}

/** Resolves when the server has read what was sent to it, and noticed what was closed, before the call. */
const noticed = async (): Promise<void> => expect((await laurel.app.get('/healthz')).status).toBe(200);

test('a waiting event is dropped when its client disconnects: nothing is done, and its key is unused', async () => {
  // The first call on a shard is preceded by another command.
  expect(await event('warm-up')).toEqual([201, 1]);
  const commands = vi.spyOn(laurel.redis, 'callBuffer');
  const calls = (): number => commands.mock.calls.filter(([name]) => name === 'FCALL').length;
  redis.pause();
  // A tenant has two commands in flight at most, so a third event waits.
  const first = await sent('first');
  await expect.poll(calls).toBe(1);
  const second = await sent('second');
  await expect.poll(calls).toBe(2);
  const third = await sent('third');
  const fourth = await sent('fourth');
  await noticed();
  third.destroy();
  await noticed();
  redis.resume();
  for (const connection of [first, second, fourth]) {
    await connection.until(({ statuses }) => statuses.length === 1);
    expect(connection.statuses).toEqual([201]);
    connection.destroy();
  }
  commands.mockRestore();
  expect(await event('third')).toEqual([201, 1]);
});

test('health checks send nothing to Redis, and do not wait for a connection to Postgres', async () => {
  const pings = async (): Promise<number> =>
    Number(/cmdstat_ping:calls=(\d+)/.exec(String(await redis.command('INFO', 'commandstats')))?.[1] ?? 0);
  const ready = async (): Promise<unknown> => (await laurel.app.get('/readyz')).body;
  await expect.poll(ready).toEqual({ status: 'ready' });
  const before = await pings();
  const { max } = laurel.pool.options;
  const clients = await Promise.all(Array.from({ length: max }, () => laurel.pool.connect()));
  try {
    expect(await ready()).toEqual({ status: 'ready' });
  } finally {
    for (const client of clients) client.release();
  }
  expect(await pings()).toBe(before);
});
