import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { occasionMessageId } from '../../../src/engine/messages/message-queue.ts';
import { addMessagesToSend } from '../../../src/postgres/notifications/messages.ts';
import { transaction } from '../../../src/postgres/transaction.ts';
import { startLaurel, type TestLaurel } from '../../laurel.ts';
import { TEMPLATES } from './channel.ts';
import { expoServer, GONE, OK } from './push/expo-server.ts';
import { answer, smtpServer } from './smtp-server.ts';

const START = '2030-03-01T09:00:00.000Z';
const LATER = '2030-03-01T09:06:00.000Z';
const RECAP = { kind: 'recap', title: 'T', body: 'B' };

let laurel: TestLaurel;
let smtp: Awaited<ReturnType<typeof smtpServer>>;
let expo: Awaited<ReturnType<typeof expoServer>>;
/** Whether the servers refuse the credentials. */
let isRefusing = true;
const closing: (() => unknown)[] = [];
beforeAll(async () => {
  smtp = await smtpServer({
    onMailFrom: (_address, _session, done) => done(isRefusing ? answer(535) : null),
    onRcptTo: ({ address }, _session, done) => done(address.startsWith('gone') ? answer(550) : null),
  });
  expo = await expoServer(({ to }) => (isRefusing ? { status: 401 } : to.includes('gone') ? GONE : OK));
  laurel = await startLaurel({
    testClock: true,
    workers: true,
    webhookAllowPrivate: true,
    publicUrl: 'https://laurel.example',
    secretsKey: randomBytes(32),
    pushServers: { expo: expo.url },
    worker: { emails: { everyMs: 50, firstPauseMs: 50 } },
  });
  closing.push(smtp.close, expo.close, () => laurel.close());
  await laurel.admin.put('/v1/clock', { now: START });
  const { status, body } = await laurel.admin.put('/v1/configuration', {
    messages: { templates: TEMPLATES, pushTemplates: [RECAP] },
  });
  if (status !== 200) throw new Error(JSON.stringify(body));
});
afterAll(async () => {
  for (const close of closing.toReversed()) await close();
});

const attention = async () => (await laurel.admin.get('/v1/attention')).body;
const metrics = async () => (await fetch(`${laurel.adminUrl}/metrics`)).text();
const states = async (): Promise<Record<string, { failures: number; failing_reason: string | null }>> => {
  const { rows } = await laurel.pool.query(
    `SELECT 'email' AS channel, failures, failing_reason FROM message_channels
      UNION ALL SELECT provider, failures, failing_reason FROM push_channels`,
  );
  return Object.fromEntries(rows.map(({ channel, ...rest }) => [channel, rest]));
};

/** A message of each medium to each user, due now. */
async function due(...userIds: string[]): Promise<void> {
  const atMs = Date.parse((await laurel.admin.get('/v1/clock')).body.now);
  for (const id of userIds)
    await laurel.app.put(`/v1/users/${id}`, {
      email: `${id}@example.com`,
      deviceTokens: [`ExponentPushToken[${id}]`],
    });
  const messages = userIds.flatMap((userId) =>
    (['email', 'push'] as const).map((medium) => ({
      id: occasionMessageId(0, 'recap', userId, medium),
      tenantNo: 0,
      userId,
      kind: 'recap' as const,
      medium,
      atMs,
      payload: JSON.stringify({ type: 'emails.recap_due', user: {} }),
    })),
  );
  await transaction(laurel.pool, (client) => addMessagesToSend(client, messages));
}

test('channels whose attempts fail need attention after five minutes, until one succeeds', async () => {
  const channel = { host: '127.0.0.1', port: smtp.port, security: 'none', senderAddress: 'hello@example.org' };
  await laurel.admin.put('/v1/messages/channel', { ...channel, pace: 50 });
  await laurel.admin.put('/v1/messages/push-channels/expo', { credentials: {} });
  await due('a', 'b', 'c', 'd', 'e', 'f');
  await expect
    .poll(async () => Object.values(await states()).map(({ failures }) => failures >= 5))
    .toEqual([true, true]);
  expect(await attention()).toEqual([]);
  await laurel.admin.put('/v1/clock', { now: LATER });
  expect(await attention()).toMatchObject([
    { kind: 'channel_failing', channel: 'email', since: START, reason: expect.stringContaining('535') },
    { kind: 'channel_failing', channel: 'expo', since: START, reason: expect.stringContaining('401') },
  ]);
  await expect.poll(metrics).toContain('laurel_message_channels_failing{channel="email"} 1');
  // A channel that is disabled sends nothing, so nobody needs to look.
  await laurel.admin.put('/v1/messages/push-channels/expo', { enabled: false });
  expect(await attention()).toMatchObject([{ channel: 'email' }]);
  expect((await states())['expo']).toEqual({ failures: 0, failing_reason: null });
  // Once it is enabled it may fail again at once, which counts from now on.
  await laurel.admin.put('/v1/messages/push-channels/expo', { enabled: true });
  expect(await attention()).toMatchObject([{ channel: 'email' }]);

  isRefusing = false;
  await due('g');
  await expect.poll(states).toMatchObject({ email: { failures: 0, failing_reason: null } });
  expect(await attention()).toEqual([]);
});

test('refused addresses and devices that are gone are no failures of a channel', async () => {
  await due('gone1', 'gone2', 'gone3', 'gone4', 'gone5', 'gone6');
  const failed = async () => (await laurel.admin.get('/v1/messages?status=failed&limit=100')).body.messages.length;
  await expect.poll(failed).toBe(12);
  // The turn records its attempts at its end.
  await sleep(500);
  expect(Object.values(await states()).map(({ failures }) => failures)).toEqual([0, 0]);
});

test('a channel whose secrets cannot be read fails', async () => {
  await laurel.pool.query("UPDATE push_channels SET credentials = '\\x00'");
  await due('h');
  await expect
    .poll(async () => (await states())['expo'])
    .toEqual({ failures: expect.any(Number), failing_reason: expect.stringContaining('SECRETS_KEY') });
});
