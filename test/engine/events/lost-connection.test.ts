import { Redis } from 'ioredis';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { persistedReplies } from '../../../src/engine/events/stored-replies.ts';
import { testStack } from '../../stack/stack.ts';
import { CatalogBuilder } from '../catalog-builder.ts';
import { CuttingProxy } from '../../stack/cutting-proxy.ts';
import { TestEngine } from './engine.ts';
import { opened } from '../../stack/opened.ts';

let proxy: CuttingProxy;
let laurel: TestEngine;
let direct: Redis;
let pool: pg.Pool;

const stack = opened(() => testStack({ database: 'migrated' }));
beforeAll(async () => {
  pool = new pg.Pool({ connectionString: stack.databaseUrl });
  direct = new Redis(stack.redisUrl);
  proxy = new CuttingProxy(stack.redisUrl);
  const builder = new CatalogBuilder();
  const flips = builder.metric('flips');
  builder.trigger(builder.system('xp'), 'metric', { points: 5, metricId: flips.id, metricThreshold: 2 });
  laurel = new TestEngine(await proxy.listen(), builder.catalog, {
    findPersisted: (tenantNo, events) => persistedReplies({ redis: direct, pool }, tenantNo, events),
  });
});
afterAll(async () => {
  await laurel.close();
  proxy.close();
  await Promise.all([direct.quit(), pool.end()]);
});
beforeEach(async () => {
  await laurel.event('flips', 'warm-up', 1);
});

const totalOf = async (user: string): Promise<number> => (await laurel.users.state(0, user)).totals.get(1)!.whole;

test('the reply is lost: the retry finds the event in the outbox and returns its answer', async () => {
  proxy.cutNext('replies');
  const answer = await laurel.event('flips', 'lost reply', 4, { key: 'k' });
  expect(answer).toMatchObject({ status: 201, total: 4, idempotentReplayed: false, points: { xp: { total: 10 } } });
  expect(await totalOf('lost reply')).toBe(4);
});

test('the request is lost: the retry applies it', async () => {
  proxy.cutNext('requests');
  expect(await laurel.event('flips', 'lost request', 4)).toMatchObject({ status: 201, total: 4 });
  expect(await totalOf('lost request')).toBe(4);
});

test('the request arrives after its retry: it is not applied again', async () => {
  // Whether the retry has been applied: without a key only its ID shows that it is the same event.
  const applied = async (): Promise<void> => {
    while ((await direct.exists('{s0}:0:u:late request')) === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  };
  proxy.cutNext('late', applied, (chunk) => chunk.includes('late request'));
  expect(await laurel.event('flips', 'late request', 4)).toMatchObject({ status: 201, total: 4 });
  await expect.poll(() => proxy.connections).toBe(1);
  expect(await totalOf('late request')).toBe(4);
});

test('the outbox was trimmed meanwhile, without the event: the retry applies it', async () => {
  proxy.cutNext('requests', async () => {
    await direct.xtrim('{s0}:outbox', 'MAXLEN', 0);
  });
  expect(await laurel.event('flips', 'trimmed before', 4)).toMatchObject({ status: 201, total: 4 });
  expect(await totalOf('trimmed before')).toBe(4);
});

test('the event has left the outbox for Postgres: the retry is answered from there, and changes nothing', async () => {
  proxy.cutNext('replies', async () => {
    const entries = await direct.xrangeBuffer('{s0}:outbox', '-', '+');
    const record = entries.at(-1)![1][3]!.toString('latin1');
    const id = /[0-9a-f]{28}0000/.exec(record)![0];
    await pool.query(
      `INSERT INTO events (id, tenant_no, user_id, metric_no, value, total, at, local_date)
       VALUES ($1, 0, 'persisted', 1, 4, 4, '2026-11-18T12:00:00Z', '2026-11-18')`,
      [id],
    );
    await pool.query(
      `INSERT INTO awards (id, tenant_no, user_id, system_no, trigger_no, awarded, total, at, local_date)
       VALUES ($1, 0, 'persisted', 2, 3, 10, 10, '2026-11-18T12:00:00Z', '2026-11-18')`,
      [`${id.slice(0, 28)}0001`],
    );
    await direct.xtrim('{s0}:outbox', 'MAXLEN', 0);
  });
  const answer = await laurel.event('flips', 'persisted', 4);
  expect(answer).toMatchObject({ status: 201, total: 4, points: { xp: { total: 10, added: 10 } } });
  expect(answer.currentStreak.length).toBe(1);
  expect(await totalOf('persisted')).toBe(4);
});

test('applies each of a hundred events that are in flight when the connection breaks once', async () => {
  proxy.cutNext('replies');
  const answers = await Promise.all(Array.from({ length: 100 }, () => laurel.event('flips', 'many', 1)));
  expect(answers.map(({ total }) => total).sort((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, i) => i + 1));
  expect(await totalOf('many')).toBe(100);
});

test('the clock is set back while the connection is gone: the event is refused in time', async () => {
  const lost = new CuttingProxy(stack.redisUrl);
  const builder = new CatalogBuilder();
  builder.metric('flips');
  const engine = new TestEngine(await lost.listen(), builder.catalog, { retryMs: 2_000 });
  engine.redis.on('error', () => undefined);
  await engine.event('flips', 'clock', 1);
  const now = Date.now;
  let aheadMs = 0;
  Date.now = () => now() + aheadMs;
  try {
    lost.cutNext('requests', () => {
      lost.close();
      aheadMs = -3_600_000;
    });
    // With a deadline of the clock, it would get no answer for an hour.
    await expect(engine.event('flips', 'clock', 1)).rejects.toThrow('does not answer');
  } finally {
    Date.now = now;
    engine.redis.disconnect();
  }
});
