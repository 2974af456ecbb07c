import { expect, test } from 'vitest';
import { startLaurel } from '../../laurel.ts';
import { Receiver } from './receiver.ts';
import { opened } from '../../stack/opened.ts';

const DAY_MS = 86_400_000;
const receiver = opened(() => Receiver.start());
const laurel = opened(() => startLaurel({ testClock: true, workers: true, webhookAllowPrivate: true }));

const setClock = async (ms: number) =>
  expect((await laurel.admin.put('/v1/clock', { now: new Date(ms).toISOString() })).status).toBe(200);

test("erases a webhook's previous secret when its 24 hours are over", async () => {
  const startMs = Date.now() + DAY_MS;
  await setClock(startMs);
  const hook = { name: 'News', url: 'https://example.com/', events: ['streak.lost'] };
  const [{ id, secret }] = (await laurel.admin.post('/v1/webhooks', [hook])).body.created;
  const { body: rotated } = await laurel.admin.post(`/v1/webhooks/${id}/rotate-secret`);
  const stored = async () =>
    (await laurel.pool.query('SELECT secret, previous FROM webhook_secrets WHERE webhook_id = $1', [id])).rows;

  await setClock(startMs + DAY_MS - 1);
  expect(await stored()).toEqual([{ secret: rotated.secret, previous: secret }]);
  await setClock(startMs + DAY_MS);
  expect(await stored()).toEqual([{ secret: rotated.secret, previous: null }]);
});

test('the previous secret signs until its 24 hours are over, and not once more', async () => {
  const startMs = Date.now() + 3 * DAY_MS;
  await setClock(startMs);
  const hook = { name: 'News', url: receiver.url, events: ['streak.lost'] };
  const [{ id }] = (await laurel.admin.post('/v1/webhooks', [hook])).body.created;
  await laurel.admin.post(`/v1/webhooks/${id}/rotate-secret`);
  const signatures = async (): Promise<number> => {
    const before = receiver.received.length;
    await laurel.admin.post(`/v1/webhooks/${id}/test`, { type: 'streak.lost' });
    await expect.poll(() => receiver.received.length).toBe(before + 1);
    return String(receiver.received.at(-1)!.headers['webhook-signature']).split(' ').length;
  };
  await setClock(startMs + DAY_MS - 1);
  expect(await signatures()).toBe(2);
  await setClock(startMs + DAY_MS);
  expect(await signatures()).toBe(1);
});
