import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { SMTPServerOptions } from 'smtp-server';
import { addMessagesToSend } from '../../../src/postgres/notifications/messages.ts';
import { transaction } from '../../../src/postgres/transaction.ts';
import { occasionMessageId } from '../../../src/engine/messages/message-queue.ts';
import { startLaurel, type TestLaurel } from '../../laurel.ts';
import { TEMPLATES } from './channel.ts';
import { answer, smtpServer } from './smtp-server.ts';
import { ok } from '../../http/client.ts';
import { until } from '../../waiting.ts';

const PUBLIC_URL = 'https://laurel.example/base';
const START = '2030-03-01T09:00:00.000Z';

let laurel: TestLaurel;
const closing: (() => unknown)[] = [];
beforeEach(async () => {
  laurel = await startLaurel({
    testClock: true,
    workers: true,
    webhookAllowPrivate: true,
    publicUrl: PUBLIC_URL,
    secretsKey: randomBytes(32),
    worker: { emails: { everyMs: 50, firstPauseMs: 60_000, timeoutMs: 20_000 } },
  });
  closing.push(() => laurel.close());
  await ok(laurel.admin.put('/v1/clock', { now: START }));
  await ok(
    laurel.admin.put('/v1/configuration', {
      metrics: [{ key: 'flips', name: 'Flips' }],
      streaks: { enabled: true, frequency: 'daily' },
      messages: { templates: TEMPLATES },
    }),
  );
});
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

// oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of any shape
async function server(options: SMTPServerOptions = {}) {
  const started = await smtpServer(options);
  closing.push(started.close);
  return started;
}

const channelTo = (port: number, changes: object = {}) =>
  laurel.admin.put('/v1/messages/channel', {
    host: '127.0.0.1',
    port,
    security: 'none',
    senderAddress: 'hello@example.org',
    senderName: 'Laurel',
    pace: 50,
    ...changes,
  });

const messages = async (query = ''): Promise<{ status: string; userId: string; reason: string | null }[]> =>
  (await ok(laurel.admin.get(`/v1/messages?limit=100${query}`))).messages;

/** Users with an address, and an e-mail to each that is due now. */
async function due(...userIds: string[]): Promise<void> {
  for (const id of userIds) await ok(laurel.app.put(`/v1/users/${id}`, { email: `${id}@example.com`, name: id }));
  const atMs = Date.parse(START);
  const payload = JSON.stringify({ type: 'emails.recap_due', user: { name: 'old name' } });
  const emails = userIds.map((userId) => ({
    id: occasionMessageId(0, 'recap', userId),
    tenantNo: 0,
    userId,
    kind: 'recap' as const,
    atMs,
    payload,
  }));
  await transaction(laurel.pool, (client) => addMessagesToSend(client, emails));
}

const unfolded = (content: string): string => content.replaceAll(/\r\n[ \t]+/g, ' ');
const linkOf = (content: string): string =>
  /^List-Unsubscribe: <(.*)>\r$/m.exec(unfolded(content))![1]!.replaceAll(' ', '');

