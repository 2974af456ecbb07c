import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { beforeEach, describe, expect, test } from 'vitest';
import { occasionMessageId } from '../../../src/engine/messages/message-queue.ts';
import { addMessagesToSend } from '../../../src/postgres/notifications/messages.ts';
import { transaction } from '../../../src/postgres/transaction.ts';
import { TEMPLATES } from '../../engine/messages/channel.ts';
import { startLaurel } from '../../laurel.ts';
import { opened } from '../../stack/opened.ts';

const PATH = '/v1/messages/channel';
const HTTP = {
  url: 'https://api.example.com:8443/v1/send',
  headers: { 'X-Stream': 'engagement' },
  secretHeaders: { Authorization: 'Bearer s3cret', 'X-Account': 's3cret-account' },
  body: { to: '{{to}}', subject: '{{subject}}', html: '{{html}}', tags: ['laurel'], limit: null },
  answers: [{ statuses: [422], field: '/code', values: ['bad'], outcome: 'bad_address' }],
};
const CHANNEL = { transport: 'http', senderAddress: 'hello@example.com', http: HTTP };

const laurel = opened(() => startLaurel({ publicUrl: 'https://laurel.example', secretsKey: randomBytes(32) }));
beforeEach(() => laurel.pool.query('DELETE FROM message_channels'));

const put = (http: object = {}, channel: object = {}) =>
  laurel.admin.put(PATH, { ...CHANNEL, http: { ...HTTP, ...http }, ...channel });
const stored = async () => (await laurel.pool.query('SELECT password, version, http FROM message_channels')).rows[0];

describe('a channel that posts to a provider', () => {
  test('is shown without the values of secret headers, which Postgres has only encrypted, and can be sent back', async () => {
    expect((await put()).status).toBe(200);
    const { body } = await laurel.admin.get(PATH);
    expect(body).toMatchObject({
      transport: 'http',
      host: 'api.example.com',
      port: 8443,
      security: 'tls',
      hasPassword: false,
      http: { ...HTTP, secretHeaders: { Authorization: null, 'X-Account': null } },
    });
    const before = await stored();
    expect(JSON.stringify([body, before.http]) + before.password.toString('latin1')).not.toContain('s3cret');
    expect(await laurel.admin.put(PATH, body)).toMatchObject({ status: 200, body });
    expect(await stored()).toEqual(before);
    const { body: audit } = await laurel.admin.get('/v1/audit-log?kind=message_channel&limit=10');
    expect(JSON.stringify(audit)).not.toContain('s3cret');
  });

  test('keeps secret headers only for the same URL', async () => {
    await put();
    const { secretHeaders: _, ...without } = HTTP;
    expect((await laurel.admin.put(PATH, { ...CHANNEL, http: without })).body.http.secretHeaders).toEqual({
      Authorization: null,
      'X-Account': null,
    });
    const url = 'https://evil.example.com/';
    for (const http of [
      { ...without, url },
      { ...HTTP, url, secretHeaders: { Authorization: null } },
    ]) {
      const { status, body } = await laurel.admin.put(PATH, { ...CHANNEL, http });
      expect([status, body.error]).toEqual([
        422,
        expect.stringMatching(/^http.secretHeaders .* again, because http.url/),
      ]);
    }
    const one = await put({ secretHeaders: { Authorization: null, 'X-New': 'n3w' } });
    expect(one.body.http.secretHeaders).toEqual({ Authorization: null, 'X-New': null });
    expect((await put({ secretHeaders: {} })).body.http.secretHeaders).toEqual({});
    expect((await stored()).password).toBeNull();
    // A mail server does not get what was meant for a provider.
    await put();
    const smtp = { senderAddress: 'hello@example.com', host: 'smtp.example.com', port: 465, security: 'tls' };
    expect((await laurel.admin.put(PATH, { ...smtp, username: 'laurel' })).status).toBe(422);
    expect((await laurel.admin.put(PATH, smtp)).body).toMatchObject({ transport: 'smtp', http: null, username: null });
    const missing = await put({ secretHeaders: { Authorization: null } });
    expect([missing.status, missing.body.error]).toEqual([422, expect.stringContaining('none is stored')]);
  });

  test.each([
    [{ url: 'http://api.example.com/' }, {}, /^http.url must begin with https/],
    [{ url: 'https://10.0.0.1/' }, {}, /^http.url must not be a private/],
    [{ url: 'https://localhost/' }, {}, /^http.url must not be a name of an internal/],
    [{ url: 'https://a:b@api.example.com/' }, {}, /^http.url must not contain a user name/],
    [{ url: 'api.example.com' }, {}, /^http.url must be a URL/],
    [{ headers: { 'x-api-key': 'x' } }, {}, /x-api-key, which belongs into http.secretHeaders/],
    [{ headers: { Host: 'x' } }, {}, /must not have Host/],
    [{ headers: { 'a b': 'x' } }, {}, /must not have "a b"/],
    [{ secretHeaders: { 'a\r\nb': { a: 1 } } }, {}, /no name of a header/],
    [{ headers: { 'x-account': 'x' } }, {}, /X-Account twice/],
    [{ body: { to: '{{to}}', subject: '{{subject}}' } }, {}, /^http.body must contain {{html}} or {{text}}/],
    [{ body: { to: '{{to}}' } }, {}, /^http.body must contain {{subject}}/],
    [{ body: { ...HTTP.body, deep: [{ a: 'Hi {{to}}' }] } }, {}, /^http.body must have at \/deep\/0\/a exactly one/],
    [{ body: { ...HTTP.body, a: '{{user}}' } }, {}, /at \/a exactly one placeholder/],
    [{ body: { ...HTTP.body, a: 'x'.repeat(20_000) } }, {}, /^http.body must have at most/],
    [
      { answers: [{ statuses: [400], field: '/a', outcome: 'later' }] },
      {},
      /^http.answers\[0\] must have field and values/,
    ],
    [{}, { transport: 'smtp' }, /^http is required with transport http, and only then/],
    [{}, { http: null }, /^http is required with transport http/],
    [{}, { host: 'other.example.com' }, /^host must be omitted/],
    [{}, { password: 'x' }, /^password must be omitted/],
  ])('is refused with %j %j', async (http, channel, error) => {
    const { status, body } = await put(http, channel);
    expect([status, body.error]).toEqual([422, expect.stringMatching(error)]);
  });

  test.each([
    [{ secretHeaders: { Authorization: 'a\r\nBcc: b' } }],
    [{ answers: [{ statuses: [100], outcome: 'later' }] }],
    [{ body: [] }],
    [{ method: 'GET' }],
  ])('is refused (400) with %j', async (http) => {
    expect((await put(http)).status).toBe(400);
  });

  test('of SMTP still needs its server', async () => {
    const { status, body } = await laurel.admin.put(PATH, {
      senderAddress: 'hello@example.com',
      host: 'smtp.example.com',
    });
    expect([status, body.error]).toEqual([422, 'port is required with transport smtp']);
  });
});

