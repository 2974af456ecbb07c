import { randomUUID } from 'node:crypto';
import { beforeEach, expect, test } from 'vitest';
import { createResources } from '../../../../src/catalog/resources.ts';
import { FixedClock } from '../../../../src/clock.ts';
import type { WebhookDelivery } from '../../../../src/domain/notifications/webhook.ts';
import { disableWebhook } from '../../../../src/engine/webhooks/deliveries.ts';
import { leaseWebhooks } from '../../../../src/postgres/webhooks/tries.ts';
import { startLaurel } from '../../../laurel.ts';
import { settleMessages, storeMessages } from './stored-messages.ts';
import { opened } from '../../../stack/opened.ts';

// Without workers, so that nothing is sent: the test writes the log itself.
const HOUR_MS = 3_600_000;
const NOW_MS = Date.UTC(2026, 10, 22, 9);
const NOBODY = '00000000-0000-7000-8000-000000000000';
const HOOK = { name: 'News', url: 'https://example.com/laurel', events: ['points.changed'] };
const iso = (ms: number): string => new Date(ms).toISOString();
let webhookId: string;
let path: string;
const laurel = opened(() => startLaurel({ clock: new FixedClock(NOW_MS) }));
beforeEach(async () => {
  webhookId = (await laurel.admin.post('/v1/webhooks', [HOOK])).body.created[0].id;
  path = `/v1/webhooks/${webhookId}`;
});

const store = (...messages: Parameters<typeof storeMessages>[1][number][]) => storeMessages(laurel.pool, messages);
const idsOf = (body: { deliveries: WebhookDelivery[] }): string[] => body.deliveries.map(({ id }) => id);
const list = async (query = '') => (await laurel.admin.get(`${path}/deliveries${query}`)).body;
const resources = () =>
  createResources({ pool: laurel.pool, announce: async () => undefined, clock: new FixedClock(NOW_MS) });
const queued = async (): Promise<string[]> =>
  (
    await laurel.pool.query('SELECT id FROM webhook_queue WHERE webhook_id = $1 ORDER BY sequence', [webhookId])
  ).rows.map(({ id }) => id);

test('admin_webhooks_deliveries_list: newest first, in pages, by status, type, user and time', async () => {
  const at = (hours: number, more: object = {}) => ({ webhookId, atMs: NOW_MS - hours * HOUR_MS, ...more });
  const [a, b, c, d] = await store(
    at(30, { userId: 'ada' }),
    at(2, { userId: 'bob', type: 'streak.lost' }),
    at(1, { userId: 'ada' }),
    at(0, { type: 'leaderboard.started' }),
  );
  await settleMessages(laurel.pool, [a!], 'failed');
  await settleMessages(laurel.pool, [b!], 'delivered');

  const first = await list('?limit=3');
  expect(idsOf(first)).toEqual([d, c, b]);
  const second = await list(`?limit=3&cursor=${first.nextCursor}`);
  expect([idsOf(second), second.nextCursor]).toEqual([[a], null]);
  expect((await list('?limit=4')).nextCursor).toBeNull();

  const found = async (query: string): Promise<string[]> => idsOf(await list(query));
  expect(await found('?status=failed')).toEqual([a]);
  expect(await found('?status=delivered')).toEqual([b]);
  expect(await found('?status=pending')).toEqual([d, c]);
  expect(await found('?type=points.changed')).toEqual([c, a]);
  expect(await found('?userId=ada')).toEqual([c, a]);
  expect(await found(`?from=${iso(NOW_MS - 2 * HOUR_MS)}&to=${iso(NOW_MS)}`)).toEqual([c, b]);
  expect(await found('?userId=nobody')).toEqual([]);

  const [, pending, delivered] = first.deliveries as WebhookDelivery[];
  expect(pending).toEqual({
    id: c,
    type: 'points.changed',
    userId: 'ada',
    sequence: expect.any(Number),
    status: 'pending',
    test: false,
    tries: 0,
    lastStatus: null,
    reason: null,
    at: iso(NOW_MS - HOUR_MS),
    created: iso(NOW_MS - HOUR_MS),
    nextTry: iso(NOW_MS - HOUR_MS),
    finished: null,
  });
  expect(delivered).toMatchObject({ tries: 1, lastStatus: 204, nextTry: null, finished: iso(NOW_MS - 2 * HOUR_MS) });
});

