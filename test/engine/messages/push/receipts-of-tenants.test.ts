import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startLaurel, type TestLaurel } from '../../../laurel.ts';
import { addTenants } from '../../../several-tenants.ts';
import { expoServer } from './expo-server.ts';
import { opened } from '../../../stack/opened.ts';

const START_MS = Date.UTC(2030, 2, 1, 9);
/** Daily reminders are due. */
const EVENING_MS = Date.UTC(2030, 2, 2, 20);
const TENANTS = ['silent', 'other'];

let laurel: TestLaurel;
let release = (): void => undefined;
/** When the first receipts of each tenant were asked for. */
const askedMs: Record<string, number> = {};

const token = (name: string): string => `ExponentPushToken[${name}]`;

const expo = opened(async () => {
  const released = new Promise<void>((resolve) => (release = resolve));
  return expoServer(
    ({ to }) => ({ ticket: { status: 'ok', id: to } }),
    async (tickets) => {
      for (const tenantId of TENANTS) if (tickets.includes(token(tenantId))) askedMs[tenantId] ??= performance.now();
      if (tickets.includes(token('silent'))) await released;
      return Object.fromEntries(tickets.map((one) => [one, { status: 'ok' }]));
    },
  );
});
beforeAll(async () => {
  laurel = await startLaurel({
    testClock: true,
    workers: true,
    secretsKey: randomBytes(32),
    webhookAllowPrivate: true,
    pushServers: { expo: expo.url },
    worker: { emails: { everyMs: 50, receiptsEveryMs: 50 } },
  });
});
afterAll(async () => {
  await laurel.close();
});

const to = async (ms: number): Promise<void> =>
  expect((await laurel.admin.put('/v1/clock', { now: new Date(ms).toISOString() })).status).toBe(200);

/** The statuses of a tenant's messages. */
const statuses = async (tenantId: string): Promise<string[]> =>
  (await laurel.admin.get('/v1/messages?limit=100', { tenantId })).body.messages.map(
    ({ status }: { status: string }) => status,
  );

test('a tenant whose receipts are not answered does not hold those of others', async () => {
  await to(START_MS);
  await addTenants(laurel, TENANTS, {
    metrics: [{ key: 'flips', name: 'Flips' }],
    streaks: { enabled: true, frequency: 'daily' },
    messages: { pushTemplates: [{ kind: 'streak_reminder', title: 'Soon', body: 'It ends today.' }] },
  });
  for (const tenantId of TENANTS) {
    await laurel.admin.put('/v1/messages/push-channels/expo', { credentials: {} }, { tenantId });
    const event = { user: { id: 'ada', deviceTokens: [token(tenantId)] }, value: 1 };
    expect((await laurel.app.post('/v1/metrics/flips/event', event, { tenantId })).status).toBe(201);
  }
  await to(EVENING_MS);
  for (const tenantId of TENANTS) await expect.poll(() => statuses(tenantId)).toEqual(['sent']);
  await to(EVENING_MS + 16 * 60_000);
  await expect.poll(() => statuses('other')).toEqual(['delivered']);
  expect(await statuses('silent')).toEqual(['sent']);
  // The request of the silent tenant is given up after 10 s: nobody waited for that.
  await expect.poll(() => askedMs['silent']).toBeDefined();
  expect(askedMs['other']! - askedMs['silent']!).toBeLessThan(10_000);
  release();
  await to(EVENING_MS + 40 * 60_000);
  await expect.poll(() => statuses('silent')).toEqual(['delivered']);
});
