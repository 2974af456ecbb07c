import { beforeEach, expect, test } from 'vitest';
import { FixedClock } from '../../../src/clock.ts';
import { AuditTrail } from '../../../src/postgres/access/audit.ts';
import { createPool } from '../../../src/postgres/pool.ts';
import { CuttingProxy } from '../../stack/cutting-proxy.ts';
import { testDatabase } from '../database.ts';
import { opened } from '../../stack/opened.ts';

const BY = { who: 'adm_test', requestId: 'of-the-request' };
const clock = new FixedClock(Date.UTC(2026, 10, 18, 12));
let errors: { fields: object; message: string }[];
const database = opened(() => testDatabase());
beforeEach(async () => {
  errors = [];
  await database.pool.query('DELETE FROM audit_log');
});

const log = { error: (fields: object, message: string) => void errors.push({ fields, message }) };
const names = async (): Promise<string[]> =>
  (await database.pool.query('SELECT name FROM audit_log ORDER BY no')).rows.map(({ name }) => name);
const batch = (name: string, tenantNo = 0) => ({
  tenantNo,
  by: BY,
  entries: [{ action: 'create', kind: 'event_batch', name } as const],
});

test('a record is stored when its promise resolves; concurrent ones keep their order', async () => {
  const trail = new AuditTrail(database.pool, clock, log);
  await trail.record(batch('first'));
  expect(await names()).toEqual(['first']);
  await Promise.all(Array.from({ length: 50 }, (_, n) => trail.record(batch(String(n)))));
  expect((await names()).slice(1)).toEqual(Array.from({ length: 50 }, (_, n) => String(n)));
});

test('beyond 300 a minute, calls of a key are counted in one entry; exports, changes and calls of other keys are not', async () => {
  const trail = new AuditTrail(database.pool, clock, log);
  const call = (who = BY.who) => ({
    tenantNo: 0,
    by: { ...BY, who },
    entries: [{ action: 'call', kind: 'tool', name: 'list_metrics' } as const],
  });
  const exported = (userId: string) => ({
    tenantNo: 0,
    by: BY,
    entries: [{ action: 'export', kind: 'user', userId } as const],
  });
  await trail.record(call());
  await Promise.all(Array.from({ length: 310 }, () => trail.record(call())));
  await Promise.all(Array.from({ length: 70 }, () => trail.record(batch('change'))));
  await Promise.all(Array.from({ length: 70 }, (_, n) => trail.record(exported(`u${n}`))));
  await trail.record(call('adm_other'));
  await trail.record(call());
  const read = async (): Promise<unknown[]> =>
    (
      await database.pool.query(
        `SELECT who, action, count(*)::int AS entries, max((after ->> 'count')::int) AS further FROM audit_log GROUP BY 1, 2 ORDER BY 1, 2`,
      )
    ).rows;
  expect(await read()).toEqual([
    { who: 'adm_other', action: 'call', entries: 1, further: null },
    { who: 'adm_test', action: 'call', entries: 301, further: 12 },
    { who: 'adm_test', action: 'create', entries: 70, further: null },
    { who: 'adm_test', action: 'export', entries: 70, further: null },
  ]);
  clock.set(clock.now() + 60_000);
  await trail.record(call());
  expect((await read())[1]).toEqual({ who: 'adm_test', action: 'call', entries: 302, further: 12 });
  expect(errors).toEqual([]);
});

test('leaves out and reports one that Postgres refuses, and stores the others', async () => {
  const trail = new AuditTrail(database.pool, clock, log);
  const first = trail.record(batch('before'));
  await Promise.all([first, trail.record(batch('of no tenant', 999)), trail.record(batch('after'))]);
  expect(await names()).toEqual(['before', 'after']);
  expect(errors).toEqual([
    {
      fields: { requestId: 'of-the-request', kind: 'event_batch' },
      message: 'an audit log entry could not be stored',
    },
  ]);
});

test('nothing fails while Postgres is unavailable: it is recorded when Postgres is back', async () => {
  const { databaseUrl } = database.stack;
  const proxy = new CuttingProxy(databaseUrl);
  const pool = createPool(await proxy.listen(), { max: 1, timeoutMs: 2_000 });
  pool.on('error', () => undefined);
  const trail = new AuditTrail(pool, clock, log);
  try {
    proxy.retarget('postgresql://127.0.0.1:1/');
    await trail.record(batch('one'));
    await trail.record(batch('two'));
    expect(await names()).toEqual([]);
    proxy.retarget(databaseUrl);
    await expect.poll(names).toEqual(['one', 'two']);
  } finally {
    await trail.close();
    await pool.end();
    proxy.close();
  }
});
