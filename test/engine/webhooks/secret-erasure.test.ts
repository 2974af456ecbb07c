import { afterAll, beforeAll, expect, test } from 'vitest';
import { startLaurel, type TestLaurel } from '../../laurel.ts';

const DAY_MS = 86_400_000;
let laurel: TestLaurel;
beforeAll(async () => void (laurel = await startLaurel({ testClock: true, workers: true })));
afterAll(() => laurel.close());

test('the previous secret of a webhook is erased when its 24 hours are over', async () => {
  const startMs = Date.now() + DAY_MS;
  const setClock = async (ms: number) =>
    expect((await laurel.admin.put('/v1/clock', { now: new Date(ms).toISOString() })).status).toBe(200);
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