test('refuses bad queries and names the parameter', async () => {
  for (const [query, name] of [
    ['?limit=0', 'limit'],
    ['?limit=101', 'limit'],
    ['?cursor=x', 'cursor'],
    ['?status=lost', 'status'],
    ['?type=user.created', 'type'],
    ['?from=yesterday', 'from'],
    ['?to=2026-11-22', 'to'],
    ['?to=2016-12-31T23:59:60Z', 'to'],
  ] as const) {
    const { status, body } = await laurel.admin.get(`${path}/deliveries${query}`);
    expect([query, status, body.error]).toEqual([query, 422, expect.stringContaining(name)]);
  }
});

test('admin_webhooks_deliveries_get: the payload and every try', async () => {
  const [id] = await store({ webhookId, userId: 'ada', atMs: NOW_MS });
  await settleMessages(laurel.pool, [id!], 'failed');
  const { body } = await laurel.admin.get(`${path}/deliveries/${id!.toUpperCase()}`);
  expect(body).toMatchObject({
    id,
    status: 'failed',
    tries: 1,
    payload: { type: 'points.changed', user: { id: 'ada' } },
  });
  expect(body.attempts).toEqual([
    { at: '2026-11-22T00:00:00.000Z', durationMs: 12, status: 500, error: 'answered 500', answer: 'Well' },
  ]);
  for (const nobody of [NOBODY, 'no-uuid'])
    expect((await laurel.admin.get(`${path}/deliveries/${nobody}`)).status).toBe(404);
});

test('admin_webhooks_deliveries_resend queues a message again under its ID and sequence, once while it waits', async () => {
  const [failed, other, waiting] = await store(
    { webhookId, userId: 'ada', atMs: NOW_MS },
    { webhookId, atMs: NOW_MS },
    { webhookId, atMs: NOW_MS },
  );
  await settleMessages(laurel.pool, [failed!, other!], 'failed');
  await laurel.pool.query('UPDATE webhook_queue SET due_ms = $2, tries = 3 WHERE id = $1', [waiting, NOW_MS + HOUR_MS]);
  const { body: before } = await laurel.admin.get(`${path}/deliveries/${failed}`);

  for (let times = 0; times < 2; times += 1) {
    const { status, body } = await laurel.admin.post(`${path}/deliveries/${failed}/resend`);
    expect(status).toBe(202);
    const { payload: _payload, attempts: _attempts, ...shown } = before;
    expect(body).toEqual({ ...shown, status: 'pending', nextTry: iso(NOW_MS), finished: null });
  }
  // A message that waits for a later try is tried at once.
  expect((await laurel.admin.post(`${path}/deliveries/${waiting}/resend`)).body.nextTry).toBe(iso(NOW_MS));
  expect(await queued()).toEqual([failed, waiting]);
  const { rows } = await laurel.pool.query(
    'SELECT id, tries, lane <> 0 AS "ofUser" FROM webhook_queue WHERE webhook_id = $1',
    [webhookId],
  );
  expect(rows.toSorted((one, another) => one.tries - another.tries)).toEqual([
    { id: failed, tries: 0, ofUser: true },
    { id: waiting, tries: 3, ofUser: false },
  ]);
  // The other one that failed stays.
  expect(idsOf(await list('?status=failed'))).toEqual([other]);
  const { body: recorded } = await laurel.admin.get(`/v1/audit-log?kind=webhook&resourceId=${webhookId}&limit=100`);
  expect(recorded.filter(({ action }: { action: string }) => action === 'resend')).toMatchObject([
    { after: { delivery: waiting } },
    { after: { delivery: failed }, userId: 'ada' },
    { after: { delivery: failed }, userId: 'ada' },
  ]);
  expect((await laurel.admin.post(`${path}/deliveries/${NOBODY}/resend`)).status).toBe(404);
});

