import { beforeEach, expect, test } from 'vitest';
import type { Webhook } from '../../../../src/domain/catalog.ts';
import { FixedClock } from '../../../../src/clock.ts';
import { JobRunner } from '../../../../src/engine/schedule/job-runner.ts';
import { createResends, createWebhookDeliveries } from '../../../../src/engine/webhooks/webhook-deliveries.ts';
import { startLaurel } from '../../../laurel.ts';
import { settleMessages, storeMessages } from './stored-messages.ts';
import { opened } from '../../../stack/opened.ts';

// Without workers: the test does their part step by step.
const NOW_MS = Date.UTC(2026, 10, 22, 9);
const HOUR_MS = 3_600_000;
const HOOK = { name: 'News', url: 'https://example.com/laurel', events: ['points.changed'] };
const clock = new FixedClock(NOW_MS);
const iso = (ms: number): string => new Date(ms).toISOString();
let webhookId: string;
let path: string;
const laurel = opened(() => startLaurel({ clock }));
beforeEach(async () => {
  webhookId = (await laurel.admin.post('/v1/webhooks', [HOOK])).body.created[0].id;
  path = `/v1/webhooks/${webhookId}`;
});

/** A worker that resends. */
const runner = (onQueued = (): unknown => undefined): JobRunner =>
  new JobRunner({ pool: laurel.pool, works: [createResends(laurel.pool, clock, onQueued)] });
const queued = async (): Promise<string[]> =>
  (
    await laurel.pool.query('SELECT id FROM webhook_queue WHERE webhook_id = $1 ORDER BY sequence', [webhookId])
  ).rows.map(({ id }) => id);
/** Many failed messages, by one statement. */
const storeFailed = (count: number) =>
  laurel.pool.query(
    `INSERT INTO webhook_messages (day, id, webhook_id, tenant_no, type, sequence, at, created, payload, status, failed)
     SELECT 0, gen_random_uuid(), $1, 0, 'points.changed', nextval('webhook_sequences'), now(), now(), '{}', 'failed', true
       FROM generate_series(1, $2)`,
    [webhookId, count],
  );

test('queues a small resend at once, by status, type and time, without later messages', async () => {
  const ids = await storeMessages(laurel.pool, [
    { webhookId, atMs: NOW_MS - 3 * HOUR_MS },
    { webhookId, atMs: NOW_MS - 2 * HOUR_MS, type: 'streak.lost' },
    { webhookId, atMs: NOW_MS - 2 * HOUR_MS },
    { webhookId, atMs: NOW_MS - HOUR_MS },
    { webhookId, atMs: NOW_MS },
  ]);
  await settleMessages(laurel.pool, ids.slice(0, 3), 'failed');
  await settleMessages(laurel.pool, ids.slice(3), 'delivered');

  const selection = { types: ['points.changed'], from: iso(NOW_MS - 2 * HOUR_MS), to: iso(NOW_MS) };
  const { status, body } = await laurel.admin.post(`${path}/resend`, selection);
  expect(status).toBe(202);
  expect(body).toEqual({
    ...selection,
    id: expect.any(String),
    status: 'failed',
    resent: 1,
    total: 1,
    requested: iso(NOW_MS),
    finished: iso(NOW_MS),
  });
  expect(await queued()).toEqual([ids[2]]);

  expect((await laurel.admin.post(`${path}/resend`, { status: 'delivered' })).body).toMatchObject({
    resent: 2,
    total: 2,
  });
  expect(await queued()).toEqual(ids.slice(2));
  expect((await laurel.admin.post(`${path}/resend`, {})).body).toMatchObject({ types: null, from: null, resent: 2 });
  expect(await queued()).toEqual(ids);
  const { body: resends } = await laurel.admin.get(`${path}/resends`);
  expect(resends.map(({ resent }: { resent: number }) => resent)).toEqual([2, 2, 1]);
});

