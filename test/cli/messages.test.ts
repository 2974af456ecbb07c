import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startLaurel, type TestLaurel } from '../laurel.ts';
import { suppressAddress } from '../../src/postgres/notifications/message-suppressions.ts';
import { type Ended, runAdminCli } from './run-cli.ts';

const template = (greeting: string) => ({
  kind: 'reactivation',
  subject: `${greeting} {{user.name|you}}`,
  html: `<p>${greeting}</p><a href="{{unsubscribeUrl}}">x</a>`,
  text: `${greeting}: {{unsubscribeUrl}}`,
});

let laurel: TestLaurel;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'laurel-messages-'));
  laurel = await startLaurel({
    configuration: { messages: { templates: [template('Hello') as never] } },
    webhookAllowPrivate: true,
  });
  await laurel.app.put('/v1/users/ada', { name: 'Ada' });
});
afterAll(async () => {
  await laurel.close();
  await rm(folder, { recursive: true });
});

const cli = (...words: string[]): Promise<Ended> => runAdminCli(laurel, ['messages', ...words]);

test('preview: the template in force, as text, HTML or JSON', async () => {
  const link = 'https://example.org/unsubscribe';
  expect(await cli('preview', 'ada', 'reactivation')).toEqual({
    code: 0,
    out: `Subject: Hello Ada\n\nHello: ${link}\n`,
    err: '',
  });
  expect((await cli('preview', 'ada', 'reactivation', '--html')).out).toBe(`<p>Hello</p><a href="${link}">x</a>\n`);
  expect(JSON.parse((await cli('preview', 'ada', 'reactivation', '--json')).out)).toMatchObject({ locale: null });
  expect(await cli('preview', 'bob', 'reactivation')).toMatchObject({ code: 2, err: expect.stringContaining("'bob'") });
  expect(await cli('preview', 'ada', 'party')).toMatchObject({ code: 2, err: expect.stringContaining('kind') });
});

test('preview: the template of a document', async () => {
  const file = join(folder, 'laurel.json');
  const german = { ...template('Hallo'), locale: 'pt-BR' };
  await writeFile(file, JSON.stringify({ messages: { templates: [template('Hi'), german] } }));
  const subject = async (...more: string[]): Promise<string> => {
    const { out, err } = await cli('preview', 'ada', 'reactivation', '--file', file, ...more);
    return out.split('\n')[0]! || err;
  };
  expect(await subject()).toBe('Subject: Hi Ada');
  expect(await subject('--locale', 'pt_br')).toBe('Subject: Hallo Ada');
  expect(await subject('--locale', 'fr')).toContain('no template of the kind reactivation for fr');
  expect(await cli('preview', 'ada', 'reactivation', '--locale', 'fr')).toMatchObject({
    code: 2,
    err: expect.stringContaining('--file'),
  });
  await writeFile(file, JSON.stringify({ messages: { templates: [{ ...template('Hi'), html: '<script>' }] } }));
  expect(await subject()).toContain('template.html: must contain {{unsubscribeUrl}}');
});

test('list: what was sent, or why not', async () => {
  expect(await cli('list')).toEqual({ code: 0, out: 'No message is in the log.\n', err: '' });
  expect(await cli('list', '--status', 'lost')).toMatchObject({ code: 2, err: expect.stringContaining('dropped') });
  const { pool } = laurel;
  const add = (id: string, userId: string, status: string, reason: string | null): Promise<unknown> =>
    pool.query(
      `INSERT INTO email_messages (id, tenant_no, user_id, kind, medium, at, status, reason, finished)
       VALUES ($1, 0, $2, 'recap', 'email', '2026-11-02T09:00:00Z', $3, $4, '2026-11-02T09:00:01Z')`,
      [id, userId, status, reason],
    );
  await add('01890a5d-ac96-774b-bcce-b302099a8057', 'ada', 'sent', null);
  await add('01890a5d-ac96-774b-bcce-b302099a8058', 'bob', 'failed', '550 5.1.1 No such user');
  const { out } = await cli('list', '--user', 'bob', '--kind', 'recap');
  expect(out.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
    ['DUE', 'USER', 'KIND', 'BY', 'STATUS', 'REASON'],
    ['2026-11-02T09:00:00.000Z', 'bob', 'recap', 'email', 'failed', '550 5.1.1 No such user'],
    [''],
  ]);
  expect(JSON.parse((await cli('list', '--json', '--limit', '1')).out)).toHaveLength(1);
});

