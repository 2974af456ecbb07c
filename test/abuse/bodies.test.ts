import { expect, test } from 'vitest';
import { BULK_BODY_BYTES } from '../../src/operations/bulk.ts';
import { adminOperations, applicationOperations } from '../../src/operations/index.ts';
import { BODY_BYTES } from '../../src/operations/operation.ts';
import { WEBHOOK_EVENTS } from '../../src/domain/notifications/webhook.ts';
import { startLaurel } from '../laurel.ts';
import { opened } from '../stack/opened.ts';

const laurel = opened(() => startLaurel({ configuration: { metrics: [{ key: 'flips', name: 'Flips' }] } }));

const EVENT = '/v1/metrics/flips/event';

/** An event of exactly this many bytes. An unknown field fills the rest. */
const eventOf = (bytes: number): string => {
  const event = (filler: string): string => JSON.stringify({ user: { id: 'ada' }, value: 1, filler });
  return event('x'.repeat(bytes - event('').length));
};

test('accepts an event of 64 KiB and answers 413 for one byte more', async () => {
  const send = (bytes: number) => laurel.app.post(EVENT, undefined, { rawBody: eventOf(bytes) });
  expect((await send(BODY_BYTES)).status).toBe(201);
  expect(await send(BODY_BYTES + 1)).toMatchObject({
    status: 413,
    body: { error: `The body must have at most ${BODY_BYTES} bytes` },
  });
});

test('only batches of events and the configuration document may be as large as BODY_LIMIT', () => {
  const limits = [...applicationOperations, ...adminOperations].filter(({ body }) => body !== null);
  const unlimited = limits.filter(({ bodyBytes }) => bodyBytes === null).map(({ id }) => id);
  expect(unlimited.toSorted()).toEqual([
    'admin_configuration_diff',
    'admin_configuration_put',
    'admin_metrics_batch_events',
  ]);
  for (const { id, surface, bodyBytes } of limits)
    if (bodyBytes !== null && !['admin_imports_create', 'leaderboards_rankings', 'messages_feedback'].includes(id))
      expect(bodyBytes).toBeLessThanOrEqual(surface === 'admin' ? BULK_BODY_BYTES : BODY_BYTES);
  // 500 user IDs.
  expect(limits.find(({ id }) => id === 'leaderboards_rankings')!.bodyBytes).toBe(4 * BODY_BYTES);
  // 1,000 reports, for those who know the signed address only.
  expect(limits.find(({ id }) => id === 'messages_feedback')!.bodyBytes).toBe(16 * BODY_BYTES);
  // User imports, for administrators only.
  expect(limits.find(({ id }) => id === 'admin_imports_create')!.bodyBytes).toBe(4 * BULK_BODY_BYTES);
});

test('a bulk body has room for 100 items of the largest size', async () => {
  const owl = '🦉';
  const webhook = {
    name: owl.repeat(255),
    url: `https://example.com/${'x'.repeat(2_028)}`,
    events: WEBHOOK_EVENTS,
    enabled: false,
  };
  const pause = { userId: owl.repeat(255), start: '2026-11-18', end: '2026-11-19' };
  for (const [path, body] of [
    ['/v1/webhooks', Array.from({ length: 100 }, () => webhook)],
    ['/v1/streaks/pauses', { pauses: Array.from({ length: 100 }, () => pause) }],
  ] as const)
    expect((await laurel.admin.post(path, body)).status).toBeLessThan(300);
});

test('an error truncates the input that it quotes', async () => {
  const attributes = Object.fromEntries(Array.from({ length: 90 }, (_, at) => [`${'k'.repeat(600)}${at}`, 'v']));
  const { status, body } = await laurel.app.post(EVENT, { user: { id: 'ada' }, value: 1, attributes });
  expect(status).toBeGreaterThanOrEqual(400);
  expect(body.error.length).toBeLessThan(4_200);
});