test('admin_webhooks_state shows pending messages, since when it fails, and why Laurel disabled it', async () => {
  const state = async () => (await laurel.admin.get(`${path}/state`)).body;
  const well = {
    waiting: 0,
    oldest: null,
    full: false,
    failures: 0,
    failingSince: null,
    pausedUntil: null,
    disabledReason: null,
    disabledAt: null,
  };
  expect(await state()).toEqual(well);
  await store({ webhookId, atMs: NOW_MS - HOUR_MS }, { webhookId, atMs: NOW_MS });
  expect(await state()).toEqual({ ...well, waiting: 2, oldest: iso(NOW_MS - HOUR_MS) });
  await laurel.pool.query(
    `UPDATE webhook_state SET failures = 12, failing_since = to_timestamp($2), open_until = now() + interval '1 hour'
      WHERE webhook_id = $1`,
    [webhookId, NOW_MS / 1_000],
  );
  expect(await state()).toMatchObject({ failures: 12, failingSince: iso(NOW_MS), pausedUntil: expect.any(String) });

  const disabled = async () =>
    /^laurel_webhooks_disabled (\d+)$/m.exec(await (await fetch(`${laurel.adminUrl}/metrics`)).text())![1];
  expect(await disabled()).toBe('0');
  await disableWebhook(resources(), { tenantNo: 0, webhookId, url: HOOK.url }, 'gone');
  expect(await disabled()).toBe('1');
  expect(await state()).toMatchObject({
    waiting: 2,
    failures: 0,
    pausedUntil: null,
    disabledReason: 'the receiver answered 410 Gone',
    disabledAt: iso(NOW_MS),
  });
  await laurel.admin.patch('/v1/webhooks', [{ id: webhookId, enabled: true }]);
  expect(await state()).toMatchObject({ waiting: 2, disabledReason: null, disabledAt: null });
  expect(await disabled()).toBe('0');
  // Once Laurel has sent to it, an administrator who disables it is not taken for Laurel.
  const leased = await leaseWebhooks(laurel.pool, { holder: randomUUID(), nowMs: NOW_MS, leaseMs: 0, most: 10 });
  expect(leased.map((one) => one.webhookId)).toContain(webhookId);
  await laurel.admin.patch('/v1/webhooks', [{ id: webhookId, enabled: false }]);
  expect(await state()).toMatchObject({ waiting: 2, disabledReason: null, disabledAt: null });
  expect(await disabled()).toBe('0');
});

test('sends nothing again, and no test, to a disabled webhook', async () => {
  const [id] = await store({ webhookId, atMs: NOW_MS });
  await settleMessages(laurel.pool, [id!], 'failed');
  await laurel.admin.patch('/v1/webhooks', [{ id: webhookId, enabled: false }]);
  for (const [operation, body] of [
    [`deliveries/${id}/resend`, undefined],
    ['resend', {}],
    ['test', { type: 'streak.lost' }],
  ] as const) {
    const answer = await laurel.admin.post(`${path}/${operation}`, body);
    expect([answer.status, answer.body.error]).toEqual([422, 'The webhook is disabled: enable it first']);
  }
  expect(await queued()).toEqual([]);
  expect((await laurel.admin.get(`${path}/deliveries/${id}`)).body.status).toBe('failed');
});

test('a read-only key reads and neither resends nor tests nor rotates', async () => {
  const [{ key }] = (await laurel.admin.post('/v1/admin-api-keys', [{ name: 'Reader', access: 'read' }])).body.created;
  const [id] = await store({ webhookId, atMs: NOW_MS });
  for (const operation of ['state', 'deliveries', `deliveries/${id}`, 'resends'])
    expect((await laurel.admin.get(`${path}/${operation}`, { key })).status).toBe(200);
  for (const operation of [`deliveries/${id}/resend`, 'resend', 'test', 'rotate-secret'])
    expect((await laurel.admin.post(`${path}/${operation}`, { type: 'streak.lost' }, { key })).status).toBe(403);
});

test('does not find a message of another webhook, nor the log of a deleted webhook', async () => {
  const [id] = await store({ webhookId, atMs: NOW_MS });
  const [{ id: otherId }] = (await laurel.admin.post('/v1/webhooks', [HOOK])).body.created;
  expect((await laurel.admin.get(`/v1/webhooks/${otherId}/deliveries/${id}`)).status).toBe(404);
  expect((await laurel.admin.post(`/v1/webhooks/${otherId}/deliveries/${id}/resend`)).status).toBe(404);
  await laurel.admin.delete(`/v1/webhooks?ids=${webhookId}`);
  for (const operation of ['state', 'deliveries', `deliveries/${id}`, 'resends'])
    expect((await laurel.admin.get(`${path}/${operation}`)).status).toBe(404);
});

// Last: the configuration of the only tenant is suspended afterwards.
test('webhooks of other tenants are 404', async () => {
  await laurel.admin.patch('/v1/organisation', { multiTenancy: true });
  await laurel.admin.post(
    '/v1/tenants',
    ['a', 'b'].map((customerId) => ({ customerId, name: customerId })),
  );
  const [{ id }] = (await laurel.admin.post('/v1/webhooks', [HOOK], { tenantId: 'a' })).body.created;
  const ofB = { tenantId: 'b' };
  for (const operation of ['state', 'deliveries', `deliveries/${NOBODY}`, 'resends'])
    expect((await laurel.admin.get(`/v1/webhooks/${id}/${operation}`, ofB)).status).toBe(404);
  for (const [operation, body] of [
    [`deliveries/${NOBODY}/resend`, undefined],
    ['resend', {}],
    ['test', { type: 'streak.lost' }],
  ] as const)
    expect((await laurel.admin.post(`/v1/webhooks/${id}/${operation}`, body, ofB)).status).toBe(404);
});
