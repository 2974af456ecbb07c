import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { occasionMessageId } from '../../../src/engine/messages/message-queue.ts';
import { untilPersisted } from '../../../src/engine/persist/cursor-wait.ts';
import { addMessagesToSend } from '../../../src/postgres/notifications/messages.ts';
import { transaction } from '../../../src/postgres/transaction.ts';
import { startLaurel, type TestLaurel } from '../../laurel.ts';
import { smtpServer } from './smtp-server.ts';
import { clickUrl, htmlOf, pixelUrl } from './tracked-html.ts';
import { ok } from '../../http/client.ts';
import { until } from '../../waiting.ts';

const PUBLIC_URL = 'https://laurel.example/base';
const START = '2030-03-01T09:00:00.000Z';
const SHOP = 'https://shop.example/a?from=mail&user=ada%20%26%20co#top';

const TEMPLATE = {
  kind: 'recap' as const,
  subject: 'Your week',
  html:
    '<body><a href="https://shop.example/a?from=mail&amp;user={{user.name}}#top">Shop</a><img src="https://shop.example/p.png">' +
    '<a href="{{unsubscribeUrl}}">Stop</a></body>',
  text: 'https://shop.example/ {{unsubscribeUrl}}',
};

let laurel: TestLaurel;
const closing: (() => unknown)[] = [];
beforeEach(async () => {
  laurel = await startLaurel({
    testClock: true,
    workers: true,
    webhookAllowPrivate: true,
    publicUrl: PUBLIC_URL,
    secretsKey: randomBytes(32),
    worker: { emails: { everyMs: 50 } },
  });
  closing.push(() => laurel.close());
  await ok(laurel.admin.put('/v1/clock', { now: START }));
});
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

const configure = (settings: object): Promise<unknown> =>
  ok(laurel.admin.put('/v1/configuration', { messages: { templates: [TEMPLATE], ...settings } }));

// oxlint-disable-next-line typescript/no-explicit-any -- as above
const message = async (userId: string): Promise<any> =>
  (await ok(laurel.admin.get(`/v1/messages?userId=${userId}`))).messages[0];

/** Sends an e-mail to each user and returns the HTML as a mail program shows it. */
async function sendTo(...userIds: string[]): Promise<string[]> {
  const { port, received, close } = await smtpServer();
  closing.push(close);
  for (const id of userIds)
    await ok(laurel.app.put(`/v1/users/${id}`, { email: `${id}@example.com`, name: `${id} & co` }));
  const emails = userIds.map((userId) => ({
    id: occasionMessageId(0, 'recap', userId),
    tenantNo: 0,
    userId,
    kind: 'recap' as const,
    atMs: Date.parse(START),
    payload: JSON.stringify({ type: 'emails.recap_due' }),
  }));
  await transaction(laurel.pool, (client) => addMessagesToSend(client, emails));
  const channel = { host: '127.0.0.1', port, security: 'none', senderAddress: 'hello@example.org', pace: 50 };
  await ok(laurel.admin.put('/v1/messages/channel', channel));
  await until(
    () => Promise.all(userIds.map(message)),
    (messages) => messages.every(({ status }) => status === 'sent'),
  );
  return userIds.map((id) => htmlOf(received.find(({ to }) => to[0] === `${id}@example.com`)!.content));
}

const local = (url: string): string => {
  expect(url.startsWith(PUBLIC_URL)).toBe(true);
  return laurel.appUrl + url.slice(PUBLIC_URL.length);
};
const clickOf = (html: string): string => local(clickUrl(html));
const pixelOf = (html: string): string => local(pixelUrl(html));
const get = (url: string, options: RequestInit = {}): Promise<Response> =>
  fetch(url, { redirect: 'manual', ...options });

// oxlint-disable-next-line typescript/no-explicit-any -- as above
const counts = async (): Promise<any> =>
  (await ok(laurel.admin.get('/v1/analytics/messages?from=2030-03-01&to=2030-03-01'))).messages[0];

async function outcomes(): Promise<Record<string, number>> {
  const text = await (await fetch(`${laurel.adminUrl}/metrics`)).text();
  const found = text.matchAll(/^laurel_messages_seen_total\{.*outcome="(\w+)".*\} (\d+)$/gm);
  return Object.fromEntries([...found].map(([, outcome, count]) => [outcome, Number(count)]));
}

test('an e-mail has its own links and no picture, unless the tenant records clicks and opens', async () => {
  await configure({});
  const [html] = await sendTo('ada');
  expect(html).toContain('href="https://shop.example/a?from=mail&amp;user=ada%20%26%20co#top"');
  expect(html).not.toMatch(/clicked|opened/);
});