describe('an e-mail about a streak that ends', () => {
  test('is sent, and its link ends e-mails of this kind alone', async () => {
    const { port, received } = await server();
    await ok(channelTo(port));
    await ok(
      laurel.app.post('/v1/metrics/flips/event', {
        user: { id: 'ada', email: 'ada@example.com', name: '<Ada>' },
        value: 1,
      }),
    );
    await ok(laurel.admin.put('/v1/clock', { now: '2030-03-02T20:00:00.000Z' }));
    await until(async () => (await messages()).some(({ status }) => status === 'sent'));
    expect(received).toHaveLength(1);
    const { from, to, content } = received[0]!;
    expect({ from, to }).toEqual({ from: 'hello@example.org', to: ['ada@example.com'] });
    expect(content).toContain('From: Laurel <hello@example.org>');
    expect(content).toContain('Subject: About streak_reminder');
    expect(content).toContain('Hello &lt;Ada&gt;');
    expect(content).toContain('List-Unsubscribe-Post: List-Unsubscribe=One-Click');
    expect(await messages('&userId=ada&kind=streak_reminder')).toMatchObject([{ status: 'sent', reason: null }]);

    const link = linkOf(content);
    expect(link.startsWith(`${PUBLIC_URL}/unsubscribe/`)).toBe(true);
    const url = `${laurel.appUrl}${link.slice(PUBLIC_URL.length)}`;
    const shown = await fetch(url);
    expect(shown.status).toBe(200);
    expect(await shown.text()).toContain('<form method="post">');
    expect(shown.headers.get('content-security-policy')).toContain("default-src 'none'");
    const preferences = async () => (await ok(laurel.app.get('/v1/users/ada/preferences'))).notifications;
    expect((await preferences()).streak_reminder).toEqual(['email', 'push']);
    const form = { method: 'POST', headers: { 'Content-Type': 'application/x-www-form-urlencoded' } };
    for (const body of ['List-Unsubscribe=One-Click', '']) {
      const posted = await fetch(url, { ...form, body });
      expect([posted.status, posted.redirected]).toEqual([200, false]);
      expect(await posted.text()).toContain('no longer sends you reminders about your streak');
    }
    expect(await preferences()).toMatchObject({ streak_reminder: ['push'], recap: ['email', 'push'] });
    const forged = await fetch(`${url.slice(0, -3)}AAA`, form);
    expect([forged.status, await forged.text()]).toEqual([404, expect.stringContaining('not valid')]);
    const large = await fetch(url, { ...form, body: 'a'.repeat(20_000) });
    expect(large.status).toBe(413);

    const read = async (language: string, token = '', method = 'GET') =>
      (await fetch(`${url}${token}`, { method, headers: { 'Accept-Language': language } })).text();
    expect(await read('de-CH,en;q=0.8')).toContain('Möchtest du keine Erinnerungen an deine Serie mehr bekommen?');
    expect(await read('fr', 'x')).toContain('Ce lien n’est pas valide');
    const own = { kind: 'streak_reminder', question: 'Fin ?', button: 'Oui', doneTitle: 'Fini', done: 'C’est <fini>.' };
    await ok(
      laurel.admin.put('/v1/configuration', {
        attributes: [{ key: 'locale', name: 'Locale', type: 'user' }],
        messages: {
          localeAttribute: 'locale',
          unsubscribePages: [
            { ...own, title: 'Other' },
            { ...own, title: 'Français', locale: 'fr' },
          ],
        },
      }),
    );
    await ok(laurel.app.patch('/v1/users/ada', { attributes: { locale: 'fr-CA' } }));
    // Each process sees a change of the configuration within a second.
    await until(async () => (await read('de')).includes('<html lang="fr">'));
    expect(await read('de')).toContain('<h1>Français</h1><p>Fin ?</p>');
    expect(await read('de', '', 'POST')).toContain('C’est &lt;fini&gt;.');
    await ok(laurel.app.patch('/v1/users/ada', { attributes: { locale: 'nl' } }));
    expect(await read('de')).toContain('<h1>Other</h1>');
    expect(await read('fr')).toContain('<h1>Français</h1>');
    // The link of a deleted user still has a page.
    await ok(laurel.admin.delete('/v1/users?ids=ada'));
    expect(await read('de')).toContain('<h1>Other</h1>');
  });
});

test('an e-mail shows the present name of its user, and none goes to a user who unsubscribed meanwhile', async () => {
  await due('ada', 'bo');
  await ok(laurel.app.patch('/v1/users/bo/preferences', { notifications: { recap: ['push'] } }));
  const { port, received } = await server();
  await ok(channelTo(port));
  await until(async () => (await messages()).every(({ status }) => status !== 'waiting' && status !== 'sending'));
  expect(received.map(({ to }) => to[0])).toEqual(['ada@example.com']);
  expect(received[0]!.content).toContain('Hello ada');
  expect(await messages('&status=dropped')).toMatchObject([{ userId: 'bo' }]);
});

