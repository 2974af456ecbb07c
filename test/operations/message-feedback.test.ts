import { beforeAll, describe, expect, test } from 'vitest';
import { occasionMessageId } from '../../src/engine/messages/message-queue.ts';
import { addMessagesToSend } from '../../src/postgres/notifications/messages.ts';
import { transaction } from '../../src/postgres/transaction.ts';
import { startLaurel } from '../laurel.ts';
import { opened } from '../stack/opened.ts';

const PUBLIC_URL = 'https://laurel.example/base';
const PATH = '/v1/messages/feedback';

let url: string;
const laurel = opened(() => startLaurel({ workers: true, publicUrl: PUBLIC_URL }));
beforeAll(async () => {
  url = (await laurel.admin.put(PATH, {})).body.url;
});

const report = async (body: unknown, to = url) => {
  const { status, json } = await fetch(`${laurel.appUrl}${to.slice(PUBLIC_URL.length)}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  }).then(async (answer) => ({ status: answer.status, json: await answer.json() }));
  return { status, body: json as Record<string, unknown> };
};

let users = 0;
/** A user with an address, and the ID of an e-mail that was sent to it. */
async function sent(status = 'sent', tenantNo = 0): Promise<{ userId: string; address: string; id: string }> {
  const userId = `u${(users += 1)}`;
  const address = `${userId}@example.com`;
  await laurel.app.put(`/v1/users/${userId}`, { email: address });
  const id = occasionMessageId(tenantNo, 'recap', userId);
  await transaction(laurel.pool, async (client) => {
    await addMessagesToSend(client, [{ id, tenantNo, userId, kind: 'recap', atMs: 1, payload: '{}' }]);
    await client.query('UPDATE email_messages SET status = $2, tries = 1, due_ms = NULL WHERE id = $1', [id, status]);
  });
  return { userId, address, id };
}

const logged = async (userId: string) => (await laurel.admin.get(`/v1/messages?userId=${userId}`)).body.messages[0];
const suppressed = async (): Promise<string[]> =>
  (await laurel.admin.get('/v1/messages/suppressed?limit=100')).body.addresses.map(
    ({ address }: { address: string }) => address,
  );
const emailKinds = async (userId: string): Promise<string[]> => {
  const { notifications } = (await laurel.app.get(`/v1/users/${userId}/preferences`)).body;
  return Object.keys(notifications).filter((kind) => notifications[kind].includes('email'));
};

describe('a report', () => {
  test('that an e-mail arrived changes its status, once', async () => {
    const { userId, id } = await sent();
    const delivered = { type: 'delivered', messageId: `<${id}@example.org>`, at: '2026-01-02T03:04:05Z' };
    expect(await report([delivered])).toMatchObject({ status: 200, body: { delivered: 1, repeated: 0 } });
    expect((await report(delivered)).body).toMatchObject({ delivered: 0, repeated: 1 });
    expect(await logged(userId)).toMatchObject({ status: 'delivered', reported: '2026-01-02T03:04:05.000Z' });
    const { body } = await laurel.admin.get('/v1/messages?status=delivered');
    expect(body.messages).toMatchObject([{ userId }]);
    const stillSent = (await laurel.admin.get(`/v1/messages?status=sent&userId=${userId}`)).body.messages;
    expect(stillSent).toEqual([]);
  });

  test('of a bounce for good suppresses the address, and one for now does not', async () => {
    const [good, now] = [await sent(), await sent()];
    const reason = '550 5.1.1 No such user';
    const bounced = { type: 'bounced', permanent: true, address: good.address.toUpperCase(), reason };
    expect(
      (
        await report([
          { ...bounced, messageId: good.id },
          { type: 'bounced', messageId: now.id },
        ])
      ).body,
    ).toMatchObject({
      bounced: 2,
    });
    expect(await logged(good.userId)).toMatchObject({ status: 'bounced', reason });
    expect(await logged(now.userId)).toMatchObject({ status: 'bounced', reason: null });
    expect(await suppressed()).toContain(good.address);
    expect(await suppressed()).not.toContain(now.address);
    expect(await emailKinds(good.userId)).toHaveLength(4);
    // It arrived in the end.
    await report({ type: 'delivered', messageId: now.id });
    expect((await logged(now.userId)).status).toBe('delivered');
  });

  test('of a complaint suppresses the address and ends all e-mails to the user, also without the address', async () => {
    const { userId, address, id } = await sent('unknown');
    expect((await report({ type: 'complained', messageId: id })).body).toMatchObject({ complained: 1 });
    expect((await logged(userId)).status).toBe('complained');
    expect(await suppressed()).toContain(address);
    expect(await emailKinds(userId)).toEqual([]);
    // A repetition does not undo what somebody decided since.
    await laurel.admin.delete(`/v1/messages/suppressed/${address}`);
    expect((await report({ type: 'complained', messageId: id })).body).toMatchObject({ complained: 0, repeated: 1 });
    expect(await suppressed()).not.toContain(address);
  });

  test.each([
    [['delivered', 'bounced', 'complained']],
    [['complained', 'bounced', 'delivered']],
    [['bounced', 'complained', 'delivered']],
  ])('may come in any order: %j', async (types) => {
    const { userId, id } = await sent();
    for (const type of types) await report({ type, messageId: id, permanent: true });
    expect((await logged(userId)).status).toBe('complained');
    const other = await sent();
    for (const type of types.filter((each) => each !== 'complained'))
      await report([{ type, messageId: other.id, permanent: true }]);
    expect((await logged(other.userId)).status).toBe('bounced');
  });

  test('with only the address concerns the user who has it', async () => {
    const { userId, address } = await sent();
    const complaint = { type: 'complained', address: `Ada <${address}>` };
    // The address is known once the user is stored.
    await expect.poll(async () => (await report(complaint)).body.complained, { interval: 100 }).toBe(1);
    expect(await suppressed()).toContain(address);
    expect(await emailKinds(userId)).toEqual([]);
    expect((await logged(userId)).status).toBe('sent');
  });

  test('about something unknown, of another type or unreadable changes nothing, and does not hinder the others', async () => {
    const { userId, id } = await sent();
    const waiting = await sent('waiting');
    const { status, body } = await report([
      { type: 'complained', messageId: '<other-mail@example.org>', address: 'nobody@example.com' },
      { type: 'delivered', messageId: '<other-mail@example.org>' },
      { type: 'bounced', permanent: true, messageId: waiting.id },
      { type: 'opened', messageId: id },
      { type: 'bounced' },
      'delivered',
      null,
      { type: 'delivered', messageId: id, at: 'soon', reason: { a: 1 } },
    ]);
    expect([status, body]).toEqual([
      200,
      { delivered: 1, bounced: 0, complained: 0, repeated: 0, unknown: 3, ignored: 3, invalid: 1 },
    ]);
    expect((await logged(userId)).status).toBe('delivered');
    expect((await logged(waiting.userId)).status).toBe('waiting');
    const metrics = await fetch(`${laurel.adminUrl}/metrics`).then((answer) => answer.text());
    expect(metrics).toMatch(/laurel_email_feedback_total\{.*outcome="unknown".*\} \d+/);
  });

  test('after the user was deleted leaves no address behind', async () => {
    const { address, id } = await sent();
    await laurel.pool.query('UPDATE email_messages SET user_id = $2 WHERE id = $1', [id, 'gone']);
    expect((await report({ type: 'complained', messageId: id, address })).status).toBe(200);
    expect(await suppressed()).not.toContain(address);
  });
});

test('a provider’s own shape is read as the format says', async () => {
  const format = {
    entries: '/event-data',
    type: '/event',
    delivered: ['delivered'],
    bounced: ['failed'],
    complained: [],
    permanent: { field: '/severity', values: ['permanent'] },
    messageId: '/message/headers/message-id',
    address: '/recipients',
    reason: '/delivery~1status/0/text',
    at: '/timestamp',
  };
  const { userId, address, id } = await sent();
  expect(await laurel.admin.put(PATH, { format })).toMatchObject({ status: 200, body: { format, url } });
  const data = {
    event: 'Failed',
    severity: 'permanent',
    message: { headers: { 'message-id': `${id}@example.org` } },
    recipients: [address],
    'delivery/status': [{ text: 'no\r\nsuch user' }],
    timestamp: 1_767_323_045.5,
  };
  expect((await report({ 'event-data': data })).body).toMatchObject({ bounced: 1 });
  expect(await logged(userId)).toMatchObject({ reason: 'no such user', reported: '2026-01-02T03:04:05.500Z' });
  const wrong = await report({ type: 'delivered', messageId: id });
  expect([wrong.status, wrong.body.error]).toEqual([422, expect.stringContaining("'/event-data'")]);
  const pointer = await laurel.admin.put(PATH, { format: { ...format, type: 'event' } });
  expect([pointer.status, JSON.stringify(pointer.body)]).toEqual([400, expect.stringContaining('format.type')]);
  expect((await laurel.admin.put(PATH, { ...(await laurel.admin.get(PATH)).body })).status).toBe(200);
  await laurel.admin.delete(PATH);
  url = (await laurel.admin.put(PATH, {})).body.url;
});

describe('the address', () => {
  test('is shown only by changes, and ends when it is replaced or deleted', async () => {
    const own = (await laurel.admin.put(PATH, {})).body;
    expect(own.url).toBe(url);
    expect((await laurel.admin.get(PATH)).body).not.toHaveProperty('url');
    const rotated = (await laurel.admin.put(PATH, { rotate: true })).body.url;
    expect((await report([], own.url)).status).toBe(404);
    expect((await report([], rotated)).status).toBe(200);
    const { body: audit } = await laurel.admin.get('/v1/audit-log?kind=message_feedback&limit=1');
    expect(audit[0]).toMatchObject({ action: 'update', after: { address: 'changed' } });
    expect(JSON.stringify(audit)).not.toContain(rotated.split('.').at(-1));
    expect((await laurel.admin.delete(PATH)).status).toBe(204);
    expect((await laurel.admin.delete(PATH)).status).toBe(404);
    expect((await report([], rotated)).status).toBe(404);
    url = (await laurel.admin.put(PATH, {})).body.url;
  });

  test('cannot be guessed or made from another, and takes limited lists', async () => {
    const [content, signature] = url.split('/').at(-1)!.split('.');
    const [, nonce] = JSON.parse(Buffer.from(content!, 'base64url').toString());
    const forged = Buffer.from(JSON.stringify([1, nonce])).toString('base64url');
    const base = `${PUBLIC_URL}${PATH}`;
    for (const token of [`${forged}.${signature}`, content!, `${content}.`, 'x'])
      expect((await report([], `${base}/${token}`)).status).toBe(404);
    // Refused before the body is parsed, which would cost more.
    const headers = { 'Content-Type': 'application/json' };
    const { status } = await fetch(`${laurel.appUrl}${PATH}/x`, { method: 'POST', headers, body: '{' });
    expect(status).toBe(404);
    expect((await report(Array.from({ length: 1_001 }, () => ({})))).status).toBe(422);
    expect((await report('text')).status).toBe(400);
    expect((await report([{ type: 'delivered', reason: 'x'.repeat(1_100_000) }])).status).toBe(413);
  });

  test('of a tenant does not reach the e-mails of another', async () => {
    const { id } = await sent('sent', 7);
    expect((await report({ type: 'delivered', messageId: id })).body).toMatchObject({ delivered: 0, unknown: 1 });
  });

  test('may be changed only by keys that may write', async () => {
    const { key } = (await laurel.admin.post('/v1/admin-api-keys', [{ name: 'reader', access: 'read' }])).body
      .created[0];
    expect((await laurel.admin.get(PATH, { key })).status).toBe(200);
    expect((await laurel.admin.put(PATH, {}, { key })).status).toBe(403);
  });
});
