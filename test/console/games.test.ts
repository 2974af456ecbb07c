import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Configuration } from '../../src/domain/configuration.ts';
import { startLaurel } from '../laurel.ts';
import { hasBrowser, startBrowser } from '../stack/chromium.ts';
import { keep, says, signedInPage, tooWide, violations, WIDTHS } from './browser.ts';
import { opened } from '../stack/opened.ts';

/** A game with guilds, coins to spend, a daily quest, and a race whose lowest time leads. */
const GAME: Configuration = {
  attributes: [{ key: 'guild', name: 'Guild', type: 'user' }],
  metrics: [
    { key: 'wins', name: 'Wins', unitType: 'number' },
    { key: 'lap', name: 'Lap time', unitType: 'number' },
  ],
  achievements: [
    {
      key: 'daily-wins',
      name: 'Three wins a day',
      trigger: 'metric',
      metricKey: 'wins',
      metricValue: 3,
      repeat: 'daily',
      status: 'active',
    },
    {
      key: 'hidden',
      name: 'A thousand wins',
      trigger: 'metric',
      metricKey: 'wins',
      metricValue: 1_000,
      secret: true,
      status: 'active',
    },
  ],
  pointsSystems: [
    {
      key: 'coins',
      name: 'Coins',
      spendableByUsers: true,
      triggers: [{ type: 'metric', metricKey: 'wins', metricThreshold: 1, points: 10, status: 'active' }],
    },
  ],
  leaderboards: [
    {
      key: 'wins',
      name: 'Most wins',
      rankBy: 'metric',
      metricKey: 'wins',
      teamAttributeKey: 'guild',
      status: 'active',
      start: '2026-01-01',
    },
    {
      key: 'guild-wins',
      name: 'Most wins of a guild',
      rankBy: 'metric',
      metricKey: 'wins',
      breakdownAttributes: ['guild'],
      status: 'active',
      start: '2026-01-01',
    },
    {
      key: 'laps',
      name: 'Fastest lap',
      rankBy: 'metric',
      metricKey: 'lap',
      aggregate: 'min',
      order: 'ascending',
      status: 'active',
      start: '2026-01-01',
    },
  ],
};

describe.skipIf(!hasBrowser)('the console of a game', () => {
  let browser: Browser;
  const laurel = opened(() => startLaurel({ workers: true }));
  beforeAll(async () => {
    const { status, body } = await laurel.admin.put('/v1/configuration', GAME);
    if (status !== 200) throw new Error(JSON.stringify(body));
    for (const [id, guild, wins, lap] of [
      ['ann', 'Owls', 5, 61.5],
      ['bob', 'Owls', 2, 58.25],
      ['cid', 'Foxes', 4, 64],
    ] as const) {
      const user = { id, attributes: { guild } };
      await laurel.app.post('/v1/metrics/wins/event', { user, value: wins });
      await laurel.app.post('/v1/metrics/lap/event', { user, value: lap });
    }
    browser = await startBrowser();
  });
  afterAll(async () => {
    await browser?.close();
  });

  const paid = async (how: string, amount: number, more: object): Promise<void> => {
    const headers = { 'Idempotency-Key': `${how} ${amount}` };
    const { status } = await laurel.app.post(`/v1/users/ann/points/coins/${how}`, { amount, ...more }, { headers });
    expect(status).toBe(201);
  };
  const balance = async (): Promise<number> => (await laurel.app.get('/v1/users/ann/points/coins')).body.balance;

  test.each(['desk', 'phone'] as const)('shows the places of users and of teams: %s', async (width) => {
    const { page, errors, at } = await signedInPage(browser, laurel, { size: WIDTHS[width] });
    await at('/leaderboards/wins');
    await page.locator('#main').getByText('ann').first().waitFor();
    await page.getByLabel('Ranking of').selectOption('teams');
    const team = page.getByRole('row').filter({ hasText: 'Owls' });
    await team.waitFor();
    await expect
      .poll(async () => (await team.innerText()).split(/\s+/))
      .toEqual(expect.arrayContaining(['1', 'Owls', '2', '7']));
    await keep(page, `${width}-teams`);
    expect(await violations(page)).toEqual([]);
    expect(await tooWide(page)).toEqual([]);
    await at('/leaderboards/laps');
    const fastest = page.getByRole('row').filter({ hasText: 'bob' });
    await fastest.waitFor();
    await expect
      .poll(async () => (await fastest.innerText()).split(/\s+/))
      .toEqual(expect.arrayContaining(['1', '58.25']));
    await keep(page, `${width}-fastest`);
    // Nobody has chosen a group: the largest is shown, whose name is the last in the alphabet.
    await at('/leaderboards/guild-wins');
    await page.getByRole('row').filter({ hasText: 'bob' }).waitFor();
    await expect.poll(() => page.getByLabel('Group').locator('option:checked').innerText()).toBe('Owls (2 users)');
    expect(await tooWide(page)).toEqual([]);
    expect(errors).toEqual([]);
  });

  test('refunds a spending and releases a hold', async () => {
    await paid('spend', 30, { reason: 'Hat', reference: 'order 7' });
    await paid('hold', 5, { expiresIn: 3_600 });
    expect(await balance()).toBe(15);
    await expect.poll(async () => (await laurel.admin.get('/v1/users/ann/spendings')).body.spendings.length).toBe(2);
    const { page, errors, at } = await signedInPage(browser, laurel);
    await at('/users/ann');
    const confirm = (action: string) =>
      page.getByRole('alertdialog').getByRole('button', { name: action, exact: true }).click();
    const spendings = page.getByRole('region', { name: 'Spendings of Coins' });
    await spendings.getByText('Hat; order 7').waitFor();
    await spendings.scrollIntoViewIfNeeded();
    await keep(page, 'desk-spendings');
    expect(await violations(page)).toEqual([]);
    await spendings.getByRole('button', { name: 'Refund' }).click();
    await says(page, 'The spending is refunded.', () => confirm('Refund'));
    expect(await balance()).toBe(45);
    await spendings.getByRole('button', { name: 'Release' }).click();
    await says(page, 'The hold is released.', () => confirm('Release'));
    expect(await balance()).toBe(50);
    await page.getByText('50 left to spend').waitFor();
    expect(errors).toEqual([]);
  });
});