describe('a server', () => {
  test('that refuses an address for good gets it no more until an administrator allows it', async () => {
    const { port, received } = await server({
      onRcptTo: ({ address }, _session, done) => done(address.startsWith('bad') ? answer(550) : null),
    });
    await due('bad', 'good');
    await ok(channelTo(port));
    await until(async () => (await messages()).every(({ status }) => status !== 'waiting' && status !== 'sending'));
    expect(received).toHaveLength(1);
    expect(await messages('&status=failed')).toMatchObject([{ userId: 'bad', reason: expect.stringContaining('550') }]);
    const list = await ok(laurel.admin.get('/v1/messages/suppressed'));
    expect(list.addresses).toMatchObject([{ address: 'bad@example.com', userId: 'bad' }]);
    expect((await laurel.admin.delete('/v1/messages/suppressed/bad@example.com')).status).toBe(204);
    expect((await laurel.admin.delete('/v1/messages/suppressed/bad@example.com')).status).toBe(404);
    expect((await ok(laurel.admin.get('/v1/messages/suppressed'))).addresses).toEqual([]);
  });

  test('that answers slowly, or not at all, holds up no other tenant', async () => {
    const slow = await server({ onMailFrom: () => undefined });
    const quick = await server();
    await due('ada', 'bo', 'cy');
    await ok(channelTo(slow.port));
    await ok(laurel.admin.patch('/v1/organisation', { multiTenancy: true }));
    await ok(laurel.admin.post('/v1/tenants', [{ customerId: 'other', name: 'Other' }]));
    const as = { tenantId: 'other' };
    await ok(laurel.admin.put('/v1/configuration', { messages: { templates: TEMPLATES } }, as));
    await ok(laurel.app.put('/v1/users/ada', { email: 'other@example.com' }, as));
    const { rows } = await laurel.pool.query<{ no: number }>("SELECT no FROM tenants WHERE customer_id = 'other'");
    const tenantNo = rows[0]!.no;
    const email = { id: occasionMessageId(tenantNo, 'recap', '1'), tenantNo, userId: 'ada', kind: 'recap' as const };
    await transaction(laurel.pool, (client) =>
      addMessagesToSend(client, [{ ...email, atMs: Date.parse(START), payload: '{}' }]),
    );
    await until(() => slow.connections() > 0);
    const body = { host: '127.0.0.1', port: quick.port, security: 'none', senderAddress: 'other@example.org' };
    await ok(laurel.admin.put('/v1/messages/channel', body, as));
    const beganMs = performance.now();
    await until(() => quick.received.length > 0);
    // Less than until the attempt at the slow server is given up.
    expect(performance.now() - beganMs).toBeLessThan(25_000);
    expect(quick.received[0]!.to).toEqual(['other@example.com']);
    expect(slow.received).toEqual([]);
  });

  test('that fails ten times in a row is left alone for a while, and the e-mails that wait are then sent', async () => {
    const { port, received, close } = await server();
    await close();
    closing.pop();
    const users = Array.from({ length: 14 }, (_, n) => `user${n}`);
    await due(...users);
    await ok(channelTo(port));
    const tries = async () =>
      (await laurel.pool.query<{ tries: number }>('SELECT sum(tries)::int AS tries FROM email_messages')).rows[0]!
        .tries;
    await until(async () => (await tries()) >= 10);
    await sleep(500);
    expect(await tries()).toBe(10);
    expect(received).toEqual([]);
    const again = await server();
    await ok(channelTo(again.port));
    // Four were never tried; the others wait for their retries.
    await until(() => again.received.length === 4);
    await ok(laurel.admin.put('/v1/clock', { now: '2030-03-01T09:30:00.000Z' }));
    await until(() => again.received.length === 14);
    expect(new Set(again.received.map(({ to }) => to[0])).size).toBe(14);
  });
});

test('the pace of a channel holds', async () => {
  const timesMs: number[] = [];
  const { port } = await server({
    onMailFrom: (_address, _session, done) => {
      timesMs.push(performance.now());
      done();
    },
  });
  await due(...Array.from({ length: 10 }, (_, n) => `user${n}`));
  await ok(channelTo(port, { pace: 5 }));
  await until(() => timesMs.length === 10);
  // 1,800 ms; the first one may arrive late.
  expect(timesMs[9]! - timesMs[0]!).toBeGreaterThan(400);
});
