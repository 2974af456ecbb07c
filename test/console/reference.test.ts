import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startLaurel, type TestLaurel } from '../laurel.ts';
import { hasBrowser, startBrowser } from '../stack/chromium.ts';
import { keep, watchedPage, WIDTHS } from './browser.ts';

describe.skipIf(!hasBrowser)('the reference page', () => {
  let laurel: TestLaurel;
  let browser: Browser;
  beforeAll(async () => {
    laurel = await startLaurel();
    browser = await startBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await laurel?.close();
  });

  test.each([
    ['Admin', 'adminUrl', 'desk', false],
    ['Application', 'appUrl', 'desk', true],
    ['Application', 'appUrl', 'phone', false],
  ] as const)(
    'shows the %s API of its own port and requests nothing from elsewhere (%s, %s)',
    async (name, url, width, dark) => {
      const { page, context, elsewhere, errors } = await watchedPage(browser, laurel[url], {
        size: WIDTHS[width],
        dark,
      });
      await page.goto(`${laurel[url]}/reference`);
      await page.getByText(`Laurel ${name} API`).first().waitFor();
      // On a phone one closed list has everything.
      if (width === 'desk') {
        await page.locator('[part~="section-navbar-path"]').first().click();
        await page
          .getByRole('button', { name: /^20[01]$/ })
          .first()
          .waitFor();
      }
      // Every schema has a type, including enumerations.
      expect(await page.getByText('missing-type-info').count()).toBe(0);
      await keep(page, `reference-${name.toLowerCase()}-${width}${dark ? '-dark' : ''}`);
      expect({ elsewhere, errors }).toEqual({ elsewhere: [], errors: [] });
      await context.close();
    },
  );

  test('shows the example of an operation, with request and answer', async () => {
    const { page, context } = await watchedPage(browser, laurel.adminUrl);
    await page.goto(`${laurel.adminUrl}/reference#post-/v1/achievements/preview`);
    await page.getByRole('button', { name: 'EXAMPLE', exact: true }).first().click();
    const body = page.locator('textarea').first();
    await expect.poll(() => body.inputValue()).toContain('"metricValue": 100');
    await page.getByRole('button', { name: 'EXAMPLE', exact: true }).last().click();
    await page.getByText('examined').first().waitFor();
    await keep(page, 'reference-example');
    await context.close();
  });
});