test('e-mails are posted by workers, and a bad address is suppressed', async () => {
  const received: { to: string; subject: string }[] = [];
  let limited = 1;
  const provider = createServer((request, response) => {
    void text(request).then((body) => {
      const email = JSON.parse(body) as { to: string; subject: string };
      received.push(email);
      if (limited > 0) {
        limited -= 1;
        response.writeHead(429, { 'Retry-After': '1' }).end();
      } else response.writeHead(email.to === 'bad@example.com' ? 422 : 200).end('{"code":"bad"}');
    });
  });
  await new Promise<void>((listening) => void provider.listen(0, '127.0.0.1', listening));
  const sending = await startLaurel({
    workers: true,
    webhookAllowPrivate: true,
    publicUrl: 'https://laurel.example',
    secretsKey: randomBytes(32),
    configuration: { messages: { templates: TEMPLATES } },
    worker: { emails: { everyMs: 50 } },
  });
  try {
    const url = `http://127.0.0.1:${(provider.address() as AddressInfo).port}/`;
    const channel = { ...CHANNEL, pace: 50, http: { ...HTTP, url } };
    expect((await sending.admin.put(PATH, channel)).status).toBe(200);
    expect(await sending.admin.post(`${PATH}/test`, { to: 'you@example.com' })).toMatchObject({
      body: { outcome: 'later' },
    });
    expect(await sending.admin.post(`${PATH}/test`, { to: 'you@example.com' })).toMatchObject({
      body: { outcome: 'sent' },
    });
    const users = ['ada', 'bad'];
    for (const id of users) await sending.app.put(`/v1/users/${id}`, { email: `${id}@example.com` });
    await transaction(sending.pool, (client) =>
      addMessagesToSend(
        client,
        users.map((userId) => ({
          id: occasionMessageId(0, 'recap', userId),
          tenantNo: 0,
          userId,
          kind: 'recap' as const,
          atMs: Date.now(),
          payload: '{}',
        })),
      ),
    );
    const statuses = async (): Promise<string[]> =>
      (await sending.admin.get('/v1/messages')).body.messages
        .map(({ userId, status }: { userId: string; status: string }) => `${userId} ${status}`)
        .sort();
    await expect.poll(statuses).toEqual(['ada sent', 'bad failed']);
    expect(received.filter(({ subject }) => subject === 'About recap')).toHaveLength(2);
    const { body } = await sending.admin.get('/v1/messages/suppressed');
    expect(body.addresses).toMatchObject([{ address: 'bad@example.com', reason: 'answered 422: {"code":"bad"}' }]);
  } finally {
    await sending.close();
    provider.close();
  }
});
