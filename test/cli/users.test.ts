import { afterAll, beforeAll, expect, test } from 'vitest';
import { startLaurel, type TestLaurel } from '../laurel.ts';
import { STUDY_APP } from '../study-app.ts';
import { runAdminCli, type Ended } from './run-cli.ts';

// `laurel users` in its own process.
let laurel: TestLaurel;
beforeAll(async () => {
  laurel = await startLaurel({ configuration: STUDY_APP, workers: true });
});
afterAll(() => laurel.close());

const cli = (...words: string[]): Promise<Ended> => runAdminCli(laurel, ['users', ...words]);

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
