import { beforeAll, describe, expect, test } from 'vitest';
import { startLaurel } from '../laurel.ts';
import { STUDY_APP } from '../study-app.ts';
import { hasBrowser, startBrowser } from '../stack/chromium.ts';
import { keep, signedInPage, tooWide, violations, WIDTHS } from './browser.ts';
import { opened } from '../stack/opened.ts';

describe.skipIf(!hasBrowser)('recomputations in the console', () => {
  const laurel = opened(() => startLaurel({ configuration: STUDY_APP, workers: true }));
  const browser = opened(() => startBrowser());
  beforeAll(async () => {
    const events = Array.from({ length: 30 }, (_, no) => ({
      key: 'flips',
      user: { id: `user-${no + 1}` },
      value: no + 1,
    }));
    await laurel.admin.post('/v1/metrics/events?wait=true', events);
    // Changes the points rule, so that users have points by the previous one.
    const [system] = (await laurel.admin.get('/v1/points')).body;
    const { body: triggers } = await laurel.admin.get(`/v1/points/${system.id}/triggers`);
    const { id } = triggers.find(({ type }: { type: string }) => type === 'metric');
    await laurel.admin.patch(`/v1/points/${system.id}/triggers`, [{ id, points: 20 }]);
  });

  const points = async (user: string) => (await laurel.app.get(`/v1/users/${user}/points/xp`)).body.total;

  test.each([
    ['desk', false],
    ['phone', true],
  ] as const)('creates, shows, applies and reverts a plan: %s', async (width, dark) => {
    const before = await points('user-30');
    const { page, errors } = await signedInPage(browser, laurel, { size: WIDTHS[width], dark });
    await page.goto(`${laurel.adminUrl}/console/recomputations`);
    const seen = async (name: string) => {
      await keep(page, `${width}-recomputations-${name}`);
      expect([name, await violations(page)]).toEqual([name, []]);
      expect(await tooWide(page)).toEqual([]);
    };
    const main = page.locator('#main');
    const status = (of: string) => main.locator('h1').getByText(of, { exact: true }).waitFor();
    const confirm = (action: string) =>
      page.getByRole('alertdialog').getByRole('button', { name: action, exact: true }).click();

    if (width === 'desk') await main.getByText('No recomputations yet').waitFor();
    await seen('list');
    await main.getByRole('button', { name: 'New recomputation' }).click();
    const dialog = page.getByRole('dialog', { name: 'New recomputation' });
    await dialog.getByLabel('Only users with these attributes').fill('colour:red');
    await dialog.getByRole('button', { name: 'Create the preview' }).click();
    await dialog.getByRole('alert').waitFor();
    await dialog.getByLabel('Only users with these attributes').fill('');
    await dialog.getByLabel('achievements', { exact: true }).uncheck();
    await seen('new');
    await dialog.getByRole('button', { name: 'Create the preview' }).click();

    await status('planned');
    await main.getByText('Examples of users who gain').waitFor();
    await seen('planned');
    expect(await points('user-30')).toBe(before);
    await main.getByRole('button', { name: 'Apply the preview' }).click();
    await confirm('Apply');
    await status('applied');
    await expect.poll(() => points('user-30')).toBeGreaterThan(before);
    await seen('applied');
    await main.getByRole('button', { name: 'Revert' }).click();
    await confirm('Revert');
    await status('reverted');
    await expect.poll(() => points('user-30')).toBe(before);
    await main.getByRole('link', { name: 'Recomputations' }).click();
    await main.getByRole('cell', { name: 'reverted' }).first().waitFor();
    await seen('all');
    expect(errors).toEqual([]);
  });
});
