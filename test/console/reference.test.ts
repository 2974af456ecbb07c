import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { version } from '../../src/version.ts';
import { startLaurel } from '../laurel.ts';
import { hasBrowser, startBrowser } from '../stack/chromium.ts';
import { keep, watchedPage, WIDTHS } from './browser.ts';
import { opened } from '../stack/opened.ts';

const run = promisify(execFile);

describe.skipIf(!hasBrowser)('the reference page', () => {
  const laurel = opened(() => startLaurel());
  const browser = opened(() => startBrowser());

  test.each([
    ['Admin', 'adminUrl', 'desk', false],
    ['Application', 'appUrl', 'desk', true],
    ['Application', 'appUrl', 'phone', false],
  ] as const)(
    'shows the %s API of its own port and requests nothing from elsewhere (%s, %s)',
    async (name, url, width, dark) => {
      const { page, elsewhere, errors } = await watchedPage(browser, laurel[url], {
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
      await expect.poll(() => page.getByText('missing-type-info').count()).toBe(0);
      await keep(page, `reference-${name.toLowerCase()}-${width}${dark ? '-dark' : ''}`);
      expect({ elsewhere, errors }).toEqual({ elsewhere: [], errors: [] });
    },
  );

  test('shows the example of an operation, with request and answer', async () => {
    const { page } = await watchedPage(browser, laurel.adminUrl);
    await page.goto(`${laurel.adminUrl}/reference#post-/v1/achievements/preview`);
    await page.getByRole('button', { name: 'EXAMPLE', exact: true }).first().click();
    const body = page.locator('textarea').first();
    await expect.poll(() => body.inputValue()).toContain('"metricValue": 100');
    await page.getByRole('button', { name: 'EXAMPLE', exact: true }).last().click();
    await page.getByText('examined').first().waitFor();
    await keep(page, 'reference-example');
  });

  test('shows snippets that work, the version of Laurel, and keeps the key until the tab is closed', async () => {
    const { page, context, errors } = await watchedPage(browser, laurel.appUrl);
    await page.goto(`${laurel.appUrl}/reference`);
    await page.getByText(`Laurel ${version()} · interface 1.19.0`).waitFor();
    for (const heading of ['Authentication', 'Idempotency', 'Errors', 'Rate limits'])
      await page.getByRole('heading', { name: heading, exact: true }).waitFor();
    await keep(page, 'reference-landing');
    await page.locator('[id="link-auth"]').click();
    await page.getByPlaceholder('api-token').fill(laurel.adminKey);
    await page.getByRole('button', { name: 'SET', exact: true }).click();
    await page.getByText('1 API key applied').waitFor();
    await page.goto(`${laurel.appUrl}/reference#get-/v1/leaderboards`);
    await page.reload();
    // The key is applied again: the answer comes from Laurel, which refuses requests without one.
    await page.getByRole('button', { name: 'TRY' }).click();
    await page.getByText('OK:200').waitFor();
    expect(await page.evaluate('Object.keys(localStorage)')).toEqual([]);
    for (const language of ['curl', 'TypeScript client', 'TypeScript', 'Python'])
      await page.getByRole('button', { name: language, exact: true }).click();
    const snippets = page.locator('.tab-content.m-markdown code');
    let source: string[] = [];
    await expect
      .poll(async () => (source = await snippets.allTextContents())[3])
      .toContain(`"${laurel.appUrl}/v1/leaderboards"`);
    await keep(page, 'reference-snippets');
    const { stdout } = await run('bash', ['-euc', source[0]!], {
      env: { ...process.env, LAUREL_KEY: laurel.adminKey },
    });
    expect(JSON.parse(stdout)).toEqual([]);
    expect(source[1]).toContain('await laurel.leaderboards()');
    expect(source[2]).toContain(`fetch('${laurel.appUrl}/v1/leaderboards'`);
    const other = await context.newPage();
    await other.goto(`${laurel.appUrl}/reference#auth`);
    await other.getByText('No API key applied').waitFor();
    expect(await other.evaluate('Object.keys(sessionStorage)')).toEqual([]);
    expect(errors).toEqual([]);
  });
});
