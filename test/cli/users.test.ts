import { expect, test } from 'vitest';
import { startLaurel } from '../laurel.ts';
import { STUDY_APP } from '../study-app.ts';
import { runAdminCli, runCli, type Ended } from './run-cli.ts';
import { opened } from '../stack/opened.ts';

// `laurel users` in its own process.
const laurel = opened(() => startLaurel({ configuration: STUDY_APP, workers: true, testClock: true }));

const cli = (...words: string[]): Promise<Ended> => runAdminCli(laurel, ['users', ...words]);

test('list: in the order of IDs, or by the beginning of a text; more than a page', async () => {
  await laurel.app.put('/v1/users/l-ada', { name: 'Ada', email: 'ada@example.org', tz: 'Europe/Berlin' });
  const ids = Array.from({ length: 101 }, (_, at) => `many-${String(at).padStart(3, '0')}`);
  await Promise.all(ids.map((id) => laurel.app.put(`/v1/users/${id}`, {})));
  const { out } = await cli('list', '--search', 'l-');
  expect(out.split('\n')[0]).toMatch(/^ID +NAME +EMAIL +TIME ZONE +CREATED/);
  expect(out).toMatch(/^l-ada +Ada +ada@example.org +Europe\/Berlin +20/m);
  const found = JSON.parse((await cli('list', '--search', 'many-', '--limit', '500', '--json')).out) as {
    id: string;
  }[];
  expect(found.map(({ id }) => id)).toEqual(ids);
  const three = JSON.parse((await cli('list', '--after', 'many-009', '--limit', '3', '--json')).out) as {
    id: string;
  }[];
  expect(three.map(({ id }) => id)).toEqual(ids.slice(10, 13));
  expect(await cli('list', '--search', 'nobody')).toMatchObject({ code: 0, out: 'There are no such users.\n' });
});

test('preferences: shown and changed, by kind of message', async () => {
  await laurel.app.put('/v1/users/pia', { name: 'Pia' });
  const preferences = (...words: string[]): Promise<Ended> =>
    cli('preferences', 'pia', '--app-url', laurel.appUrl, ...words);
  const shown = await preferences();
  expect(shown).toMatchObject({ code: 0, out: expect.stringMatching(/^recap +email, push$/m) });
  const changed = await preferences('--notify', 'recap=none', '--notify', 'streak_reminder=push');
  expect(changed.out).toMatch(/^recap +none$/m);
  expect(changed.out).toMatch(/^streak_reminder +push$/m);
  expect(changed.out).toMatch(/^reactivation +email, push$/m);
  expect(JSON.parse((await preferences('--json')).out)).toMatchObject({
    notifications: { recap: [], streak_reminder: ['push'] },
  });
  expect((await preferences('--notify', 'party=email')).err).toContain('The kind must be one of: streak_reminder, ');
  for (const channels of ['recap', 'recap=', 'recap=fax'])
    expect((await preferences('--notify', channels)).err).toContain('After the kind comes =');
  const away = await cli('preferences', 'pia', '--app-url', 'http://127.0.0.1:1');
  expect(away).toMatchObject({ code: 2, err: expect.stringContaining('Is it running? --app-url says where.') });
  const nobody = await cli('preferences', 'nobody', '--app-url', laurel.appUrl);
  expect(nobody).toMatchObject({ code: 2, err: expect.stringContaining('404') });
});

test('export writes the document; delete needs --yes without a terminal, and says who is unknown', async () => {
  await laurel.app.post('/v1/metrics/flips/event', { user: { id: 'x/1,2' }, value: 3 });
  const exported = await cli('export', 'x/1,2');
  expect(JSON.parse(exported.out)).toMatchObject({ user: { id: 'x/1,2' }, metrics: { flips: expect.anything() } });
  expect((await cli('export', 'nobody')).code).toBe(2);
  expect(await cli('delete', 'x/1,2')).toEqual({
    code: 2,
    out: '',
    err: 'Nothing was changed: this deletes 1 user with all data, which takes --yes.\n',
  });
  expect((await laurel.app.get('/v1/users/x%2F1%2C2')).status).toBe(200);
  expect(await cli('delete', 'x/1,2', 'nobody', '--yes')).toEqual({
    code: 1,
    out: 'Deleted 1 user.\n',
    err: 'There is no user nobody.\n',
  });
  expect((await laurel.app.get('/v1/users/x%2F1%2C2')).status).toBe(404);
});

