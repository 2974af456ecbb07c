import type { Route } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { makeSignInToken } from '../../src/postgres/access/sessions.ts';
import { startLaurel } from '../laurel.ts';
import { hasBrowser, startBrowser } from '../stack/chromium.ts';
import { keep, violations, watchedPage, type Watched } from './browser.ts';
import { opened } from '../stack/opened.ts';

describe.skipIf(!hasBrowser)('starting at the link of a first start', () => {
  let watched: Watched;
  const laurel = opened(() => startLaurel({ workers: true }));
  const browser = opened(() => startBrowser());
  beforeAll(async () => {
    watched = await watchedPage(browser, laurel.adminUrl);
  });

  test('reaches the first unlocked achievement within the console', async () => {
    const { page, elsewhere, errors } = watched;
    const token = await makeSignInToken(laurel.pool, Date.now());
    await page.goto(`${laurel.adminUrl}/console#token=${token}`);
    await page.getByRole('link', { name: 'Create a metric' }).click();
    // The link works once, and no later address contains its token.
    await expect.poll(() => page.url()).not.toContain('token');

    await page.getByRole('button', { name: 'New metric' }).click();
    const metric = page.getByRole('dialog', { name: 'New metric' });
    await metric.getByLabel('Name', { exact: true }).fill('Cards flipped');
    await metric.getByLabel('Key').fill('no key');
    await metric.getByRole('button', { name: 'Create' }).click();
    // The form shows the API's description of a field.
    await metric.locator('input[aria-invalid=true]').waitFor();
    await metric.getByLabel('Key').fill('flips');
    await metric.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('cell', { name: 'Cards flipped', exact: true }).waitFor();

    await page.getByRole('link', { name: 'Achievements' }).click();
    await page.getByRole('button', { name: 'New achievement' }).click();
    const achievement = page.getByRole('dialog', { name: 'New achievement' });
    await achievement.getByLabel('Name', { exact: true }).fill('Ten cards');
    await achievement.getByLabel('Metric', { exact: true }).selectOption({ label: 'Cards flipped' });
    await achievement.getByLabel('Total that completes it').fill('10');
    expect(await violations(page)).toEqual([]);
    await achievement.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('cell', { name: 'Ten cards', exact: true }).waitFor();

    const event = { user: { id: 'ada', name: 'Ada' }, value: 12 };
    expect((await laurel.app.post('/v1/metrics/flips/event', event)).status).toBe(201);
    // The first day has nothing to compare: the Overview says what is missing instead of figures of 0.
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.getByRole('link', { name: 'Create a leaderboard' }).waitFor();
    await expect.poll(() => page.getByRole('link', { name: 'Create an achievement' }).count()).toBe(0);
    await expect.poll(() => page.getByText('Active users per day').count()).toBe(0);

    await page.getByRole('link', { name: 'Users' }).click();
    await page.getByRole('link', { name: 'ada', exact: true }).click();
    await page.getByRole('heading', { name: 'Achievements: 1 of 1' }).waitFor();
    await page.getByLabel('Completed').waitFor();

    expect({ elsewhere, errors }).toEqual({ elsewhere: [], errors: [] });
  });

  test('sends an event from the console and shows the answer', async () => {
    const { page } = watched;
    await page.getByRole('button', { name: 'Send an event' }).click();
    const dialog = page.getByRole('dialog', { name: 'Send an event' });
    await dialog.getByRole('button', { name: 'Send', exact: true }).click();
    await dialog.getByText('"total": 13').waitFor();
    expect((await laurel.app.get('/v1/users/ada/metrics/flips')).body.current).toBe(13);
    await dialog.getByRole('button', { name: 'Close' }).click();
  });

  test('shows who would hold an achievement before it is activated, and errors at their fields', async () => {
    const { page } = watched;
    await page.getByRole('link', { name: 'Achievements' }).click();
    await page.getByRole('button', { name: 'New achievement' }).click();
    const editor = page.getByRole('dialog', { name: 'New achievement' });
    // What is not chosen yet is no mistake.
    await editor.getByText('Complete the rule to see how many').waitFor();
    await expect.poll(() => editor.locator('[aria-invalid=true]').count()).toBe(0);
    await editor.getByLabel('Metric', { exact: true }).selectOption({ label: 'Cards flipped' });
    await editor.getByLabel('Total that completes it').fill('13');
    await editor.getByText('1 of 1 user would hold it now. Among them: ada.').waitFor();
    await editor.getByLabel('Total that completes it').fill('14');
    await editor.getByText('0 of 1 user would hold it now.').waitFor();
    await editor.getByLabel('Total that completes it').fill('-1');
    await editor.locator('input[aria-invalid=true]').waitFor();
    expect(await violations(page)).toEqual([]);
    await keep(page, 'desk-achievement-preview');
    await editor.getByLabel('Completed by').selectOption('api');
    await editor.getByLabel('Key').fill('shared');
    await editor.getByText(/Your own calls complete this achievement/).waitFor();
    await editor.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Discard' }).click();
    expect((await laurel.admin.get('/v1/audit-log?kind=achievement')).body).toHaveLength(1);
    await page.getByRole('link', { name: 'Users' }).click();
    await page.getByRole('link', { name: 'ada', exact: true }).click();
  });

  test('shows at once what happens to a displayed user, also just before its live stream begins', async () => {
    const { page } = watched;
    const shows = (total: number): Promise<void> =>
      page.getByRole('button', { name: new RegExp(`Cards flipped ${total}\\b`) }).waitFor();
    const sendOne = (): Promise<unknown> =>
      laurel.app.post('/v1/metrics/flips/event', { user: { id: 'ada' }, value: 100 });
    const asked = new Promise<Route>((resolve) => void page.route('**/v1/live?*', resolve, { times: 1 }));
    await page.reload();
    const [opening] = await Promise.all([asked, shows(13)]);
    await sendOne();
    await opening.continue();
    await shows(113);
    await sendOne();
    await shows(213);
    expect((await laurel.app.get('/v1/users/ada/metrics/flips')).body.current).toBe(213);
  });

  test('signing out ends the session; the old address asks for a key and returns to itself', async () => {
    const { page } = watched;
    await page.getByRole('button', { name: 'Sign out' }).click();
    // For a person who has lost the key.
    await page.getByText('npx laurel console').waitFor();
    await page.getByLabel('Admin key').fill('adm_nobody.AAAA');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByLabel('Admin key').fill(laurel.adminKey);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Ada' }).waitFor();
  });

  test('a session that ends elsewhere ends here', async () => {
    const { page } = watched;
    await laurel.pool.query('DELETE FROM sessions');
    await laurel.admin.patch('/v1/organisation', { name: 'Renamed' });
    // The page may notice by itself; then there is no such link.
    const link = page.getByRole('link', { name: 'Audit log' });
    const key = page.getByLabel('Admin key');
    const asked = async (): Promise<boolean> => {
      if (!(await key.isVisible())) await link.click({ timeout: 10_000 }).catch(() => undefined);
      return key.isVisible();
    };
    await expect.poll(asked).toBe(true);
    await expect.poll(() => page.getByRole('navigation').count()).toBe(0);
  });
});