test('suppressed addresses are listed and allowed again', async () => {
  const { pool } = laurel;
  expect((await cli('suppressed')).out).toBe('No address is suppressed.\n');
  const bounced = { tenantNo: 0, address: 'bob@example.com', userId: 'bob', reason: '550 No such user' };
  await suppressAddress(pool, { ...bounced, nowMs: Date.parse('2026-11-02T09:00:00Z') });
  expect((await cli('suppressed')).out).toContain('bob@example.com  bob   2026-11-02T09:00:00.000Z  550 No such user');
  expect(await cli('allow', 'bob@example.com')).toEqual({ code: 0, out: 'bob@example.com  allowed\n', err: '' });
  expect((await cli('suppressed')).out).toBe('No address is suppressed.\n');

  // One that is not suppressed does not stop the others.
  const again = { ...bounced, nowMs: Date.parse('2026-11-02T09:00:00Z') };
  await suppressAddress(pool, again);
  await suppressAddress(pool, { ...again, address: 'cem@example.com', userId: 'cem' });
  expect(await cli('allow', 'bob@example.com', 'nobody@example.com', 'cem@example.com')).toEqual({
    code: 1,
    out: 'bob@example.com  allowed\ncem@example.com  allowed\n',
    err: 'nobody@example.com  Refused (404): The address is not suppressed\n',
  });
  expect(JSON.parse((await cli('allow', 'bob@example.com', '--json')).out)).toEqual({ allowed: [] });
  expect(await cli('allow', 'bob@example.com', '--key', 'adm_wrong.key')).toMatchObject({ code: 2, out: '' });
});

test('channel: set, shown, tested and deleted', async () => {
  expect(await cli('channel', 'show')).toMatchObject({ code: 2, err: expect.stringContaining('has no channel') });
  const file = join(folder, 'channel.json');
  const address = { host: '127.0.0.1', port: 1, security: 'none', senderAddress: 'hello@example.com' };
  await writeFile(file, JSON.stringify({ ...address, enabled: false }));
  const set = await cli('channel', 'set', file);
  expect(set).toMatchObject({ code: 0, out: expect.stringMatching(/^senderAddress +hello@example\.com$/m) });
  const shown = await cli('channel', 'show', '--json');
  expect(shown).toMatchObject({ code: 0, err: expect.stringContaining('The channel is disabled') });
  expect(JSON.parse(shown.out)).toMatchObject({ ...address, enabled: false, hasPassword: false });
  // What is shown can be set again.
  await writeFile(file, shown.out);
  expect((await cli('channel', 'set', file)).code).toBe(0);
  await writeFile(file, JSON.stringify({ ...address, port: 'smtp', pace: 0 }));
  expect(await cli('channel', 'set', file)).toMatchObject({
    code: 2,
    err: expect.stringMatching(/port[^]*\n[^]*pace/),
  });
  // No mail server listens there.
  expect((await cli('channel', 'test', 'you@example.com')).code).toBe(1);
  expect(await cli('channel', 'delete')).toMatchObject({ code: 2, err: expect.stringContaining('--yes') });
  expect(await cli('channel', 'delete', '--yes')).toMatchObject({ code: 0, out: 'Deleted.\n' });
  expect((await cli('channel', 'show')).code).toBe(2);
});

test('unsubscribe-page: both states as HTML', async () => {
  const page = async (...more: string[]): Promise<string> =>
    (await cli('unsubscribe-page', 'ada', 'recap', ...more)).out;
  expect(await page()).toMatch(/^<!DOCTYPE html>[^]*<button/);
  expect(await page('--done')).toMatch(/^<!DOCTYPE html>/);
  expect(await page('--done')).not.toContain('<button');
});
