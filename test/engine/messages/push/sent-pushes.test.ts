import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { startLaurel, type TestLaurel } from '../../../laurel.ts';
import { TEMPLATES } from '../channel.ts';
import { smtpServer } from '../smtp-server.ts';
import { expoServer, type ExpoMessage, GONE, OK } from './expo-server.ts';
import { ok } from '../../../http/client.ts';
import { until as awaited } from '../../../waiting.ts';

const START = '2030-03-01T09:00:00.000Z';
/** Daily reminders are due. */
const EVENING = '2030-03-02T20:00:00.000Z';
const PUSH = { title: '{{user.name|You}}: {{streak.length}} in a row', body: 'It ends today.' };
const URL_TEMPLATE = 'https://app.example.com/u/{{user.name|x}}';

let laurel: TestLaurel;
let expo: Awaited<ReturnType<typeof expoServer>>;
/** How Expo answers, by token. */
let answers: Record<string, () => ReturnType<NonNullable<Parameters<typeof expoServer>[0]>>>;
const closing: (() => unknown)[] = [];

beforeEach(async () => {
  answers = {};
  expo = await expoServer(({ to }: ExpoMessage) => answers[to]?.() ?? OK);
  closing.push(expo.close);
  laurel = await startLaurel({
    testClock: true,
    workers: true,
    webhookAllowPrivate: true,
    publicUrl: 'https://laurel.example',
    secretsKey: randomBytes(32),
    pushServers: { expo: expo.url },
    worker: { emails: { everyMs: 50, firstPauseMs: 60_000, timeoutMs: 3_000 } },
  });
  closing.push(() => laurel.close());
  await to(START);
  await configure({});
  await ok(laurel.admin.put('/v1/messages/push-channels/expo', { credentials: {} }));
});
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

const to = (now: string): Promise<unknown> => ok(laurel.admin.put('/v1/clock', { now }));

const configure = (messages: object): Promise<unknown> =>
  ok(
    laurel.admin.put('/v1/configuration', {
      metrics: [{ key: 'flips', name: 'Flips' }],
      streaks: { enabled: true, frequency: 'daily' },
      messages: { pushTemplates: [{ kind: 'streak_reminder', ...PUSH, url: URL_TEMPLATE }], ...messages },
    }),
  );

const token = (name: string): string => `ExponentPushToken[${name}]`;

/** A user with a streak that ends in the evening. */
const play = (id: string, user: object = {}): Promise<unknown> =>
  ok(
    laurel.app.post('/v1/metrics/flips/event', {
      user: { id, name: id, deviceTokens: [token(id)], ...user },
      value: 1,
    }),
  );

interface Row {
  userId: string;
  medium: string;
  status: string;
  reason: string | null;
  tries: number;
}
const log = async (query = ''): Promise<Row[]> =>
  (await ok(laurel.admin.get(`/v1/messages?limit=100${query}`))).messages;

/** If it does not happen, the error shows the messages. */
const until = (isSo: () => boolean | Promise<boolean>): Promise<boolean> => awaited(isSo, Boolean, () => log());

const isOver = async (rows: number): Promise<boolean> => {
  const all = await log();
  return all.length === rows && all.every(({ status }) => status !== 'waiting' && status !== 'sending');
};
const devices = async (id: string): Promise<string[]> =>
  (await ok(laurel.app.get(`/v1/users/${id}`))).deviceTokens ?? [];

test('a reminder reaches a user without an address on all devices, once', async () => {
  await play('ada', { deviceTokens: [token('phone'), token('tablet'), 'a token of another provider'] });
  await to(EVENING);
  await until(() => isOver(1));
  expect(await log('&medium=push')).toMatchObject([
    { userId: 'ada', kind: 'streak_reminder', medium: 'push', status: 'sent', reason: null, tries: 1 },
  ]);
  expect(await log('&medium=email')).toEqual([]);
  expect(expo.received.map((one) => one.to).toSorted()).toEqual([token('phone'), token('tablet')]);
  const { title, body, ttl, data } = expo.received[0]!;
  expect({ title, body, url: data['url'] }).toEqual({
    title: 'ada: 1 in a row',
    body: 'It ends today.',
    url: 'https://app.example.com/u/ada',
  });
  // A reminder is worthless four hours after it fell due.
  expect(ttl).toBeGreaterThan(4 * 3_600 - 60);
  expect(ttl).toBeLessThanOrEqual(4 * 3_600);
  await to('2030-03-02T21:00:00.000Z');
  await sleep(300);
  expect(expo.received).toHaveLength(2);
  // Webhooks and live streams report e-mails; this user can get none.
  expect((await ok(laurel.admin.get('/v1/users/ada/export'))).emails).toMatchObject([{ medium: 'push' }]);
});

