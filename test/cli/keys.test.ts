import { expect, test } from 'vitest';
import { startLaurel } from '../laurel.ts';
import { runAdminCli, type Ended } from './run-cli.ts';
import { opened } from '../stack/opened.ts';

// `laurel keys` in its own process.
const NOBODY = '00000000-0000-7000-8000-000000000000';
const laurel = opened(() => startLaurel());

const cli = (...words: string[]): Promise<Ended> => runAdminCli(laurel, ['keys', ...words]);
const listed = async (...words: string[]): Promise<{ id: string; prefix: string; userId?: string; name?: string }[]> =>
  JSON.parse((await cli('list', ...words, '--json')).out);

test('create prints a key that works, and nothing else', async () => {
  const keys = (...words: string[]): Promise<Ended> => cli('create', ...words);
  const { code, out } = await keys('--user', 'ada', '--scope', 'read');
  expect([code, out]).toEqual([0, expect.stringMatching(/^app_\S+\n$/)]);
  const reader = JSON.parse((await keys('--admin', 'Reader', '--read', '--json')).out) as { key: string };
  const pull = await runAdminCli(laurel, ['config', 'pull'], { LAUREL_KEY: reader.key });
  expect(pull.code).toBe(0);
  const change = await runAdminCli(laurel, ['keys', 'create', '--user', 'ada'], { LAUREL_KEY: reader.key });
  expect(change).toMatchObject({ code: 2, out: '' });
  for (const words of [
    [],
    ['--user', 'a', '--admin', 'b'],
    ['--user', 'a', '--read'],
    ['--admin', 'b', '--scope', 'read'],
  ])
    expect(await keys(...words)).toMatchObject({ code: 2, out: '', err: expect.stringMatching(/^(Give|--)/) });
  expect((await keys('--user', 'ada', '--expires', 'tomorrow')).err).toMatch(/^No key was created: .*expiresAt/);
});

test('list: application keys, those of one user, or admin keys; more than a page', async () => {
  await laurel.admin.post('/v1/application-api-keys?strict=true', [
    { userId: 'l-ada', scope: 'read', expiresAt: '2999-01-01T00:00:00Z' },
    { userId: 'l-bob' },
  ]);
  const { body } = await laurel.admin.get('/v1/application-api-keys?userId=l-ada');
  const [ada] = body;
  const { code, out } = await cli('list', '--user', 'l-ada');
  expect([code, out.split('\n')[0]]).toEqual([
    0,
    expect.stringMatching(/^ID +KEY +USER +MAY +EXPIRES +CREATED +LAST USED$/),
  ]);
  expect(out.split('\n')[1]).toBe(`${ada.id}  ${ada.prefix}  l-ada  read  2999-01-01T00:00:00.000Z  ${ada.created}  -`);
  expect(out.split('\n')).toHaveLength(3);
  expect(await listed('--user', 'l-ada')).toEqual(body);
  expect((await cli('list')).out).toContain('l-bob');
  const admins = (await cli('list', '--admin')).out;
  expect(admins).toMatch(/^ID +KEY +NAME +STATE +MAY +TENANT +CREATED +LAST USED\n/);
  expect(admins).toMatch(/ Reader +active +read +- /);
  expect(admins).not.toContain('l-ada');

  const many = Array.from({ length: 100 }, () => ({ userId: 'l-many' }));
  await laurel.admin.post('/v1/application-api-keys?strict=true', many);
  await laurel.admin.post('/v1/application-api-keys?strict=true', many.slice(0, 5));
  const all = await listed('--user', 'l-many', '--limit', '999');
  expect(new Set(all.map(({ id }) => id)).size).toBe(105);
  expect(await listed('--user', 'l-many', '--limit', '101')).toEqual(all.slice(0, 101));
  expect(await listed('--user', 'l-many')).toEqual(all.slice(0, 50));

  expect(await cli('list', '--user', 'l-nobody')).toEqual({ code: 0, out: 'There are no such keys.\n', err: '' });
  expect(await cli('list', '--user', 'l-ada', '--admin')).toMatchObject({ code: 2, out: '' });
});

test('delete: a key is refused from then on; without a terminal it takes --yes; says which keys stay and why', async () => {
  const { body } = await laurel.admin.post('/v1/application-api-keys?strict=true', [{ userId: 'd-ada' }]);
  const [{ id, key }] = body.created;
  const read = () => laurel.app.get('/v1/users/d-ada', { headers: { 'X-API-KEY': key } });
  expect((await read()).status).toBe(404);
  expect(await cli('delete', id)).toEqual({
    code: 2,
    out: '',
    err: 'Nothing was changed: this deletes 1 application key, which takes --yes.\n',
  });
  expect(await listed('--user', 'd-ada')).toHaveLength(1);
  expect(await cli('delete', NOBODY, 'd-ada', id, '--yes')).toEqual({
    code: 1,
    out: 'Deleted 1 application key.\n',
    err: expect.stringMatching(
      new RegExp(`^${NOBODY}  There is no application key with this ID\nd-ada  Refused \\(\\d+\\): .*\n$`),
    ),
  });
  expect((await read()).status).toBe(401);
  expect(await listed('--user', 'd-ada')).toEqual([]);
});

test('delete --admin: the last key with full access stays', async () => {
  await cli('create', '--admin', 'Colleague', '--read');
  const keys = await listed('--admin');
  const colleague = keys.find(({ name }) => name === 'Colleague')!;
  const [first] = keys;
  expect(JSON.parse((await cli('delete', '--admin', colleague.id, '--yes', '--json')).out)).toEqual({
    deleted: [colleague.id],
  });
  expect(await cli('delete', '--admin', first!.id, '--yes')).toEqual({
    code: 1,
    out: 'Deleted 0 admin keys.\n',
    err: `${first!.id}  This is the last active admin key with full access: create or activate another one first\n`,
  });
});

test('delete --admin: says if the command uses one of the keys, and deletes that one last', async () => {
  const [key, other] = await Promise.all(
    ['Own', 'Other'].map(async (name) => JSON.parse((await cli('create', '--admin', name, '--json')).out)),
  );
  const own = (...words: string[]): Promise<Ended> =>
    runAdminCli(laurel, ['keys', 'delete', '--admin', key.id, other.id, ...words], { LAUREL_KEY: key.key });
  expect(await own()).toEqual({
    code: 2,
    out: '',
    err: "Nothing was changed: this deletes 2 admin keys (this command's own among them), which takes --yes.\n",
  });
  expect(await own('--yes')).toEqual({ code: 0, out: 'Deleted 2 admin keys.\n', err: '' });
  expect((await listed('--admin')).filter(({ id }) => [key.id, other.id].includes(id))).toEqual([]);
});
