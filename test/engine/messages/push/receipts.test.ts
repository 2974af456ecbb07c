/** What Expo says later about push notifications that it took. */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { startLaurel } from '../../../laurel.ts';
import { expoServer, GONE } from './expo-server.ts';
import { opened } from '../../../stack/opened.ts';
import { ok } from '../../../http/client.ts';
import { until as awaited } from '../../../waiting.ts';

const START_MS = Date.UTC(2030, 2, 1, 9);
/** Daily reminders are due. */
const EVENING_MS = Date.UTC(2030, 2, 2, 20);
const MINUTE_MS = 60_000;

/** Receipts by ticket, which is the token. */
const receipts: Record<string, object> = {};
const asked: string[][] = [];

const expo = opened(() =>
  expoServer(
    ({ to }) => (to.includes('refused') ? GONE : { ticket: { status: 'ok', id: to } }),
    (tickets) => {
      asked.push(tickets);
      return Object.fromEntries(tickets.flatMap((one) => (receipts[one] === undefined ? [] : [[one, receipts[one]]])));
    },
  ),
);
const laurel = opened(() =>
  startLaurel({
    testClock: true,
    workers: true,
    secretsKey: randomBytes(32),
    webhookAllowPrivate: true,
    pushServers: { expo: expo.url },
    worker: { emails: { everyMs: 50, receiptsEveryMs: 50 } },
  }),
);

const to = (ms: number): Promise<unknown> => ok(laurel.admin.put('/v1/clock', { now: new Date(ms).toISOString() }));
const token = (name: string): string => `ExponentPushToken[${name}]`;
const play = (id: string, devices: string[]): Promise<unknown> =>
  ok(laurel.app.post('/v1/metrics/flips/event', { user: { id, deviceTokens: devices.map(token) }, value: 1 }));
const devices = async (id: string): Promise<string[]> =>
  (await ok(laurel.app.get(`/v1/users/${id}`))).deviceTokens ?? [];
async function log(): Promise<Record<string, string>> {
  const { messages } = await ok(laurel.admin.get('/v1/messages?limit=100'));
  return Object.fromEntries(
    (messages as { userId: string; status: string; reason: string | null }[]).map((row) => [
      row.userId,
      `${row.status} ${row.reason}`,
    ]),
  );
}
const tickets = async (): Promise<number> =>
  (await laurel.pool.query<{ n: number }>('SELECT count(*)::int AS n FROM push_receipts')).rows[0]!.n;
/** If it does not happen, the error shows the messages. */
const until = (isSo: () => Promise<boolean>): Promise<boolean> =>
  awaited(isSo, Boolean, async () => [await log(), await tickets()]);

test('receipts decide whether a notification arrived, and remove tokens that are gone', async () => {
  const error = (code: string) => ({
    status: 'error',
    message: `"${token('x')}" ${code}`,
    details: { error: code },
  });
  Object.assign(receipts, {
    [token('ada')]: { status: 'ok' },
    [token('bo')]: error('DeviceNotRegistered'),
    [token('cy')]: error('MessageTooBig'),
    [token('dee-new')]: { status: 'ok' },
    [token('dee-old')]: error('DeviceNotRegistered'),
    [token('eve')]: error('DeviceNotRegistered'),
  });
  await to(START_MS);
  await ok(
    laurel.admin.put('/v1/configuration', {
      metrics: [{ key: 'flips', name: 'Flips' }],
      streaks: { enabled: true, frequency: 'daily' },
      messages: { pushTemplates: [{ kind: 'streak_reminder', title: 'Soon', body: 'It ends today.' }] },
    }),
  );
  await ok(laurel.admin.put('/v1/messages/push-channels/expo', { credentials: {} }));
  await play('ada', ['ada']);
  await play('bo', ['bo']);
  await play('cy', ['cy', 'refused']);
  await play('dee', ['dee-old', 'dee-new']);
  await play('late', ['late']);
  await play('gone', ['gone']);
  await to(EVENING_MS);
  await until(async () => Object.values(await log()).filter((text) => text.startsWith('sent')).length === 6);
  expect(await tickets()).toBe(7);
  // Tokens are stored only with their users.
  const { rows } = await laurel.pool.query("SELECT FROM push_receipts WHERE token_hash = convert_to($1, 'UTF8')", [
    token('ada'),
  ]);
  expect(rows).toEqual([]);
  await ok(laurel.admin.delete('/v1/users/gone'));
  await until(async () => (await tickets()) === 6);
  expect(asked).toEqual([]);

  await to(EVENING_MS + 16 * MINUTE_MS);
  await until(async () => (await tickets()) === 1);
  expect(await log()).toEqual({
    ada: 'delivered null',
    bo: 'failed Expo reported DeviceNotRegistered: "…" DeviceNotRegistered',
    cy: 'failed Expo reported MessageTooBig: "…" MessageTooBig',
    dee: 'delivered null',
    late: 'sent null',
  });
  expect(await devices('ada')).toEqual([token('ada')]);
  expect(await devices('bo')).toEqual([]);
  expect(await devices('cy')).toEqual([token('cy')]);
  expect(await devices('dee')).toEqual([token('dee-new')]);

  // It is asked for again, at ever longer intervals, and given up before Expo forgets it.
  const times = asked.length;
  expect(asked.at(-1)).toContain(token('late'));
  await to(EVENING_MS + 33 * MINUTE_MS);
  await until(async () => asked.length === times + 1);
  expect(asked.at(-1)).toEqual([token('late')]);
  await sleep(300);
  expect(asked).toHaveLength(times + 1);
  await to(EVENING_MS + 24 * 60 * MINUTE_MS);
  await until(async () => (await tickets()) === 0);
  expect(asked).toHaveLength(times + 1);
  expect((await log())['late']).toBe('sent null');
});