test('only users whose preferences have push notifications get them, and nobody whom an administrator hides', async () => {
  await play('ada');
  await play('bo');
  await play('cy');
  await play('without device', { deviceTokens: [] });
  await ok(laurel.app.patch('/v1/users/bo/preferences', { notifications: { streak_reminder: ['email'] } }));
  await ok(laurel.admin.patch('/v1/users/cy', { hidden: true }));
  await to(EVENING);
  await until(() => isOver(2));
  const rows = (await log()).map(({ userId, status, reason }) => `${userId} ${status} ${reason}`).toSorted();
  expect(rows).toEqual(['ada sent null', 'cy dropped the user is hidden']);
  expect(expo.received.map((one) => one.to)).toEqual([token('ada')]);
});

test('both media report one occasion, each with a row of its own', async () => {
  const smtp = await smtpServer();
  closing.push(smtp.close);
  const sender = { security: 'none', senderAddress: 'hello@example.org', pace: 50 };
  await ok(laurel.admin.put('/v1/messages/channel', { host: '127.0.0.1', port: smtp.port, ...sender }));
  await configure({ templates: TEMPLATES });
  await play('ada', { email: 'ada@example.com' });
  await play('bo', { email: 'bo@example.com', deviceTokens: [] });
  await to(EVENING);
  await until(() => isOver(3));
  const rows = (await log()).map(({ userId, medium, status }) => `${userId} ${medium} ${status}`).toSorted();
  expect(rows).toEqual(['ada email sent', 'ada push sent', 'bo email sent']);
  expect(smtp.received).toHaveLength(2);
  expect(expo.received).toHaveLength(1);
});

describe('a token that the provider no longer knows', () => {
  test('is removed from its user, and no other', async () => {
    answers[token('old')] = () => GONE;
    await play('ada', { deviceTokens: [token('old'), token('new')] });
    await play('bo', { deviceTokens: [token('old')] });
    await play('cy', { deviceTokens: [token('cy')] });
    await to(EVENING);
    await until(() => isOver(3));
    const rows = (await log()).map(({ userId, status }) => `${userId} ${status}`).toSorted();
    expect(rows).toEqual(['ada sent', 'bo failed', 'cy sent']);
    expect(await devices('ada')).toEqual([token('new')]);
    expect(await devices('bo')).toEqual([]);
    expect(await devices('cy')).toEqual([token('cy')]);
    const ada = (await log('&userId=ada'))[0]!;
    expect(ada.reason).toMatch(/^1 of 2 devices; /);
    expect(ada.reason).not.toContain('old');
  });

  test('stays away although the app registers another device at the same time', async () => {
    answers[token('old')] = () => {
      void laurel.app.put('/v1/users/ada', { deviceTokens: [token('old'), token('other')] });
      return GONE;
    };
    await play('ada', { deviceTokens: [token('old')] });
    await to(EVENING);
    await until(() => isOver(1));
    await until(async () => (await devices('ada')).length === 1);
    expect((await devices('ada'))[0]).toBe(token('other'));
  });
});

test('a channel whose credentials cannot be read fails alone, and devices of other providers are reached', async () => {
  const credentials = { subject: 'mailto:push@example.com' };
  await ok(laurel.admin.put('/v1/messages/push-channels/web_push', { credentials }));
  await laurel.pool.query(`UPDATE push_channels SET credentials = '\\x00' WHERE provider = 'web_push'`);
  const browser = JSON.stringify({ endpoint: 'https://push.example/1', keys: { p256dh: 'x', auth: 'y' } });
  await play('ada');
  await play('bo', { deviceTokens: [token('bo'), browser] });
  await play('cy', { deviceTokens: [browser] });
  await to(EVENING);
  await until(async () => (await log()).filter(({ status }) => status === 'sent').length === 2);
  expect(expo.received.map((one) => one.to).toSorted()).toEqual([token('ada'), token('bo')]);
  expect((await log('&userId=bo'))[0]!.reason).toMatch(/^1 of 2 devices; another: SECRETS_KEY/);
  expect(await log('&userId=cy')).toMatchObject([{ status: 'waiting', tries: 0 }]);
  const failing = `SELECT failures > 0 AS fails, failing_reason AS reason FROM push_channels ORDER BY provider`;
  await expect
    .poll(async () => (await laurel.pool.query(failing)).rows)
    .toEqual([
      { fails: false, reason: null },
      { fails: true, reason: expect.stringContaining('SECRETS_KEY') },
    ]);
});

