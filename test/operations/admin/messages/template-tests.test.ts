import { randomBytes } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import { runAdminCli } from '../../../cli/run-cli.ts';
import { expoServer, GONE, OK } from '../../../engine/messages/push/expo-server.ts';
import { smtpServer } from '../../../engine/messages/smtp-server.ts';
import { startLaurel } from '../../../laurel.ts';
import { noteMessageTest } from '../../../../src/redis/message-tests.ts';
import { opened } from '../../../stack/opened.ts';

const TEMPLATE = {
  kind: 'reactivation',
  subject: 'Hello {{user.name}}',
  html: '<p>{{user.name}}</p><a href="{{unsubscribeUrl}}">Stop</a>',
  text: '{{user.name}} {{unsubscribeUrl}}',
};
const PUSH = { kind: 'reactivation', title: 'Hello {{user.name}}', body: 'Come back', url: 'myapp://u/{{user.id}}' };
const OURS = 'ExponentPushToken[ours]';

const smtp = opened(() => smtpServer());
const expo = opened(() => expoServer(({ to }) => (to === OURS ? OK : GONE)));
const laurel = opened(() =>
  startLaurel({
    publicUrl: 'https://laurel.example',
    secretsKey: randomBytes(32),
    webhookAllowPrivate: true,
    pushServers: { expo: expo.url },
    configuration: { messages: { templates: [TEMPLATE as never], pushTemplates: [PUSH as never] } },
  }),
);
beforeAll(async () => {
  await laurel.app.put('/v1/users/ada', { name: 'Ada', email: 'ada@example.com' });
  await laurel.app.put('/v1/users/us', { deviceTokens: [OURS, 'ExponentPushToken[old]', 'of fcm'] });
});

const email = (changes: object = {}) =>
  laurel.admin.post('/v1/messages/test', { userId: 'ada', kind: 'reactivation', to: 'us@example.org', ...changes });
const push = (changes: object) =>
  laurel.admin.post('/v1/messages/test/push', { userId: 'ada', kind: 'reactivation', ...changes });
const refusal = async (sent: ReturnType<typeof email>) => {
  const { status, body } = await sent;
  return [status, body.error];
};
const audited = async () => (await laurel.admin.get('/v1/audit-log?limit=1')).body[0];

test('an e-mail with the figures of a user reaches the address, marked as a test, and nothing else changes', async () => {
  expect(await refusal(email())).toEqual([404, 'The tenant has no channel for e-mails']);
  const channel = { host: '127.0.0.1', port: smtp.port, security: 'none', senderAddress: 'hello@example.com' };
  await laurel.admin.put('/v1/messages/channel', { ...channel, enabled: false });
  expect(await email()).toMatchObject({ status: 200, body: { outcome: 'sent', reason: null } });
  const [received] = smtp.received;
  expect(received!.to).toEqual(['us@example.org']);
  expect(received!.content).toContain('Subject: [Test] Hello Ada');
  // The reader could end the messages of the user otherwise.
  expect(received!.content).toContain('https://example.org/unsubscribe');
  expect(received!.content).not.toMatch(/^List-Unsubscribe/im);
  expect(received!.content).not.toContain('laurel.example/unsubscribe');
  expect((await laurel.admin.get('/v1/messages')).body.messages).toEqual([]);
  expect(await audited()).toMatchObject({
    action: 'test',
    kind: 'message_channel',
    userId: 'ada',
    after: { kind: 'reactivation', to: 'us@example.org' },
  });
  await email({ template: { ...TEMPLATE, kind: undefined, subject: 'A draft' } });
  expect(smtp.received.at(-1)!.content).toContain('Subject: [Test] A draft');
});

test('a push notification reaches a device, or those of a user, and removes no token', async () => {
  expect(await refusal(push({ token: OURS }))).toEqual([404, expect.stringContaining('expo')]);
  await laurel.admin.put('/v1/messages/push-channels/expo', { credentials: {}, enabled: false });
  expect((await push({ token: OURS })).body).toEqual({ devices: [{ outcome: 'sent', reason: null }] });
  expect(expo.received[0]).toMatchObject({ to: OURS, title: '[Test] Hello Ada', data: { url: 'myapp://u/ada' } });
  const { body } = await push({ toUserId: 'us' });
  expect(body.devices.map(({ outcome }: { outcome: string }) => outcome)).toEqual(['sent', 'token_gone']);
  expect((await push({ toUserId: 'us' })).body.devices).toHaveLength(2);
  expect(await audited()).toMatchObject({ kind: 'push_channel', name: 'expo', userId: 'ada', after: { to: 'us' } });
});

test('wrong requests are refused by their field, and need a key that may write', async () => {
  expect(await refusal(email({ to: 'nobody' }))).toEqual([400, expect.stringContaining('to')]);
  expect(await refusal(email({ userId: 'nobody' }))).toEqual([404, expect.stringContaining("'nobody'")]);
  expect(await refusal(email({ kind: 'recap' }))).toEqual([404, 'There is no template of the kind recap.']);
  expect(await refusal(email({ template: { ...TEMPLATE, kind: undefined, html: 'x' } }))).toEqual([
    422,
    expect.stringContaining('template.html'),
  ]);
  const either = 'token: either token or toUserId is required';
  expect(await refusal(push({}))).toEqual([422, either]);
  expect(await refusal(push({ token: OURS, toUserId: 'us' }))).toEqual([422, either]);
  expect(await refusal(push({ toUserId: 'ada' }))).toEqual([
    422,
    'toUserId: the user has no device of a provider with a channel',
  ]);
  const { body } = await laurel.admin.post('/v1/admin-api-keys', [{ name: 'reader', access: 'read' }]);
  const { key } = body.created[0];
  for (const path of ['/v1/messages/test', '/v1/messages/test/push'])
    expect((await laurel.admin.post(path, { userId: 'ada', kind: 'reactivation' }, { key })).status).toBe(403);
});

test('the command says how it ended, also by its exit code', async () => {
  const cli = (...words: string[]) => runAdminCli(laurel, ['messages', 'test', 'ada', 'reactivation', ...words]);
  expect(await cli('--to', 'us@example.org')).toEqual({ code: 0, out: 'sent\n', err: '' });
  expect(await cli('--to-user', 'us')).toMatchObject({ code: 0, out: expect.stringMatching(/^sent\ntoken_gone/) });
  expect(await cli('--token', 'ExponentPushToken[old]')).toMatchObject({ code: 1 });
  expect(await cli('--to', 'a@example.org', '--token', 'x')).toMatchObject({
    code: 2,
    err: expect.stringContaining('one of --to'),
  });
});

test('a tenant may send 20 tests a minute', async () => {
  const beganMs = performance.now();
  let sent = 0;
  let answer = await email();
  for (; answer.status === 200; answer = await email()) sent += 1;
  // The other tests sent nine, which on a busy machine may be longer ago.
  expect(sent).toBeGreaterThan(5);
  expect(sent).toBeLessThanOrEqual(20 * (1 + (performance.now() - beganMs) / 60_000));
  expect(answer.status).toBe(429);
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
  // Other processes know.
  const limit = { most: 20, withinMs: 60_000, nowMs: Date.now() };
  expect(await noteMessageTest(laurel.redis, 0, limit)).toBeGreaterThan(0);
  expect(await noteMessageTest(laurel.redis, 0, { ...limit, nowMs: limit.nowMs + 60_000 })).toBeNull();
});
