import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startLaurel, type TestLaurel } from '../laurel.ts';
import { STUDY_APP } from '../study-app.ts';
import { hasBrowser, startBrowser } from '../stack/chromium.ts';
import { keep, violations, watchedPage, WIDTHS } from './browser.ts';

/**
 * Every screen by its address below `/console` (`{points}`: ID of a points system), with a text that shows that it is
 * loaded.
 */
const SCREENS: Record<string, [path: string, text: string]> = {
  overview: ['', 'Ada'],
  users: ['/users', 'user-1'],
  user: ['/users/ada', 'Europe/London'],
  'no-such-user': ['/users/nobody%2Fat%20all', '404'],
  metrics: ['/metrics', 'flips'],
  attributes: ['/attributes', 'user'],
  achievements: ['/achievements', 'active'],
  points: ['/points', 'xp'],
  'points-system': ['/points/{points}', 'Triggers'],
  leaderboards: ['/leaderboards', 'Ranked by'],
  leaderboard: ['/leaderboards/flips', 'Ada'],
  streaks: ['/streaks', 'Metrics that count'],
  webhooks: ['/webhooks', 'No webhook yet'],
  keys: ['/keys', 'First key'],
  quarantine: ['/quarantine', 'user-7'],
  'audit-log': ['/audit-log', 'create metric'],
  configuration: ['/configuration', 'What it would change'],
  tenants: ['/tenants', 'There is one tenant'],
  system: ['/system', 'ready'],
};

