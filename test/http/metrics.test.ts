import { afterAll, beforeAll, expect, test } from 'vitest';
import { DELIVERY_COUNTS_KEY } from '../../src/redis/keys.ts';
import { insert, message } from '../postgres/webhooks/messages.ts';
import { startLaurel, type TestLaurel } from '../laurel.ts';
import { STUDY_APP } from '../study-app.ts';

let laurel: TestLaurel;
beforeAll(async () => {
  laurel = await startLaurel({ configuration: STUDY_APP });
});
afterAll(() => laurel.close());

test('the admin port shows what waits for Postgres; the application port does not', async () => {
  await laurel.app.post('/v1/metrics/flips/event', { user: { id: 'u' }, value: 1 });
  const read = await fetch(`${laurel.adminUrl}/metrics`);
  expect(read.headers.get('Content-Type')).toContain('text/plain');
  const text = await read.text();
  expect(text).toMatch(/^laurel_outbox_entries 1$/m);
  expect(text).toMatch(/^laurel_persist_lag_seconds [\d.e-]+$/m);
  expect((await fetch(`${laurel.appUrl}/metrics`)).status).toBe(404);
});

test('the metrics of the process are measured when they are asked for, not by a timer that wakes it at rest', async () => {
  const text = await (await fetch(`${laurel.adminUrl}/metrics`)).text();
  expect(text).toMatch(/^nodejs_eventloop_utilization [\d.e-]+$/m);
  expect(text).toMatch(/^process_cpu_seconds_total [\d.]+$/m);
  expect(text).not.toContain('nodejs_eventloop_lag_p99_seconds');
});

test('what waits for webhooks is counted, and how tries ended', async () => {
  const { body } = await laurel.admin.post('/v1/webhooks', [
    { name: 'one', url: 'https://hook.example', events: ['points.changed'] },
    { name: 'off', url: 'https://hook.example', events: ['points.changed'], enabled: false },
  ]);
  const [enabled, disabled] = body.created as [{ id: string }, { id: string }];
  const messages = [enabled, enabled, disabled].map(({ id }) => message(id, 'anna'));
  await insert(laurel.pool, messages, Date.now());
  await laurel.redis.hset(DELIVERY_COUNTS_KEY, { delivered: 7, timed_out: 2 });
  const text = await (await fetch(`${laurel.adminUrl}/metrics`)).text();
  expect(text).toMatch(/^laurel_webhook_messages_waiting 2$/m);
  expect(text).toMatch(/^laurel_webhook_oldest_waiting_seconds [\d.e-]+$/m);
  expect(text).toMatch(/^laurel_webhook_tries_total\{outcome="delivered"\} 7$/m);
  expect(text).toMatch(/^laurel_webhook_tries_total\{outcome="timed_out"\} 2$/m);
});
