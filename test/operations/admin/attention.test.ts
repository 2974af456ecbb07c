import { randomUUID } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import { FixedClock } from '../../../src/clock.ts';
import type { DiskSpace } from '../../../src/domain/administration/disk.ts';
import { addJob } from '../../../src/postgres/jobs.ts';
import { postgresDisk, postgresUsedBytes } from '../../../src/postgres/server-state.ts';
import { outboxKey } from '../../../src/redis/keys.ts';
import { startLaurel } from '../../laurel.ts';
import { opened } from '../../stack/opened.ts';

const NOW_MS = Date.UTC(2026, 10, 22, 9);
const HOUR_MS = 3_600_000;
const NOTHING = { webhook: null, channel: null, since: null, reason: null };

// Without workers: states change only when the test changes them.

let ids: string[];
/** The space on the disk of Postgres. */
let disk: DiskSpace = { freeBytes: 100 * 2 ** 30, usedRatio: 0.99, isPostgresOnly: false };

const laurel = opened(() =>
  startLaurel({
    clock: new FixedClock(NOW_MS),
    configuration: { metrics: [{ key: 'm', name: 'M' }] },
    backlogLimit: 3,
    disk: async () => disk,
  }),
);
beforeAll(async () => {
  const hooks = ['disabled', 'full', 'failing', 'late', 'well', 'off'].map((name) => ({
    name,
    url: 'https://example.com/laurel',
    events: ['achievement.completed'],
    enabled: name !== 'disabled' && name !== 'off',
  }));
  const { body } = await laurel.admin.post('/v1/webhooks?strict=true', hooks);
  ids = body.created.map(({ id }: { id: string }) => id);
});

const listed = async () => (await laurel.admin.get('/v1/attention')).body;
const TEXTS = ['urgent', 'text', 'advice', 'screen'];
/** The items without their texts. */
const list = async () =>
  (await listed()).map((item: Record<string, unknown>) =>
    Object.fromEntries(Object.entries(item).filter(([name]) => !TEXTS.includes(name))),
  );
const ago = (ms: number): Date => new Date(NOW_MS - ms);
const sql = (text: string, values: unknown[] = []) => laurel.pool.query(text, values);
const pending = (webhookId: string, created: Date, sequence = 1) =>
  sql(
    `INSERT INTO webhook_queue (webhook_id, sequence, day, id, lane, due_ms, created)
     VALUES ($1, $2, 0, gen_random_uuid(), 0, 0, $3)`,
    [webhookId, sequence, created],
  );

test('nothing is listed while nothing needs attention', async () => {
  expect(await list()).toEqual([]);
});

test('webhooks are listed by what is wrong, with their pending messages; those that an administrator disabled are not', async () => {
  const [disabled, full, failing, late, well] = ids as [string, string, string, string, string];
  for (const id of ids) await sql('INSERT INTO webhook_state (webhook_id, tenant_no) VALUES ($1, 0)', [id]);
  await sql('UPDATE webhook_state SET disabled_reason = $2, disabled_at = $3 WHERE webhook_id = $1', [
    disabled,
    '410 Gone',
    ago(3 * HOUR_MS),
  ]);
  await sql('UPDATE webhook_state SET is_full = true WHERE webhook_id = $1', [full]);
  await sql('UPDATE webhook_state SET failures = 10, failing_since = $2 WHERE webhook_id = $1', [
    failing,
    ago(2 * HOUR_MS),
  ]);
  await sql('UPDATE webhook_state SET failures = 9, failing_since = $2 WHERE webhook_id = $1', [well, ago(HOUR_MS)]);
  await pending(full, ago(HOUR_MS / 2), 1);
  await pending(full, ago(HOUR_MS / 4), 2);
  await pending(late, ago(HOUR_MS + 1));
  await pending(well, ago(HOUR_MS));
  const item = (trouble: string, webhook: string, rest: object) => ({
    ...NOTHING,
    kind: `webhook_${trouble}`,
    webhook: { id: webhook, name: trouble },
    ...rest,
  });
  const expected = [
    item('disabled', disabled, { count: 0, since: ago(3 * HOUR_MS).toISOString(), reason: '410 Gone' }),
    item('full', full, { count: 2, since: ago(HOUR_MS / 2).toISOString() }),
    item('failing', failing, { count: 0, since: ago(2 * HOUR_MS).toISOString() }),
    item('late', late, { count: 1, since: ago(HOUR_MS + 1).toISOString() }),
  ];
  expect(await list()).toEqual(expected);
  expect((await listed())[0]).toMatchObject({
    urgent: true,
    text: 'Laurel disabled the webhook disabled',
    advice: '410 Gone',
    screen: `/webhooks/${disabled}`,
  });
  expect((await listed())[1]).toMatchObject({ advice: '2 pending messages · further messages are not sent' });
  // Enabled again, its reason no longer applies.
  await laurel.admin.patch('/v1/webhooks', [{ id: disabled, enabled: true }]);
  expect(await list()).toEqual(expected.slice(1));
  await laurel.admin.delete(`/v1/webhooks?${ids.map((id) => `ids=${id}`).join('&')}`);
  expect(await list()).toEqual([]);
});

