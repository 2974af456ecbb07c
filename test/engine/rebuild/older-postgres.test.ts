import { afterEach, beforeEach, expect, test } from 'vitest';
import { rebuildServers } from '../../../src/engine/availability/accept.ts';
import { readGaps } from '../../../src/engine/availability/inspection.ts';
import { redisReady } from '../../../src/redis/client.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { startWorkers, type Workers } from '../../../workers/start.ts';
import { startLaurel, type TestLaurel } from '../../laurel.ts';
import { STUDY_APP } from '../../study-app.ts';
import { backUp } from './back-up.ts';

const log = createLog({ level: 'fatal', name: 'test' });

let laurel: TestLaurel;
let workers: Workers | null;

beforeEach(async () => {
  workers = null;
  laurel = await startLaurel({ configuration: STUDY_APP });
});
afterEach(async () => {
  await workers?.close();
  await laurel.close();
});

async function work(keepMs: number): Promise<void> {
  const { redisUrl, databaseUrl } = laurel;
  workers = await startWorkers({ redisUrl, databaseUrl, log, keepMs });
}

const event = (key: string): Promise<{ status: number; body: { total: number } }> =>
  laurel.app.post(
    '/v1/metrics/flips/event',
    { user: { id: 'ada' }, value: 1 },
    { headers: { 'Idempotency-Key': key } },
  );

const rows = async <Row extends object>(text: string): Promise<Row[]> => (await laurel.pool.query<Row>(text)).rows;
const stored = async (): Promise<number> => (await rows<{ n: number }>('SELECT count(*)::int AS n FROM events'))[0]!.n;
const handed = (): Promise<number> => laurel.redis.xlen('{s0}:handed');
const outbox = (): Promise<number> => laurel.redis.xlen('{s0}:outbox');

test('the missing events are still kept: stores them again, each once, and does nothing else', async () => {
  await work(600_000);
  for (const key of ['1', '2', '3']) await event(key);
  await expect.poll(stored).toBe(3);
  await expect.poll(outbox).toBe(0);
  const bringBack = await backUp(laurel.pool);
  for (const key of ['4', '5', '6', '7']) expect((await event(key)).status).toBe(201);
  await expect.poll(stored).toBe(7);
  await expect.poll(outbox).toBe(0);
  expect(await handed()).toBeGreaterThan(0);
  const ids = await rows('SELECT id FROM events ORDER BY id');

  await bringBack();
  expect((await event('8')).body.total).toBe(8);
  await expect.poll(stored).toBe(8);
  expect(await rows('SELECT id FROM events ORDER BY id')).toEqual(expect.arrayContaining(ids));
  expect((await event('5')).status).toBe(202);
  expect((await laurel.app.get('/readyz')).status).toBe(200);
  expect(await readGaps(laurel.redis, laurel.pool)).toEqual([]);
});

test('the missing events are gone: not ready, stores nothing, and continues when the loss is accepted', async () => {
  await work(0);
  for (const key of ['1', '2', '3']) await event(key);
  await expect.poll(stored).toBe(3);
  await expect.poll(outbox).toBe(0);
  const bringBack = await backUp(laurel.pool);
  for (const key of ['4', '5']) expect((await event(key)).status).toBe(201);
  await expect.poll(stored).toBe(5);
  await expect.poll(outbox).toBe(0);

  // What is not stored by then is accepted, and kept.
  await workers!.close();
  expect((await event('6')).status).toBe(201);
  await bringBack();
  await work(0);
  await expect.poll(async () => (await laurel.app.get('/readyz')).status).toBe(503);
  expect((await event('7')).status).toBe(503);
  expect(await stored()).toBe(3);
  expect(await readGaps(laurel.redis, laurel.pool)).toMatchObject([{ shard: 0 }]);
  const redis = await laurel.connect();
  redis.on('error', () => undefined);
  await redisReady(redis);
  try {
    const by = { redis, pool: laurel.pool };
    await expect(rebuildServers(by)).rejects.toThrow('`laurel rebuild --accept-loss`');
    expect((await laurel.app.get('/readyz')).status).toBe(503);
    await rebuildServers({ ...by, acceptLoss: true });
  } finally {
    redis.disconnect();
  }
  await expect.poll(async () => (await laurel.app.get('/readyz')).status).toBe(200);
  // The two lost events are in no history, and may come again; the user's totals are those of the last kept event.
  expect((await event('7')).body.total).toBe(7);
  expect((await event('6')).status).toBe(202);
  expect((await event('4')).body.total).toBe(8);
  await expect.poll(stored).toBe(6);
});