test('a provider that is overloaded is asked again, and what it never answers is not sent twice', async () => {
  let isOverloaded = true;
  answers[token('ada')] = () => (isOverloaded ? { status: 503 } : OK);
  answers[token('bo')] = () => 'nothing';
  await play('ada');
  await play('bo');
  await to(EVENING);
  await until(async () => (await log('&userId=ada'))[0]?.status === 'waiting' && expo.received.length === 2);
  await until(async () => (await log('&userId=bo'))[0]?.status === 'unknown');
  isOverloaded = false;
  await to('2030-03-02T20:30:00.000Z');
  await until(() => isOver(2));
  expect(await log('&userId=ada')).toMatchObject([{ status: 'sent', tries: 2 }]);
  expect(await log('&userId=bo')).toMatchObject([{ status: 'unknown', tries: 1 }]);
  expect(expo.received.map((one) => one.to).toSorted()).toEqual([token('ada'), token('ada'), token('bo')]);
});

test('quiet hours, the daily limit and lateness hold for push notifications, too', async () => {
  await configure({ quietHours: { from: '19:00', to: '21:00' } });
  await play('ada');
  await to(EVENING);
  await until(async () => (await log())[0]?.reason === 'quiet hours');
  expect(expo.received).toEqual([]);
  await to('2030-03-02T21:00:00.000Z');
  await until(() => isOver(1));
  expect((await log())[0]).toMatchObject({ status: 'sent' });
  // It ends after the reminder is worthless.
  await configure({ quietHours: { from: '19:00', to: '06:00' } });
  await play('bo');
  await to('2030-03-03T20:00:00.000Z');
  await until(async () => (await log('&userId=bo'))[0]?.status === 'dropped');
  expect((await log('&userId=bo'))[0]!.reason).toBe('too late: quiet hours');
  expect(expo.received).toHaveLength(1);
});

test('a completed achievement, and preview and test of a channel', async () => {
  await configure({
    pushTemplates: [
      { kind: 'achievement_completed', title: 'Done', body: '{{achievement.name}}', url: 'myapp://done' },
    ],
  });
  await ok(
    laurel.admin.put('/v1/configuration', {
      achievements: [
        { key: 'first', name: 'First', trigger: 'metric', metricKey: 'flips', metricValue: 1, status: 'active' },
      ],
    }),
  );
  await play('ada');
  await to('2030-03-01T17:00:00.000Z');
  await until(() => isOver(1));
  expect(expo.received[0]).toMatchObject({ title: 'Done', body: 'First', data: { url: 'myapp://done' } });
  const asked = { userId: 'ada', kind: 'achievement_completed' };
  expect(await ok(laurel.admin.post('/v1/messages/preview/push', asked))).toEqual({
    locale: null,
    title: 'Done',
    body: 'First',
    url: 'myapp://done',
  });
  const template = { title: 'x', body: '{{unsubscribeUrl}}', url: 'javascript://x' };
  const refused = await laurel.admin.post('/v1/messages/preview/push', { ...asked, template });
  expect([refused.status, refused.body.error]).toEqual([422, expect.stringMatching(/template\.body.*template\.url/)]);

  answers[token('gone')] = () => GONE;
  const sendTest = (body: object) => laurel.admin.post('/v1/messages/push-channels/expo/test', body);
  expect(await ok(sendTest({ userId: 'ada' }))).toEqual({ devices: [{ outcome: 'sent', reason: null }] });
  expect(await ok(sendTest({ token: token('gone') }))).toMatchObject({ devices: [{ outcome: 'token_gone' }] });
  expect((await sendTest({ token: 'a'.repeat(64) })).body.error).toMatch(/^token: has the form of a token of apns/);
  expect((await sendTest({})).status).toBe(422);
});

test('what fell due before the channel and the templates were there is not sent later', async () => {
  await ok(laurel.admin.delete('/v1/messages/push-channels/expo'));
  await play('ada');
  await to(EVENING);
  await sleep(300);
  await ok(laurel.admin.put('/v1/messages/push-channels/expo', { credentials: {} }));
  await to('2030-03-02T20:10:00.000Z');
  await sleep(500);
  expect(await log()).toEqual([]);
  const { rows } = await laurel.pool.query("SELECT FROM notification_emails WHERE user_id = 'ada'");
  expect(rows).toEqual([]);
});
