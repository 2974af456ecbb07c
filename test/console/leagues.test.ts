import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startLaurel } from '../laurel.ts';
import { hasBrowser, startBrowser } from '../stack/chromium.ts';
import { keep, signedInPage, tooWide, violations, WIDTHS } from './browser.ts';
import { opened } from '../stack/opened.ts';

describe.skipIf(!hasBrowser)('the leagues of the console', () => {
  let browser: Browser;
  const laurel = opened(() => startLaurel({ testClock: true, workers: true }));
  beforeAll(async () => {
    // A Wednesday: the run before is final.
    await laurel.admin.put('/v1/clock', { now: '2030-03-06T18:00:00.000Z' });
    const { status, body } = await laurel.admin.put('/v1/configuration', {
      metrics: [{ key: 'wins', name: 'Wins' }],
      leaderboards: [
        {
          key: 'week',
          name: 'Week',
          rankBy: 'metric',
          metricKey: 'wins',
          status: 'active',
          start: '2030-02-04',
          runUnit: 'day',
          runInterval: 7,
          leagues: {
            tiers: [{ name: 'Bronze' }, { name: 'Silver' }, { name: 'Gold' }],
            cohortUsers: 10,
            promoted: 2,
            demoted: 2,
          },
        },
      ],
    });
    if (status !== 200) throw new Error(JSON.stringify(body));
    for (let no = 1; no <= 12; no += 1) {
      const user = { id: `user-${no}`, name: no === 5 ? 'Eve of a rather long family name' : `Person ${no}` };
      await laurel.app.post('/v1/metrics/wins/event', { user, value: no });
    }
    browser = await startBrowser();
  });
  afterAll(async () => {
    await browser?.close();
  });

  test('show the tiers of a run, and the cohort of a user by who moves', async () => {
    const cohorts = async () => (await laurel.pool.query('SELECT count(*) AS n FROM league_members')).rows[0].n;
    await expect.poll(cohorts).toBe(12);
    const { page, errors, at } = await signedInPage(browser, laurel);
    await at('/leaderboards/week');
    await page.getByLabel('Ranking of').selectOption('leagues');
    const bronze = page.getByRole('region', { name: 'Tiers' }).getByRole('row').filter({ hasText: 'Bronze' });
    await bronze.waitFor();
    await expect.poll(async () => (await bronze.innerText()).split(/\s+/)).toEqual(['Bronze', '12', '2']);
    // At first, the cohort of the leader: the last two users.
    const leaders = page.getByRole('region', { name: 'Cohort of user-12' });
    await leaders.getByRole('rowheader', { name: 'Moves up' }).waitFor();
    await page.getByLabel('Cohort of').first().fill('user-5');
    const cohort = page.getByRole('region', { name: 'Cohort of user-5' });
    await cohort.getByText('Eve of a rather long family name').waitFor();
    /** The headings of the groups, and what stands before and after those who stay. */
    const groups = async () => {
      const places = await cohort.getByRole('row').allInnerTexts();
      return {
        // Nobody falls from the lowest tier.
        headings: places.filter((place) => /^Moves|^Stays/.test(place)),
        isNinthAbove: places.findIndex((place) => place.includes('Person 9')) < places.indexOf('Stays'),
        isEighthBelow: places.findIndex((place) => place.includes('Person 8')) > places.indexOf('Stays'),
      };
    };
    await expect.poll(groups).toEqual({ headings: ['Moves up', 'Stays'], isNinthAbove: true, isEighthBelow: true });
    for (const [width, size] of Object.entries({ desk: WIDTHS.desk, phone: { width: 390, height: 844 } })) {
      await page.setViewportSize(size);
      await keep(page, `${width}-leagues`);
      expect(await tooWide(page)).toEqual([]);
    }
    expect(await violations(page)).toEqual([]);
    await page.getByLabel('Cohort of').first().fill('nobody');
    await page.getByRole('alert').getByText("'nobody'").waitFor();
    expect(errors).toEqual([]);
  });

  test('are set up in words, without JSON', async () => {
    const { page, errors, at } = await signedInPage(browser, laurel);
    const stored = async () =>
      (await laurel.admin.get('/v1/leaderboards')).body.find(({ key }: { key: string }) => key === 'cup');
    await at('/leaderboards#new-leaderboard');
    // Messages are dialogs, too; their sentences end with a dot.
    const form = page.getByRole('dialog', { name: /leaderboard$/ });
    await form.getByLabel('Name', { exact: true }).fill('Cup');
    await form.getByLabel('Metric', { exact: true }).selectOption({ label: 'Wins' });
    // What has a default is never not set.
    await expect.poll(() => form.getByLabel('A score is').getByRole('option').allInnerTexts()).not.toContain('Not set');
    await form.getByLabel('Start again every').selectOption('days');
    await form.getByRole('checkbox', { name: 'Leagues' }).check();
    await form.getByLabel('Tiers, the lowest first').fill('Wood\nStone\n');
    await form.getByLabel('Users in a group, at most').fill('5');
    await form.getByRole('button', { name: 'Create' }).click();
    await form.getByRole('alert').getByText('leagues.cohortUsers').waitFor();
    await form.getByLabel('Users in a group, at most').fill('20');
    expect(await violations(page)).toEqual([]);
    await form.getByRole('button', { name: 'Create' }).click();
    await form.waitFor({ state: 'detached' });
    const leagues = { tiers: [{ name: 'Wood' }, { name: 'Stone' }], cohortUsers: 20, promoted: 7, demoted: 5 };
    expect(await stored()).toMatchObject({ leagues });
    await at(`/leaderboards#edit-${(await stored()).id}`);
    await expect.poll(() => form.getByLabel('Tiers, the lowest first').inputValue()).toBe('Wood\nStone');
    await form.getByLabel('Users without a score').selectOption('fall by one tier');
    await form.getByRole('button', { name: 'Save' }).click();
    await form.waitFor({ state: 'detached' });
    expect(await stored()).toMatchObject({ leagues: { ...leagues, inactive: 'fall' } });
    // Badges stay with the names where a tier is put in, and with the places where one is renamed.
    const { id, leagues: shown } = await stored();
    const badge = { url: 'https://example.com/stone.png' };
    const badged = { ...shown, tiers: [{ name: 'Wood' }, { name: 'Stone', badge }] };
    expect((await laurel.admin.patch('/v1/leaderboards', [{ id, leagues: badged }])).body.issues).toEqual([]);
    await at('/leaderboards');
    await at(`/leaderboards#edit-${id}`);
    await form.getByLabel('Tiers, the lowest first').fill('Clay\nWood\nStone');
    await form.getByLabel('Tiers, the lowest first').fill('Clay\nWood\nRock');
    await form.getByRole('button', { name: 'Save' }).click();
    await form.waitFor({ state: 'detached' });
    expect((await stored()).leagues.tiers).toEqual([{ name: 'Clay' }, { name: 'Wood' }, { name: 'Rock', badge }]);
    await at(`/leaderboards#edit-${(await stored()).id}`);
    await form.getByRole('checkbox', { name: 'Leagues' }).uncheck();
    await form.getByRole('button', { name: 'Save' }).click();
    await form.waitFor({ state: 'detached' });
    expect((await stored()).leagues ?? null).toBeNull();
    expect(errors).toEqual([]);
  });
});
