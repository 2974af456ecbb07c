import { Redis } from 'ioredis';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { appliedReplies, persistedReplies } from '../../../src/engine/events/stored-replies.ts';
import { createQuarantine, type Quarantine } from '../../../src/engine/corrections/quarantine.ts';
import { quarantineKey } from '../../../src/redis/keys.ts';
import type { QuarantineRow } from '../../../src/postgres/corrections/quarantine.ts';
import { CuttingProxy } from '../../stack/cutting-proxy.ts';
import { testStack } from '../../stack/stack.ts';
import { CatalogBuilder } from '../catalog-builder.ts';
import { TestEngine } from '../events/engine.ts';
import { onlyPart } from '../../stack/only-part.ts';
import { opened } from '../../stack/opened.ts';

let proxy: CuttingProxy;
let laurel: TestEngine;
let direct: Redis;
let pool: pg.Pool;
let quarantine: Quarantine;

const stack = opened(() => testStack({ database: 'migrated' }));
beforeAll(async () => {
  pool = new pg.Pool({ connectionString: stack.databaseUrl });
  direct = new Redis(stack.redisUrl);
  proxy = new CuttingProxy(stack.redisUrl);
  const builder = new CatalogBuilder();
  builder.metric('m', { maxValue: { limit: 10, action: 'quarantine' } });
  laurel = new TestEngine(await proxy.listen(), builder.catalog, {
    findPersisted: (tenantNo, events) => persistedReplies({ redis: direct, pool }, tenantNo, events),
  });
  quarantine = createQuarantine({
    redis: direct,
    pool,
    scripts: laurel.scripts,
    clock: laurel.clock,
    findPersisted: (tenantNo, events) => appliedReplies({ redis: direct, pool }, tenantNo, events),
    recordAudit: async () => undefined,
    addRanks: async () => undefined,
  });
});
afterAll(async () => {
  await laurel.close();
  proxy.close();
  await Promise.all([direct.quit(), pool.end()]);
});
beforeEach(async () => {
  await laurel.event('m', 'warm-up', 1);
});

const waiting = async (user: string): Promise<number> =>
  ((await direct.hget(quarantineKey(onlyPart(0)), user)) ?? '').length / 33;
const totalOf = async (user: string): Promise<number | undefined> =>
  (await laurel.users.state(0, user)).totals.get(1)?.whole;
const KEPT = { status: 202, total: 0, guarded: { guard: 'maxValue', action: 'quarantine' } };

/** The persister's row of a quarantined event. */
async function rowOf(user: string): Promise<QuarantineRow> {
  const id = (await direct.hget(quarantineKey(onlyPart(0)), user))!.slice(0, 32);
  return {
    id,
    userId: user,
    metricNo: 1,
    guard: 2,
    value: '11',
    atMs: laurel.clock.now(),
    attributes: null,
    idempotencyKey: null,
    status: 1,
    settledMs: null,
  };
}

test('the reply is lost: the event is kept once, and gets the same answer', async () => {
  proxy.cutNext('replies');
  expect(await laurel.event('m', 'lost reply', 11)).toMatchObject(KEPT);
  expect(await waiting('lost reply')).toBe(1);
});

test('the event has left the outbox for Postgres: the retry is answered from there', async () => {
  proxy.cutNext('replies', async () => {
    const { id } = await rowOf('persisted');
    await pool.query(
      `INSERT INTO quarantine (id, tenant_no, user_id, metric_no, guard, value, at)
       VALUES ($1, 0, 'persisted', 1, 2, 11, '2026-11-18T12:00:00Z')`,
      [id],
    );
    await direct.xtrim('{s0}:outbox', 'MAXLEN', 0);
  });
  expect(await laurel.event('m', 'persisted', 11)).toMatchObject(KEPT);
  expect(await waiting('persisted')).toBe(1);
});

test.each(['replies', 'requests'] as const)('the %s of a release are lost: it is applied once', async (what) => {
  await laurel.event('m', what, 11);
  const row = await rowOf(what);
  proxy.cutNext(what);
  const outcome = await quarantine.apply(laurel.compiled(), row);
  expect(outcome).toMatchObject({ event: { eventId: expect.any(String), total: 11 } });
  expect([await totalOf(what), await waiting(what)]).toEqual([11, 0]);
  expect(await quarantine.apply(laurel.compiled(), row)).toBeNull();
  expect(await totalOf(what)).toBe(11);
});

test('the reply of a drop is lost: the event is dropped', async () => {
  await laurel.event('m', 'dropped', 11);
  const row = await rowOf('dropped');
  proxy.cutNext('replies');
  await quarantine.remove(0, [row]);
  expect(await waiting('dropped')).toBe(0);
  expect(await direct.hget(quarantineKey(onlyPart(0)), '')).toBe(
    String((await direct.hlen(quarantineKey(onlyPart(0)))) - 1),
  );
  expect(await quarantine.apply(laurel.compiled(), row)).toBeNull();
});