describe('a tenant that records opens and clicks', () => {
  test('sees each once, with its first time, in the log and in the counts', async () => {
    await configure({ trackOpens: true, trackClicks: true });
    const [html, other] = await sendTo('ada', 'bo');
    // The picture of the template and the link to unsubscribe stay.
    expect(html).toContain('<img src="https://shop.example/p.png">');
    expect(html).toMatch(/<a href="https:\/\/laurel\.example\/base\/unsubscribe\/[^"]*">Stop<\/a><img [^>]*><\/body>/);

    // A scanner looks without opening, and a browser prepares for a click.
    for (const url of [pixelOf(html!), clickOf(html!)])
      expect((await get(url, { method: 'HEAD' })).status).toBe(url === pixelOf(html!) ? 200 : 302);
    await get(clickOf(html!), { headers: { 'Sec-Purpose': 'prefetch;prerender' } });

    const picture = await get(pixelOf(html!));
    expect([picture.status, picture.headers.get('content-type')]).toEqual([200, 'image/gif']);
    expect(
      Buffer.from(await picture.arrayBuffer())
        .subarray(0, 6)
        .toString(),
    ).toBe('GIF89a');
    const opened = await until(
      () => message('ada'),
      ({ status }) => status !== 'sent',
    );
    expect(opened).toMatchObject({ status: 'opened', opened: expect.any(String), clicked: null });

    await ok(laurel.admin.put('/v1/clock', { now: '2030-03-01T10:00:00.000Z' }));
    for (let time = 0; time < 20; time += 1) {
      const clicked = await get(clickOf(html!));
      expect([clicked.status, clicked.headers.get('location')]).toEqual([302, SHOP]);
      expect(clicked.headers.get('referrer-policy')).toBe('no-referrer');
      await get(pixelOf(html!));
    }
    const clicked = await until(
      () => message('ada'),
      ({ status }) => status !== 'opened',
    );
    expect(clicked.status).toBe('clicked');
    expect(clicked.opened).toBe(opened.opened);
    expect(clicked.clicked >= '2030-03-01T10:00:00').toBe(true);
    expect(await message('bo')).toMatchObject({ status: 'sent', opened: null, clicked: null });

    // A click is later than the report that the e-mail arrived; a bounce for good comes after everything.
    const { url } = await ok(laurel.admin.put('/v1/messages/feedback', {}));
    const report = (reports: object[]) => laurel.app.post(url.slice(PUBLIC_URL.length), reports);
    await ok(report([{ type: 'delivered', messageId: clicked.id }]));
    expect((await message('ada')).status).toBe('clicked');

    await fetch(local(/href="([^"]*\/unsubscribe\/[^"]*)"/.exec(html!)![1]!), { method: 'POST' });
    const unsubscribed = await until(
      () => message('ada'),
      ({ status }) => status === 'unsubscribed',
    );
    expect(unsubscribed).toMatchObject({ opened: opened.opened, clicked: clicked.clicked });
    await ok(report([{ type: 'complained', messageId: clicked.id }]));
    expect((await message('ada')).status).toBe('complained');

    expect(await counts()).toMatchObject({
      kind: 'recap',
      medium: 'email',
      due: 2,
      sent: 2,
      delivered: 1,
      bounced: 0,
      complained: 1,
      opened: 1,
      clicked: 1,
      unsubscribed: 1,
      withheld: 0,
      days: [{ date: '2030-03-01', clicked: 1 }],
    });
    const exported = await ok(laurel.admin.get('/v1/users/ada/export'));
    expect(exported.emails).toMatchObject([{ openedMs: expect.anything(), clickedMs: expect.anything() }]);

    // Nothing is recorded about a deleted user, and the other one's e-mail is not affected.
    await ok(laurel.admin.delete('/v1/users/bo'));
    await until(
      () => message('bo'),
      (found) => found === undefined,
    );
    expect((await get(clickOf(other!))).headers.get('location')).toBe(
      'https://shop.example/a?from=mail&user=bo%20%26%20co#top',
    );
    await until(outcomes, ({ ignored = 0 }) => ignored === 1);
    expect(await counts()).toMatchObject({ opened: 1, clicked: 1 });
  });

  test('records nothing about a user whom an administrator hides, and nothing after it was turned off', async () => {
    await configure({ trackOpens: true, trackClicks: true });
    const [hidden, other] = await sendTo('ada', 'bo');
    await ok(laurel.admin.patch('/v1/users/ada', { hidden: true }));
    // What is clicked is recorded in Postgres, which learns later who is hidden.
    await untilPersisted(laurel, 0);
    await get(clickOf(hidden!));
    await until(outcomes, ({ ignored = 0 }) => ignored === 1);
    await configure({ trackOpens: true, trackClicks: false });
    expect((await get(clickOf(other!))).status).toBe(302);
    await get(pixelOf(other!));
    await until(outcomes, ({ ignored = 0, opened = 0 }) => ignored === 2 && opened === 1);
    expect(await message('ada')).toMatchObject({ status: 'sent', clicked: null });
    expect(await message('bo')).toMatchObject({ status: 'opened', clicked: null });
  });
});

