import { beforeAll, describe, expect, test } from 'vitest';
import { startLaurel } from '../laurel.ts';
import { hasBrowser, startBrowser } from '../stack/chromium.ts';
import { STUDY_APP } from '../study-app.ts';
import { keep, signedInPage, tooWide, violations, WIDTHS } from './browser.ts';
import { opened } from '../stack/opened.ts';

// Without workers, a job keeps its state.
describe.skipIf(!hasBrowser)('jobs in the console', () => {
  const laurel = opened(() => startLaurel({ configuration: STUDY_APP }));
  const browser = opened(() => startBrowser());
  beforeAll(async () => {
    await laurel.pool.query(`UPDATE jobs SET status = 'done', finished = now()`);
    await laurel.pool.query(
      `UPDATE jobs SET status = 'running', done = 3, total = 8, attempts = 2, error = 'broken on purpose', finished = NULL
        WHERE no = (SELECT min(no) FROM jobs)`,
    );
  });

  test.each([
    ['desk', 'full'],
    ['phone', 'read'],
  ] as const)(
    'shows progress and the last error; only sessions that may change something have buttons: %s',
    async (width, access) => {
      const { key } = (await laurel.admin.post('/v1/admin-api-keys', [{ name: access, access }])).body.created[0];
      const { page, errors } = await signedInPage(browser, laurel, { size: WIDTHS[width], key });
      await page.goto(`${laurel.adminUrl}/console/jobs`);
      const main = page.getByRole('region', { name: 'Jobs' });
      if (access === 'read') {
        await main.getByText('cancelled').first().waitFor();
        await expect.poll(() => main.getByRole('button', { name: /^(Cancel|Retry):/ }).count()).toBe(0);
      } else {
        await main.getByText('3 of 8').waitFor();
        await expect.poll(() => main.getByRole('progressbar').count()).toBe(1);
        await main.getByText('broken on purpose').waitFor();
        await keep(page, `${width}-jobs`);
        await main.getByRole('button', { name: /^Retry:/ }).click();
        await main.getByText('running').waitFor();
        await main.getByRole('button', { name: /^Cancel:/ }).click();
        await page.getByRole('alertdialog').getByRole('button', { name: 'Cancel the job', exact: true }).click();
        await main.getByText('cancelled').first().waitFor();
      }
      await keep(page, `${width}-jobs-${access}`);
      expect(await violations(page)).toEqual([]);
      expect(await tooWide(page)).toEqual([]);
      expect(errors).toEqual([]);
    },
  );
});
