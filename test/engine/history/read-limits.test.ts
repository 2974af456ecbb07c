import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { ReadLimits } from '../../../src/engine/history/read-limits.ts';
import { untilPersisted } from '../../../src/engine/persist/cursor-wait.ts';
import { createPool } from '../../../src/postgres/pool.ts';
import { startLaurel, type TestLaurel } from '../../laurel.ts';
import { STUDY_APP } from '../../study-app.ts';
import { opened } from '../../stack/opened.ts';

const laurel = opened(() => startLaurel({ configuration: STUDY_APP, workers: true }));
beforeAll(async () => {
  for (const id of ['ada', 'bob']) await laurel.app.post('/v1/metrics/flips/event', { user: { id }, value: 1 });
  await untilPersisted(laurel, 0);
});

/** Makes history reads wait until the returned function is called. */
async function hold({ databaseUrl }: TestLaurel, tables = 'event_days'): Promise<() => Promise<void>> {
  // Without a time limit, because a busy machine takes long for what happens meanwhile.
  const pool = createPool(databaseUrl, { max: 1 });
  const client = await pool.connect();
  await client.query(`BEGIN; LOCK TABLE ${tables} IN ACCESS EXCLUSIVE MODE`);
  let held = true;
  const release = async (): Promise<void> => {
    if (!held) return;
    held = false;
    await client.query('ROLLBACK');
    client.release();
    await pool.end();
  };
  onTestFinished(release);
  return release;
}

const SUMMARY = 'metrics/flips/event-summary?aggregation=daily&startDate=2026-01-01&endDate=2026-03-01';

test("runs one of a user's many reads at a time and queues few; others get through, and it recovers at once", async () => {
  const release = await hold(laurel);
  const statuses: number[] = [];
  const reads = Array.from({ length: 20 }, async (_, nth) => {
    const { status, headers, body } = await laurel.app.get(`/v1/users/ada/${nth % 2 ? SUMMARY : 'wrapped'}`);
    statuses.push(status);
    if (status !== 429) return;
    expect(headers.get('retry-after')).toBe('1');
    expect(body.error).toContain('reads of history of this user');
  });
  await expect.poll(() => statuses.length).toBeGreaterThan(13);
  const other = laurel.app.get('/v1/users/bob/wrapped');
  await expect.poll(() => statuses.filter((status) => status === 429).length).toBe(19);
  await release();
  await Promise.all(reads);
  // 503 if the machine is so slow that the reads before them took too long.
  expect(statuses.filter((status) => status === 200 || status === 503)).toHaveLength(1);
  expect([200, 503]).toContain((await other).status);
  for (const id of ['ada', 'bob']) expect((await laurel.app.get(`/v1/users/${id}/${SUMMARY}`)).status).toBe(200);
});

test('the statements of a year in review run one after another for a key of a user', async () => {
  const { body } = await laurel.admin.post('/v1/application-api-keys', [{ userId: 'ada', rateLimit: 50 }]);
  const { key } = body.created[0];
  const waiting = async (): Promise<number> =>
    (
      await laurel.pool.query(
        `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      )
    ).rowCount!;
  const release = await hold(laurel, 'event_days, award_days, streak_changes');
  const read = laurel.app.get('/v1/users/ada/wrapped', { key });
  await expect.poll(waiting).toBe(1);
  await sleep(100);
  expect(await waiting()).toBe(1);
  await release();
  expect((await read).status).toBe(200);
});

test('a read that takes too long also ends in Postgres', async () => {
  const hasty = await startLaurel({ configuration: STUDY_APP, workers: true, postgresTimeoutMs: 5_000 });
  onTestFinished(() => hasty.close());
  await hasty.app.post('/v1/metrics/flips/event', { user: { id: 'ada' }, value: 1 });
  await untilPersisted(hasty, 0);
  const release = await hold(hasty);
  expect((await hasty.app.get(`/v1/users/ada/${SUMMARY}`)).status).toBe(503);
  const waiting = async (): Promise<unknown> =>
    (
      await hasty.pool.query(
        `SELECT query FROM pg_stat_activity
          WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%event_days%'`,
      )
    ).rows;
  await expect.poll(waiting).toEqual([]);
  await release();
});

test('users take turns: a read waits for those of its user, and for the older ones of its tenant, but for no other tenant', async () => {
  const limits = new ReadLimits();
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const read = (tenantNo: number, userId: string, name: string): Promise<void> =>
    limits.run(tenantNo, userId, () => {
      begun.push(name);
      return new Promise((resolve) => ends.set(name, resolve));
    });
  const end = async (name: string): Promise<string[]> => {
    ends.get(name)!();
    await new Promise(setImmediate);
    return begun.splice(0);
  };
  const reads = ['a1', 'a2', 'b1', 'b2', 'a3', 'c1', 'd1', 'e1'].map((name) => read(1, name[0]!, name));
  reads.push(read(2, 'a', 'elsewhere'));
  expect(begun.splice(0)).toEqual(['a1', 'b1', 'c1', 'd1', 'elsewhere']);
  expect(await end('c1')).toEqual(['e1']);
  expect(await end('a1')).toEqual(['a2']);
  expect(await end('b1')).toEqual(['b2']);
  expect(await end('a2')).toEqual(['a3']);
  for (const name of ['b2', 'a3', 'd1', 'e1', 'elsewhere']) expect(await end(name)).toEqual([]);
  await Promise.all(reads);
});