test('timeline: a table or JSON, of one kind, and only of an existing user', async () => {
  for (const value of [12, 3]) await laurel.app.post('/v1/metrics/flips/event', { user: { id: 'a/da' }, value });
  const { code, out } = await cli('timeline', 'a/da');
  expect(code).toBe(0);
  const [head, newest, oldest, creation] = out.split('\n');
  expect(head).toMatch(/^AT +WHAT +OF +CAUSED/);
  expect(newest).toContain('3 Flashcards flipped');
  expect(oldest).toContain('streak of 1; Ten flips; First day; Ten and a day;');
  expect(creation).toContain('user_creation');
  const shown = await laurel.admin.get('/v1/users/a%2Fda/timeline?kind=event');
  expect(JSON.parse((await cli('timeline', 'a/da', '--kind', 'event', '--json')).out)).toEqual(shown.body.entries);
  expect((await cli('timeline', 'a/da', '--limit', '1', '--json')).out).toContain('"value": 3');
  expect((await cli('timeline', 'nobody')).err).toContain('Unknown user');
  expect((await cli('timeline', 'a/da', '--kind', 'level')).code).not.toBe(0);
});

test('console prints a link that signs in once, without a key', async () => {
  // As in a terminal where the tutorial was read.
  const variables = { DATABASE_URL: laurel.databaseUrl, ADMIN_API_KEY: undefined, LAUREL_KEY: laurel.adminKey };
  const { code, out } = await runCli(['console', '--url', 'https://laurel.example.org'], variables);
  const [, token] = /^https:\/\/laurel\.example\.org\/console#token=(\S+)\n$/.exec(out) ?? [];
  expect([code, token]).toEqual([0, expect.any(String)]);
  const signIn = () =>
    fetch(`${laurel.adminUrl}/v1/session`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ token }),
    });
  expect([(await signIn()).status, (await signIn()).status]).toEqual([201, 401]);
  const named = await runCli(['console'], { ...variables, ADMIN_URL: laurel.adminUrl });
  expect(named.out).toContain(`${laurel.adminUrl}/console#token=`);
  const elsewhere = await runCli(['console'], { DATABASE_URL: undefined, DATA_DIR: '/nonexistent' });
  expect(elsewhere).toMatchObject({
    code: 2,
    out: '',
    err: expect.stringContaining('No Laurel runs with the data in'),
  });
});

// Last: the time stays at a later day.
test('clock shows, moves and resets the test clock', async () => {
  const clock = (...words: string[]): Promise<Ended> => runAdminCli(laurel, ['clock', ...words]);
  expect(await clock('set', '2035-12-01T00:00:00Z')).toEqual({ code: 0, out: '2035-12-01T00:00:00.000Z\n', err: '' });
  expect((await clock('set', '+1d')).out).toBe('2035-12-02T00:00:00.000Z\n');
  expect((await clock('show', '--json')).out).toBe('{\n  "now": "2035-12-02T00:00:00.000Z"\n}\n');
  expect((await clock('--json')).out).toBe('{\n  "now": "2035-12-02T00:00:00.000Z"\n}\n');
  expect(await clock('set', '+1y')).toMatchObject({
    code: 2,
    err: expect.stringContaining('+1y is not a step: use +90m'),
  });
  expect(await clock('set', 'soon')).toMatchObject({ code: 2, err: expect.stringContaining('now') });
  expect((await clock('reset')).code).toBe(0);
  expect((await clock('show')).out).not.toContain('2035');
});