test('a forged link leads nowhere, and a true one also while Postgres is away', async () => {
  await configure({ trackOpens: true, trackClicks: true });
  const [html] = await sendTo('ada');
  const url = clickOf(html!);
  const token = url.split('/').at(-1)!;
  const [content = '', signature = ''] = token.split('.');
  const evil = Buffer.from(Buffer.from(content, 'base64url').toString().replace('shop', 'evil')).toString('base64url');
  for (const forged of [`${evil}.${signature}`, `${token.slice(0, -4)}AAAA`, content, 'x'])
    for (const path of ['clicked', 'opened']) {
      const refused = await get(`${laurel.appUrl}/${path}/${forged}`);
      expect([refused.status, refused.headers.get('location')]).toEqual([404, null]);
    }
  expect((await get(url.replace('/clicked/', '/opened/'))).status).toBe(404);
  expect((await get(url, { method: 'POST' })).status).toBe(405);

  // Locked rows are as far away as a database that does not answer.
  const client = await laurel.pool.connect();
  await client.query('BEGIN');
  await client.query('LOCK TABLE email_messages IN ACCESS EXCLUSIVE MODE');
  const answers = await Promise.all(Array.from({ length: 10 }, () => get(url)));
  expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 302));
  await client.query('ROLLBACK');
  client.release();
  await until(
    () => message('ada'),
    ({ status }) => status === 'clicked',
  );
});

describe('an opened push notification', () => {
  const EMPTY = { id: '', tenantNo: 0, userId: '', kind: 'recap', atMs: Date.parse(START), payload: '{}' } as const;
  const report = (userId: string, id: string, options: object = {}) =>
    laurel.app.post(`/v1/users/${userId}/messages/${id}/opened`, undefined, options);

  test('is reported by the app, about messages to its user alone, if the tenant records opens', async () => {
    await configure({ trackOpens: true });
    const id = occasionMessageId(0, 'recap', 'ada', 'push');
    await ok(laurel.app.put('/v1/users/ada', { name: 'Ada' }));
    await transaction(laurel.pool, async (client) => {
      await addMessagesToSend(client, [{ ...EMPTY, id, userId: 'ada', medium: 'push' }]);
      await client.query("UPDATE email_messages SET status = 'sent', due_ms = NULL WHERE id = $1", [id]);
    });
    expect((await report('bo', id)).status).toBe(204);
    expect((await report('ada', occasionMessageId(0, 'recap', 'other', 'push'))).status).toBe(204);
    await until(outcomes, ({ ignored = 0 }) => ignored === 2);
    expect(await message('ada')).toMatchObject({ status: 'sent', opened: null });
    for (let time = 0; time < 3; time += 1) expect((await report('ada', id)).status).toBe(204);
    await until(
      () => message('ada'),
      ({ status }) => status === 'opened',
    );
    expect(await outcomes()).toMatchObject({ opened: 1, repeated: 2 });
    expect((await report('ada', 'x')).status).toBe(404);

    const { body } = await laurel.admin.post('/v1/application-api-keys', [{ userId: 'ada', scope: 'profile' }]);
    const key = body.created[0].key;
    expect((await report('ada', id, { key })).status).toBe(204);
    expect((await report('bo', id, { key })).status).toBe(403);
  });

  test('takes no places of others, however many IDs a user reports', async () => {
    await configure({ trackOpens: true });
    const before = (await outcomes())['lost'] ?? 0;
    const client = await laurel.pool.connect();
    await client.query('BEGIN');
    await client.query('LOCK TABLE email_messages IN ACCESS EXCLUSIVE MODE');
    const ids = Array.from({ length: 30 }, (_, n) => occasionMessageId(0, 'recap', `none ${n}`, 'push'));
    const statuses = await Promise.all(ids.map(async (id) => (await report('bo', id)).status));
    expect(new Set(statuses)).toEqual(new Set([204]));
    expect((await outcomes())['lost']).toBe(before + 10);
    expect((await report('cy', ids[0]!)).status).toBe(204);
    expect((await outcomes())['lost']).toBe(before + 10);
    await client.query('ROLLBACK');
    client.release();
    // Its places are free again.
    await until(outcomes, ({ ignored = 0 }) => ignored >= 21);
    await report('bo', occasionMessageId(0, 'recap', 'later', 'push'));
    expect((await outcomes())['lost']).toBe(before + 10);
  });
});