test('jobs that failed lately, or keep failing', async () => {
  const add = async (set: string, tenantNo: number | null = 0, subjectId = randomUUID()) => {
    const { no } = await addJob(laurel.pool, { kind: 'event_retention', tenantNo, subjectId, nowMs: NOW_MS });
    await sql(`UPDATE jobs SET ${set} WHERE no = $1`, [no]);
  };
  await add(`status = 'failed', finished = '2026-11-15T09:00:00Z'`);
  await add(`status = 'failed', finished = '2026-11-15T08:59:59Z'`);
  await add(`status = 'running', attempts = 3`);
  await add(`attempts = 2`);
  await add(`attempts = 3`, null);
  // A job that was requested again speaks for the earlier one: whether it is done, or failed as well.
  const [repeated, failedTwice] = [randomUUID(), randomUUID()];
  const failed = `status = 'failed', finished = '2026-11-15T09:00:00Z'`;
  for (const set of [failed, `status = 'done', finished = '2026-11-15T09:30:00Z'`]) await add(set, 0, repeated);
  expect(await list()).toEqual([{ ...NOTHING, kind: 'jobs_failing', count: 3 }]);
  for (const set of [failed, failed]) await add(set, 0, failedTwice);
  expect(await list()).toEqual([{ ...NOTHING, kind: 'jobs_failing', count: 4 }]);
});

test('events that nothing stores, for a key of the whole installation', async () => {
  const before = await list();
  const id = await laurel.redis.xadd(outboxKey(0), `${Date.now() - 90_000}-1`, 'an', 'entry');
  const [first, ...others] = await listed();
  expect(first).toMatchObject({ ...NOTHING, kind: 'storing_late', urgent: false, screen: '/system' });
  expect(first.count).toBeGreaterThanOrEqual(90);
  expect(others).toHaveLength(before.length);
  await laurel.redis.xdel(outboxKey(0), id!);
  expect(await list()).toEqual(before);
});

test('a disk that is nearly full, for a key of the whole installation', async () => {
  const first = async (): Promise<{ kind: string; count: number; urgent: boolean; text: string }> =>
    (await listed())[0];
  const low = 5 * 2 ** 30;
  // Enough is left, in bytes or as a share of a small disk.
  for (disk of [
    { freeBytes: low, usedRatio: 0.99, isPostgresOnly: false },
    { freeBytes: low - 1, usedRatio: 0.89, isPostgresOnly: false },
    { freeBytes: 2 ** 29 - 1, usedRatio: 0.8, isPostgresOnly: true },
  ])
    expect((await first()).kind).toBe('jobs_failing');
  disk = { freeBytes: 2 * low, usedRatio: 0.81, isPostgresOnly: true };
  expect(await first()).toMatchObject({ kind: 'disk_full', count: 10_240, urgent: false });
  disk = { freeBytes: low - 1, usedRatio: 0.9, isPostgresOnly: false };
  expect(await first()).toMatchObject({
    ...NOTHING,
    kind: 'disk_full',
    count: 5_119,
    urgent: false,
    text: '5,119 MiB are left on the disk of Postgres',
    screen: '/system',
  });
  disk = { freeBytes: 2 ** 29 - 1, usedRatio: 0.5, isPostgresOnly: false };
  expect(await first()).toMatchObject({ kind: 'disk_full', count: 511, urgent: true });
});

test('what is left of a disk whose size is given', async () => {
  const usedBytes = await postgresUsedBytes(laurel.pool);
  const space = await postgresDisk(laurel.pool, 2 * usedBytes)();
  // Other tests use the same Postgres.
  expect(space.usedRatio).toBeGreaterThan(0.05);
  expect(space.freeBytes).toBeCloseTo(2 * usedBytes * (1 - space.usedRatio), 0);
  expect(await postgresDisk(laurel.pool, 1)()).toMatchObject({ freeBytes: 0, isPostgresOnly: true });
});

test('dead letters, quarantine and a full backlog; a key of one tenant sees only what is the tenant’s', async () => {
  await sql(
    `INSERT INTO dead_letters (shard, position, tenant_no, user_ids, entry, in_redis, parts, reason)
     VALUES (0, '1-1', 0, '{}', '\\x00', false, '[]', 'broken')`,
  );
  const quarantined = (status: number) =>
    sql(
      `INSERT INTO quarantine (id, tenant_no, user_id, metric_no, guard, value, at, status)
       VALUES (gen_random_uuid(), 0, 'ada', 1, 1, 1, now(), $1)`,
      [status],
    );
  for (const status of [1, 1, 2, 3]) await quarantined(status);
  for (const user of ['ada', 'bob', 'cleo'])
    await laurel.app.post('/v1/metrics/m/event', { user: { id: user }, value: 1 });
  await expect.poll(list).toEqual(
    [
      { kind: 'disk_full', count: 511 },
      { kind: 'backlog_full', count: 3 },
      { kind: 'dead_letters', count: 1 },
      { kind: 'jobs_failing', count: 4 },
      { kind: 'quarantine', count: 2 },
    ].map((item) => ({ ...NOTHING, ...item })),
  );

  const multiTenancy = (isOn: boolean) => laurel.admin.patch('/v1/organisation', { multiTenancy: isOn });
  await multiTenancy(true);
  await laurel.admin.post('/v1/tenants', [{ customerId: 'acme', name: 'Acme' }]);
  const { body } = await laurel.admin.post('/v1/admin-api-keys', [{ name: 'Acme', tenantId: 'acme' }]);
  const key: string = body.created[0].key;
  const seen = await laurel.admin.get('/v1/attention', { headers: { 'X-API-KEY': key, 'Tenant-ID': 'acme' } });
  expect(seen).toMatchObject({ status: 200, body: [] });
});
