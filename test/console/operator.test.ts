import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { outboxKey } from '../../src/redis/keys.ts';
import { startLaurel } from '../laurel.ts';
import { STUDY_APP } from '../study-app.ts';
import { hasBrowser, startBrowser } from '../stack/chromium.ts';
import { keep, signedInPage, violations, violationsInBothSchemes, WIDTHS } from './browser.ts';
import { onlyPart } from '../stack/only-part.ts';
import { opened } from '../stack/opened.ts';

const BADGES = 'https://badges.example.org';
const PICTURE =
  '<svg xmlns="http://www.w3.org/2000/svg" width="48" height="48"><circle cx="24" cy="24" r="22" fill="#b7791f"/></svg>';

/** Natural width of the image; 0 if it is not loaded. */
const widthOf = (image: unknown): number => (image as { naturalWidth: number }).naturalWidth;

describe.skipIf(!hasBrowser)("an operator's screens", () => {
  let browser: Browser;
  /** Answers every message with 410, so that the sender stops. */
  let gone: Server;
  let status = 410;

  const laurel = opened(async () => {
    const [first, second, third, ...others] = STUDY_APP.achievements!;
    return startLaurel({
      workers: true,
      webhookAllowPrivate: true,
      configuration: {
        ...STUDY_APP,
        achievements: [
          { ...first!, badge: { url: `${BADGES}/ten.svg` } },
          { ...second!, badge: { url: `${BADGES}/missing.svg` } },
          { ...third!, badge: { url: 'http://badges.example.org/plain.svg' } },
          ...others,
        ],
      },
    });
  });
  beforeAll(async () => {
    browser = await startBrowser();
    gone = createServer((_, response) => response.writeHead(status).end());
    gone.listen(0, '127.0.0.1');
    await once(gone, 'listening');
  });

  afterAll(async () => {
    await browser?.close();
    gone?.close();
  });

  const signedIn = (how?: Parameters<typeof signedInPage>[2]) => signedInPage(browser, laurel, how);

  const flip = (id: string, value = 1) =>
    laurel.app.post('/v1/metrics/flips/event', { user: { id, name: id.toUpperCase() }, value });

  test('the overview shows the next step until the first event, and then a live event', async () => {
    const { page, errors } = await signedIn();
    await page.goto(`${laurel.adminUrl}/console`);
    await page.getByText('No events yet').waitFor();
    const line = (await page.locator('pre').first().textContent())!;
    expect(await violations(page)).toEqual([]);
    await keep(page, 'desk-overview-empty');
    // What is sent before the stream stands would be missed.
    await page.getByText('Events appear here within a second').waitFor();
    await expect
      .poll(async () => {
        await flip('ada', 10);
        return page.locator('#main').getByText('+10').count();
      })
      .toBeGreaterThan(0);
    await page.getByText('1 user, 1 of them active today').waitFor();
    // The displayed command line works.
    const [, url, body] = /POST (\S+) [^]*-d '(.*)'/.exec(line)!;
    const headers = { 'X-API-KEY': laurel.adminKey, 'Content-Type': 'application/json' };
    expect((await fetch(url!, { method: 'POST', headers, body: body! })).status).toBe(201);
    await page.getByText('Latest completions').waitFor();
    await page.getByText('Ten flips').first().waitFor();
    await expect.poll(() => page.getByText('No events yet').count()).toBe(0);
    expect(errors).toEqual([]);
  });

  test('shows an event as it arrives, without polling; the system screen counts it in the events per second', async () => {
    const { page } = await signedIn();
    await page.goto(`${laurel.adminUrl}/console`);
    await expect
      .poll(async () => {
        await flip('warm', 1);
        // Exact match: "WARM" is a name among the completions, which are read without the stream.
        return page.locator('#main').getByRole('link', { name: 'warm', exact: true }).count();
      })
      .toBeGreaterThan(0);
    await flip('seen', 1);
    await page.locator('#main').getByRole('link', { name: 'seen', exact: true }).first().waitFor();
    // It is the figure of the last few seconds.
    await page.getByRole('link', { name: 'System' }).click();
    await expect
      .poll(async () => {
        await flip('seen', 1);
        return page.locator('dl > div', { hasText: 'Events per second' }).textContent();
      })
      .toMatch(/second.*[1-9]/);
  });

  test.each([
    ['desk', true],
    ['phone', false],
  ] as const)('shows badges as images where possible, at the width of a %s (dark: %s)', async (width, dark) => {
    const { page, context, elsewhere, errors } = await signedIn({ size: WIDTHS[width], dark });
    await context.route(`${BADGES}/**`, (route) =>
      route.request().url().endsWith('/ten.svg')
        ? route.fulfill({ contentType: 'image/svg+xml', body: PICTURE })
        : route.fulfill({ status: 404 }),
    );
    for (const [name, path] of [
      ['achievements', '/achievements'],
      ['user', '/users/ada'],
      ['overview', ''],
    ] as const) {
      await page.goto(`${laurel.adminUrl}/console${path}`);
      const shown = page.locator(`img[src="${BADGES}/ten.svg"]`).first();
      await shown.scrollIntoViewIfNeeded();
      await expect.poll(() => shown.evaluate(widthOf)).toBe(48);
      await expect.poll(() => page.locator('img:not([src$="ten.svg"])').count()).toBe(0);
      expect([name, await violationsInBothSchemes(page, dark)]).toEqual([name, []]);
      await keep(page, `${width}${dark ? '-dark' : ''}-badges-${name}`);
    }
    // Plain http is not even requested.
    expect(new Set(elsewhere)).toEqual(new Set([`${BADGES}/ten.svg`, `${BADGES}/missing.svg`]));
    expect(errors).toEqual([]);
  });

  test("sets an achievement's badge in the editor, by keyboard", async () => {
    const { page, context } = await signedIn();
    await context.route(`${BADGES}/**`, (route) => route.fulfill({ contentType: 'image/svg+xml', body: PICTURE }));
    await page.goto(`${laurel.adminUrl}/console/achievements`);
    const edit = page.getByRole('button', { name: 'Edit Ten and a day' });
    await edit.focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Edit the achievement' });
    await dialog.getByLabel('Badge').fill(`${BADGES}/both.svg`);
    await expect.poll(() => dialog.locator('img').evaluate(widthOf)).toBe(48);
    expect(await violations(page)).toEqual([]);
    await keep(page, 'desk-achievement-editor');
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'hidden' });
    const achievements = (await laurel.admin.get('/v1/achievements')).body as { name: string; badge: unknown }[];
    expect(achievements.find(({ name }) => name === 'Ten and a day')?.badge).toEqual({ url: `${BADGES}/both.svg` });
  });

  test('the overview leads to a dead letter, which cannot be stored again; once it is dropped, nothing needs attention', async () => {
    const { page, errors } = await signedIn();
    await laurel.redis.xadd(outboxKey(onlyPart(0).shard), '*', 't', '0', 'r', 'no record');
    await expect.poll(async () => (await laurel.admin.get('/v1/attention')).body).toMatchObject([{ count: 1 }]);
    await page.goto(`${laurel.adminUrl}/console`);
    const badge = page.getByRole('link', { name: 'System , needs attention: 1 dead letter' });
    await badge.waitFor();
    const concern = page.locator('#main').getByRole('link', { name: /^1 dead letter/ });
    await concern.waitFor();
    await keep(page, 'desk-attention');
    await concern.click();
    const table = page.getByRole('region', { name: 'Dead letters' });
    await table.getByRole('button').first().waitFor();
    expect(await violations(page)).toEqual([]);
    await table.getByRole('button').first().click();
    await page.getByRole('dialog', { name: 'Dead letter' }).getByText('Not stored').waitFor();
    await keep(page, 'desk-dead-letter');
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Store again' }).click();
    await page.getByText('The entry could not be stored').first().waitFor();
    await page.getByRole('button', { name: 'Drop', exact: true }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Drop' }).click();
    await page.getByText('No dead letters').waitFor();
    expect((await laurel.admin.get('/v1/dead-letters')).body).toEqual([]);
    // Behind a dialog, nothing can be found.
    await page.getByRole('link', { name: 'System', exact: true }).waitFor();
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.getByText('Latest changes').waitFor();
    await expect.poll(() => page.getByText('Needs attention').count()).toBe(0);
    expect(errors).toEqual([]);
  });

  test('the system screen has the versions and memory of Redis and Postgres, and the shards', async () => {
    const { page } = await signedIn();
    const { body } = await laurel.admin.get('/v1/system');
    expect(body.redis.memoryBytes).toBeGreaterThan(100_000);
    expect(body.postgres.databaseBytes).toBeGreaterThan(1_000_000);
    expect(body.shards, 'the one that holds the tenant').toEqual([{ shard: 0, outboxEntries: expect.any(Number) }]);
    await page.goto(`${laurel.adminUrl}/console/system`);
    const main = page.locator('#main');
    await main.getByText(body.postgres.version).first().waitFor();
    await main.getByText(body.redis.version).first().waitFor();
  });

  test('shows why and since when Laurel has disabled a webhook, and enables it again', async () => {
    const { page } = await signedIn();
    const { port } = gone.address() as AddressInfo;
    const made = await laurel.admin.post('/v1/webhooks', [
      { name: 'Gone', url: `http://127.0.0.1:${port}/`, events: ['achievement.completed'], enabled: true },
    ]);
    const { id } = made.body.created[0];
    await expect
      .poll(
        async () => {
          await flip(`hears-${Math.random()}`, 10);
          return (await laurel.admin.get(`/v1/webhooks/${id}/state`)).body.disabledReason;
        },
        { interval: 500 },
      )
      .not.toBeNull();
    await page.goto(`${laurel.adminUrl}/console/webhooks`);
    await page.getByText('disabled by Laurel').waitFor();
    await page.getByRole('link', { name: 'Gone', exact: true }).click();
    await page.getByText(/Laurel disabled this webhook on .*: .*410/).waitFor();
    expect(await violations(page)).toEqual([]);
    await keep(page, 'desk-webhook-disabled');
    // The pending messages are sent at once, and would have the webhook disabled again.
    status = 200;
    await page.getByRole('button', { name: 'Enable', exact: true }).click();
    await expect.poll(async () => (await laurel.admin.get(`/v1/webhooks/${id}`)).body.enabled).toBe(true);
    await laurel.admin.delete(`/v1/webhooks?ids=${id}`);
  });
});