describe.skipIf(!hasBrowser)('the console', () => {
  let laurel: TestLaurel;
  let browser: Browser;
  let cookie: string;
  let points: string;
  beforeAll(async () => {
    laurel = await startLaurel({ configuration: STUDY_APP, workers: true });
    browser = await startBrowser();
    await laurel.app.post('/v1/metrics/flips/event', {
      user: { id: 'ada', name: 'Ada', tz: 'Europe/London' },
      value: 1_200,
    });
    const events = Array.from({ length: 250 }, (_, no) => ({
      key: 'flips',
      user: { id: `user-${no + 1}`, name: `Person ${no + 1}` },
      value: no + 1,
    }));
    await laurel.admin.post('/v1/metrics/events?wait=true', events);
    const more = Array.from({ length: 3_000 }, (_, no) => ({
      key: 'minutes',
      user: { id: `user-${(no % 250) + 1}` },
      value: (no % 17) + 0.5,
    }));
    for (let from = 0; from < more.length; from += 1_000)
      await laurel.admin.post('/v1/metrics/events?wait=true', more.slice(from, from + 1_000));
    // Data as after a month of use, so that the charts show something.
    await laurel.pool.query(
      `INSERT INTO tenant_days (tenant_no, day, events, active_users, new_users, points_awarded, completions)
       SELECT 0, floor(extract(epoch FROM now()) / 86400)::int - ago, 90000 - 2000 * ago + 9000 * (ago % 5), 400 + 37 * (ago % 7),
              30 + 11 * (ago % 4), 1200000 - 31000 * ago, 90 + 13 * (ago % 6)
         FROM generate_series(1, 40) AS ago`,
    );
    await laurel.admin.post('/v1/metrics', [
      { key: 'steps', name: 'Steps', guards: { maxValue: { limit: 100, action: 'quarantine' } } },
    ]);
    for (const value of [500, 700]) await laurel.app.post('/v1/metrics/steps/event', { user: { id: 'user-7' }, value });
    points = (await laurel.admin.get('/v1/points')).body[0].id;
    const { headers } = await laurel.admin.post('/v1/session', { key: laurel.adminKey }, { key: null });
    cookie = headers.get('set-cookie')!.split(';')[0]!.split('=')[1]!;
  });
  afterAll(async () => {
    await browser?.close();
    await laurel?.close();
  });

  const signedIn = async (how: Parameters<typeof watchedPage>[2] = {}) => {
    const watched = await watchedPage(browser, laurel.adminUrl, how);
    await watched.context.addCookies([{ name: 'laurel_session', value: cookie, url: laurel.adminUrl }]);
    return watched;
  };

  test.each([
    ['at a desk', 'desk', false],
    ['at a desk in the dark', 'desk', true],
    ['on a phone', 'phone', false],
  ] as const)('every screen %s is accessible, fits its width and contacts no other origin', async (_, width, dark) => {
    const { page, context, elsewhere, errors, quiet } = await signedIn({ size: WIDTHS[width], dark });
    for (const [name, [path, text]] of Object.entries(SCREENS)) {
      await page.goto(`${laurel.adminUrl}/console${path.replace('{points}', points)}`);
      await page.locator('#main').getByText(text).first().waitFor();
      // Charts and lists of a screen come after its first text.
      await quiet();
      await keep(page, `${width}${dark ? '-dark' : ''}-${name}`);
      expect([name, await violations(page)]).toEqual([name, []]);
      const beyond = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
      expect([name, beyond]).toEqual([name, 0]);
    }
    expect({ elsewhere, errors }).toEqual({ elsewhere: [], errors: [] });
    await context.close();
  });

  test('releases an event from quarantine, drops another, and hides a user from leaderboards', async () => {
    const { page, context, errors } = await signedIn();
    await page.goto(`${laurel.adminUrl}/console/quarantine`);
    await page.getByText('700').waitFor();
    await page.getByRole('button', { name: 'Release the event of user-7' }).first().click();
    await page.getByText('The event is applied.').waitFor();
    await page.getByText('700').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Drop the event of user-7' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Drop' }).click();
    await page.getByText('No event is kept').waitFor();
    expect((await laurel.app.get('/v1/users/user-7/metrics/steps')).body.current).toBe(700);

    await page.goto(`${laurel.adminUrl}/console/users/ada`);
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByText('Hide from leaderboards').click();
    await page.getByText('The user is hidden from leaderboards.').waitFor();
    expect((await laurel.admin.get('/v1/users/ada')).body.hidden).toBe(true);
    await page.getByText('hidden from leaderboards', { exact: true }).waitFor();
    expect(await violations(page)).toEqual([]);
    await keep(page, 'desk-hidden-user');
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByText('Show on leaderboards').click();
    await page.getByText('The user is on leaderboards again.').waitFor();
    await page.getByText('hidden from leaderboards', { exact: true }).waitFor({ state: 'detached' });
    await laurel.app.patch('/v1/users/ada/preferences', { leaderboards: { hidden: true } });
    await page.reload();
    await page.getByText('hides from leaderboards').waitFor();
    await laurel.app.patch('/v1/users/ada/preferences', { leaderboards: { hidden: false } });
    expect(errors).toEqual([]);
    await context.close();
  });

  test.each(['desk', 'phone'] as const)('sets, corrects and removes guards of a metric: %s', async (width) => {
    const { page, context, errors } = await signedIn({ size: WIDTHS[width] });
    const [{ id }] = (await laurel.admin.post('/v1/metrics', [{ key: `laps-${width}`, name: `Laps ${width}` }])).body
      .created;
    const guards = async () =>
      (await laurel.admin.get('/v1/metrics?limit=100')).body.find((metric: { id: string }) => metric.id === id).guards;
    await page.goto(`${laurel.adminUrl}/console/metrics`);
    const dialog = page.getByRole('dialog', { name: 'Edit the metric' });
    const open = () => page.getByRole('button', { name: `Edit Laps ${width}` }).click();
    await open();
    await dialog.getByLabel('Limit: smallest value').fill('5');
    await dialog.getByLabel('Beyond it: smallest value').selectOption('refuse it');
    await dialog.getByLabel('Limit: largest value').fill('4');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByRole('alert').getByText('must not be above maxValue.limit').waitFor();
    await dialog.getByLabel('Limit: largest value').fill('50.5');
    await dialog.getByLabel('Limit: shortest time between events, seconds').fill('60');
    expect(await violations(page)).toEqual([]);
    await keep(page, `${width}-guards`);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'hidden' });
    expect(await guards()).toEqual({
      minValue: { limit: 5, action: 'refuse' },
      maxValue: { limit: 50.5, action: 'quarantine' },
      minSecondsBetween: { limit: 60, action: 'quarantine' },
    });
    if (width === 'desk') await page.getByText('smallest value, largest value, shortest time').waitFor();
    await open();
    for (const name of ['smallest value', 'largest value', 'shortest time between events, seconds'])
      await dialog.getByLabel(`Limit: ${name}`).fill('');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'hidden' });
    expect(await guards()).toBeUndefined();
    expect(errors).toEqual([]);
    await context.close();
  });

  test('the metrics screen sets how late events may arrive', async () => {
    const { page, context, errors } = await signedIn();
    await page.goto(`${laurel.adminUrl}/console/metrics`);
    await page.getByLabel('Days that an event may come late').fill('7');
    await page.getByLabel('Application keys may send late events').check();
    await keep(page, 'desk-event-settings');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.').waitFor();
    expect((await laurel.admin.get('/v1/events/settings')).body).toEqual({
      lateEventDays: 7,
      clientsMaySendLate: true,
      signUpDateWritableBy: 'server',
    });
    await page.goto(`${laurel.adminUrl}/console/attributes`);
    await page.getByLabel('Sign-up dates are writable by').selectOption({ label: 'Users too (application keys)' });
    await page.getByText('Saved.').waitFor();
    expect((await laurel.admin.get('/v1/events/settings')).body.signUpDateWritableBy).toBe('user');

    expect(errors).toEqual([]);
    await context.close();
  });

  test('creates a webhook, sends an example to it, and shows its tries', async () => {
    const { page, context, errors } = await signedIn();
    await page.goto(`${laurel.adminUrl}/console/webhooks`);
    await page.getByRole('button', { name: 'New webhook' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name', { exact: true }).fill('Our app');
    await dialog.getByLabel('URL').fill('https://192.0.2.1/hooks');
    await dialog.getByLabel('achievement.completed').check();
    await dialog.getByRole('button', { name: 'Create' }).click();
    // The field shows the API's error for a reserved address; this name does not resolve.
    await dialog.locator('input[aria-invalid=true]').waitFor();
    await dialog.getByLabel('URL').fill('https://hooks.example.org/laurel');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await page.getByText('The webhook’s secret').waitFor();
    await dialog.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('link', { name: 'Our app' }).click();
    await page.getByRole('button', { name: 'Send an example' }).click();
    await dialog.getByText('"type": "achievement.completed"').waitFor();
    expect(await violations(page)).toEqual([]);
    await keep(page, 'desk-webhook');
    expect(errors).toEqual([]);
    await context.close();
  });

  test('a long list has only the visible rows in the document, and loads more', async () => {
    const { page, context } = await signedIn();
    await page.goto(`${laurel.adminUrl}/console/users`);
    await page.getByText('100+ shown').waitFor();
    expect(await page.locator('tbody tr').count()).toBeLessThan(60);
    const frame = page.getByRole('region', { name: 'Users' });
    await expect
      .poll(async () => {
        await frame.evaluate((element) => element.scrollTo(0, element.scrollHeight));
        return page.getByRole('status').first().textContent();
      })
      .toBe('251 shown');
    await frame.evaluate((element) => element.scrollTo(0, element.scrollHeight));
    await page.getByRole('link', { name: 'user-99', exact: true }).waitFor();
    await page.getByLabel('Search users').fill('Ada');
    await page.getByText('1 shown').waitFor();
    await context.close();
  });

  test('a read-only session sees everything, and the API says why it may change nothing', async () => {
    const made = await laurel.admin.post('/v1/admin-api-keys', [{ name: 'Looks', access: 'read' }]);
    const { page, context } = await watchedPage(browser, laurel.adminUrl);
    await page.goto(`${laurel.adminUrl}/console/users/ada`);
    await page.getByLabel('Admin key').fill(made.body.created[0].key);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('read-only').waitFor();
    await page.getByRole('button', { name: 'Give a freeze' }).click();
    await page.getByText('it may change nothing').first().waitFor();
    expect((await laurel.admin.get('/v1/audit-log?kind=streak_freeze')).body).toEqual([]);
    await context.close();
  });

  test('with several tenants, the top bar selects one', async () => {
    await laurel.admin.patch('/v1/organisation', { multiTenancy: true });
    await laurel.admin.post('/v1/tenants', [{ customerId: 'north', name: 'North' }]);
    await laurel.admin.post('/v1/metrics', [{ key: 'walks', name: 'Walks' }], { tenantId: 'north' });
    const { page, context } = await signedIn();
    await page.goto(`${laurel.adminUrl}/console/metrics`);
    await page.getByText('The Tenant-ID header is required').waitFor();
    await page.getByLabel('Tenant').selectOption({ label: 'North' });
    await page.getByRole('cell', { name: 'Walks', exact: true }).waitFor();
    expect(await page.getByRole('cell', { name: 'flips' }).count()).toBe(0);
    await context.close();
    await laurel.admin.patch('/v1/organisation', { multiTenancy: false });
  });

  test('everything works by keyboard: a dialog takes the focus, Escape returns it', async () => {
    const { page, context } = await signedIn();
    await page.goto(`${laurel.adminUrl}/console/metrics`);
    const opener = page.getByRole('button', { name: 'New metric' });
    await opener.focus();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    const inside = () => page.evaluate<boolean>("document.activeElement?.closest('[role=dialog]') !== null");
    await expect.poll(inside).toBe(true);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
    await expect.poll(() => opener.evaluate((element) => element.matches(':focus'))).toBe(true);
    await context.close();
  });
});
