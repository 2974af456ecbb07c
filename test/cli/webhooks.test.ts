import { expect, test } from 'vitest';
import { FixedClock } from '../../src/clock.ts';
import { startLaurel } from '../laurel.ts';
import { settleMessages, storeMessages } from '../operations/admin/webhooks/stored-messages.ts';
import { runAdminCli, type Ended } from './run-cli.ts';
import { opened } from '../stack/opened.ts';

// `laurel webhooks` in its own process. Without workers; the test records deliveries itself.
const NOW_MS = Date.UTC(2026, 10, 22, 9);
const URL = 'https://example.com/laurel';
const NOBODY = '00000000-0000-7000-8000-000000000000';
let ids: { news: string; twins: [string, string] };
const laurel = opened(() => startLaurel({ clock: new FixedClock(NOW_MS) }));

const cli = (...words: string[]): Promise<Ended> => runAdminCli(laurel, ['webhooks', ...words]);

test('list: a table or JSON; a name cannot send control sequences to the terminal', async () => {
  expect(await cli('list')).toEqual({ code: 0, out: 'There are no webhooks.\n', err: '' });
  const { body } = await laurel.admin.post('/v1/webhooks', [
    { name: 'News', url: URL, events: ['points.changed'] },
    { name: 'Twin', url: URL, events: ['streak.lost', 'streak.started'], enabled: false },
    { name: 'Twin', url: URL, events: ['streak.lost'] },
    { name: '\u001b[2J', url: URL, events: ['streak.lost'] },
  ]);
  const [news, one, other, odd] = body.created.map(({ id }: { id: string }) => id);
  ids = { news, twins: [one, other] };
  const { out } = await cli('list');
  expect(out.split('\n')).toEqual([
    `ID${' '.repeat(34)}  NAME  STATE     EVENTS  URL`,
    `${news}  News  enabled   1       ${URL}`,
    `${one}  Twin  disabled  2       ${URL}`,
    `${other}  Twin  enabled   1       ${URL}`,
    `${odd}  \uFFFD[2J  enabled   1       ${URL}`,
    '',
  ]);
  expect(JSON.parse((await cli('list', '--json')).out)).toEqual((await laurel.admin.get('/v1/webhooks')).body);
});

test('deliveries: the log of a webhook by its name or ID, page by page, and one message as JSON', async () => {
  expect((await cli('deliveries', 'News')).out).toBe('No message is in the log.\n');
  const [id] = await storeMessages(laurel.pool, [{ webhookId: ids.news, userId: 'ada', atMs: NOW_MS }]);
  await settleMessages(laurel.pool, [id!], 'failed');
  const { out } = await cli('deliveries', 'News', '--status', 'failed', '--user', 'ada');
  expect(out.split('\n')[1]).toBe(`${id}  2026-11-22T09:00:00.000Z  points.changed  ada   failed  1      500     -`);
  const shown = await laurel.admin.get(`/v1/webhooks/${ids.news}/deliveries/${id}`);
  expect(JSON.parse((await cli('deliveries', ids.news, id!)).out)).toEqual(shown.body);

  await storeMessages(
    laurel.pool,
    Array.from({ length: 120 }, () => ({ webhookId: ids.twins[1], atMs: NOW_MS })),
  );
  const listed = JSON.parse((await cli('deliveries', ids.twins[1], '--limit', '110', '--json')).out);
  expect(new Set(listed.map((one: { id: string }) => one.id)).size).toBe(110);
  expect((await cli('deliveries', 'News', '--limit', '0')).code).toBe(2);
});

test('resend: one message, or all failed ones', async () => {
  const [first, second] = await storeMessages(laurel.pool, [
    { webhookId: ids.news, atMs: NOW_MS },
    { webhookId: ids.news, atMs: NOW_MS },
  ]);
  await settleMessages(laurel.pool, [first!, second!], 'failed');
  expect(await cli('resend', 'News', first!)).toEqual({ code: 0, out: `${first}  queued\n`, err: '' });
  // The second failed message, and that of the previous test.
  const all = await cli('resend', 'News', '--all', '--wait');
  expect(all).toEqual({ code: 0, out: expect.stringMatching(/^[0-9a-f-]{36} {2}2 of 2 queued\n$/), err: '' });
  const { rows } = await laurel.pool.query('SELECT FROM webhook_queue WHERE webhook_id = $1', [ids.news]);
  expect(rows.length).toBe(3);

  expect((await cli('resend', 'News')).err).toBe('Name the messages to send again, or give --all.\n');
  // One that does not exist does not stop the others.
  expect(await cli('resend', 'News', NOBODY, first!)).toEqual({
    code: 1,
    out: `${first}  queued\n`,
    err: `${NOBODY}  Refused (404): There is no delivery with this ID, or it is older than the log\n`,
  });
});

test('rotate: prints the new secret and the expiry of the previous one', async () => {
  const { code, out, err } = await cli('rotate', 'News');
  expect([code, out, err]).toEqual([
    0,
    expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=\n$/),
    'The previous secret signs too until 2026-11-23T09:00:00.000Z.\n',
  ]);
});

test('test: without a worker nothing is sent, and the command says so', async () => {
  const { code, out } = await cli('test', 'News', 'streak.lost');
  expect([code, out]).toEqual([1, expect.stringContaining('was not tried yet: is a worker running?')]);
  expect((await cli('deliveries', 'News')).out).toContain('streak.lost (test)');
  expect(await cli('test', ids.twins[0], 'streak.lost')).toMatchObject({
    code: 2,
    err: expect.stringContaining('The webhook is disabled'),
  });
});

test('refuses an unknown or ambiguous name', async () => {
  expect((await cli('deliveries', 'Nobody')).err).toContain('There is no webhook called "Nobody"');
  expect((await cli('rotate', 'Twin')).err).toContain('2 webhooks are called "Twin"');
});