test('a large one continues in steps, from where it was after a crash, while the webhook has room', async () => {
  await storeFailed(1_700);
  const { body: begun } = await laurel.admin.post(`${path}/resend`, {});
  expect(begun).toMatchObject({ resent: 500, total: null, finished: null });
  let wakes = 0;
  const worker = runner(() => (wakes += 1));
  const now = async () => (await laurel.admin.get(`${path}/resends`)).body[0];

  expect(await worker.step()).toBe(true);
  expect(await now()).toMatchObject({ resent: 1_000, total: 1_700, finished: null });
  // A thousand wait: there is no room until some are delivered.
  const began: Date = (await laurel.pool.query('SELECT now() AS at')).rows[0].at;
  expect(await worker.step()).toBe(true);
  const { rows } = await laurel.pool.query<{ due: Date }>('SELECT due FROM jobs WHERE id = $1', [begun.id]);
  expect(rows.map(({ due }) => due.getTime() - began.getTime() >= 1_000)).toEqual([true]);
  expect([(await now()).resent, wakes]).toEqual([1_000, 1]);

  await settleMessages(laurel.pool, await queued(), 'delivered');
  // Another worker, which knows nothing of the first.
  const other = runner(() => (wakes += 1));
  await expect.poll(async () => (await other.step(), (await now()).finished)).toBe(iso(NOW_MS));
  expect(await now()).toMatchObject({ resent: 1_700, total: 1_700 });
  expect((await queued()).length).toBe(700);
  expect([await other.step(), await other.untilNextMs(), wakes]).toEqual([false, null, 3]);
});

test('two concurrent workers queue each message once', async () => {
  await storeFailed(900);
  await laurel.admin.post(`${path}/resend`, {});
  const workers = [runner(), runner()];
  await Promise.all(workers.map((worker) => worker.step()));
  while (await workers[0]!.step());
  expect((await laurel.admin.get(`${path}/resends`)).body[0]).toMatchObject({ resent: 900, finished: iso(NOW_MS) });
  expect((await queued()).length).toBe(900);
});

test('a resend ends with its webhook', async () => {
  await storeFailed(600);
  await laurel.admin.post(`${path}/resend`, {});
  await laurel.admin.delete(`/v1/webhooks?ids=${webhookId}`);
  await runner().step();
  const { body } = await laurel.admin.get('/v1/jobs?kind=webhook_resend&limit=1');
  expect(body).toMatchObject([{ subject: { id: webhookId }, status: 'done', progress: { done: 500 } }]);
});

test('at most ten of a webhook are unfinished', async () => {
  await storeFailed(500);
  await laurel.pool.query(
    `INSERT INTO jobs (id, kind, tenant_no, subject_id, parameters, result, requested)
     SELECT gen_random_uuid(), 'webhook_resend', 0, $1, '{}', '{}', now() FROM generate_series(1, 10)`,
    [webhookId],
  );
  const { status, body } = await laurel.admin.post(`${path}/resend`, {});
  expect([status, body.error]).toEqual([422, 'The webhook has 10 resends that are not finished: wait for them']);
  expect(await queued()).toEqual([]);
});

test('refuses invalid requests', async () => {
  for (const [request, field] of [
    [{ status: 'pending' }, 'status'],
    [{ types: ['user.created'] }, 'types[0]'],
    [{ types: [] }, 'types'],
    [{ from: '2026-11-22' }, 'from'],
    [{ type: 'streak.lost' }, 'type is not a known field (did you mean types?)'],
  ] as const) {
    const { status, body } = await laurel.admin.post(`${path}/resend`, request);
    expect([status, body.error]).toEqual([400, expect.stringContaining(field)]);
  }
});

test('a resend of a webhook that is deleted meanwhile gets 404', async () => {
  await storeFailed(1);
  const webhook = { id: webhookId, name: HOOK.name, enabled: true } as Webhook;
  const deliveries = createWebhookDeliveries({
    pool: laurel.pool,
    clock,
    onQueued: () => undefined,
    wake: async () => {
      await laurel.pool.query('DELETE FROM jobs WHERE subject_id = $1', [webhookId]);
    },
  });
  await expect(deliveries.resendAll({ tenantNo: 0, webhook }, {}, { who: 'test' })).rejects.toMatchObject({
    code: 'not_found',
  });
});

test('of new webhooks, one that is deleted before its secret is read is an issue', async () => {
  // As after a deletion by another request.
  await laurel.pool.query(`CREATE FUNCTION forget() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN
    DELETE FROM webhook_secrets WHERE webhook_id = new.webhook_id; RETURN NULL; END'`);
  await laurel.pool.query(
    'CREATE TRIGGER forgotten AFTER INSERT ON webhook_secrets FOR EACH ROW EXECUTE FUNCTION forget()',
  );
  try {
    const { status, body } = await laurel.admin.post('/v1/webhooks', [HOOK]);
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { created: [], issues: [{ severity: 'error', message: 'The webhook was deleted meanwhile' }] },
    });
  } finally {
    await laurel.pool.query('DROP TRIGGER forgotten ON webhook_secrets; DROP FUNCTION forget()');
  }
});
