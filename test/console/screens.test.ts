import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { startLaurel, type TestLaurel } from '../laurel.ts';
import { STUDY_APP } from '../study-app.ts';
import { hasBrowser, startBrowser } from '../stack/chromium.ts';
import {
  keep,
  says,
  signedInPage,
  tooWide,
  violations,
  violationsInBothSchemes,
  watchedPage,
  WIDTHS,
} from './browser.ts';

/**
 * Every screen by its address below `/console` (`{points}`: ID of a points system), with a text that shows that it is
 * loaded.
 */
const SCREENS: Record<string, [path: string, text: string]> = {
  overview: ['', 'Ada'],
  users: ['/users', 'user-1'],
  user: ['/users/ada', 'Europe/London'],
  'no-such-user': ['/users/nobody%2Fat%20all', '404'],
  metrics: ['/metrics', 'Flashcards'],
  attributes: ['/attributes', 'user'],
  achievements: ['/achievements', 'active'],
  points: ['/points', 'xp'],
  'points-system': ['/points/{points}', 'Triggers'],
  rewards: ['/rewards', 'Cancel'],
  leaderboards: ['/leaderboards', 'Ranked by'],
  leaderboard: ['/leaderboards/flips', 'Ada'],
  streaks: ['/streaks', 'Metrics that count'],
  messages: ['/messages', 'Rules of sending'],
  'messages-channel': ['/messages/channel', 'Encryption'],
  'messages-log': ['/messages/log', 'No suppressed addresses'],
  'messages-template': ['/messages/recap/all', 'Subject: '],
  webhooks: ['/webhooks', 'No webhooks yet'],
  keys: ['/keys', 'First key'],
  quarantine: ['/quarantine', 'user-7'],
  requests: ['/requests', 'POST /v1/'],
  'audit-log': ['/audit-log', 'create metric'],
  configuration: ['/configuration', 'Compare'],
  organisation: ['/organisation', 'Branding and recaps'],
  import: ['/import', 'What a file looks like'],
  tenants: ['/tenants', 'Multi-tenancy is off'],
  system: ['/system', 'ready'],
};

/** What can be pressed and is less than 44 px high, or wide if it is a button. Links within a sentence are exempt. */
const SMALL_TARGETS = `[...document.querySelectorAll(
  'button, select, textarea, summary, input:not([type=checkbox]), label:has(> input[type=checkbox]), nav a, td a'
)].flatMap((element) => {
  const { width, height } = element.getBoundingClientRect();
  const isSmall = height < 44 || (element.tagName === 'BUTTON' && width < 44);
  return width === 0 || !isSmall ? [] : [element.outerHTML.slice(0, 120) + ': ' + width + ' × ' + height];
})`;

describe.skipIf(!hasBrowser)('the console', () => {
  let laurel: TestLaurel;
  let browser: Browser;
  let points: string;
  beforeAll(async () => {
    const rewards = [
      { key: 'stickers', name: 'Sticker pack', pointsSystemKey: 'xp', price: 5, status: 'active' as const },
    ];
    laurel = await startLaurel({ configuration: { ...STUDY_APP, rewards }, workers: true });
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
    const headers = { 'Idempotency-Key': 'stickers' };
    await laurel.app.post('/v1/rewards/stickers/claim', { userId: 'ada' }, { headers });
  });
  afterAll(async () => {
    await browser?.close();
    await laurel?.close();
  });

  const signedIn = (how?: Parameters<typeof signedInPage>[2]) => signedInPage(browser, laurel, how);

  // A test for each screen: what one test does must not grow with the number of screens, because its time is limited.
  // Each width has one scheme, and its colours are checked in the other one too. One opens each screen by its address, the other
  // comes from the previous screen.
  describe.each([
    ['at a desk', 'desk', false],
    ['on a phone', 'phone', true],
  ] as const)('%s', (_, width, dark) => {
    let watched: Awaited<ReturnType<typeof signedIn>>;
    beforeAll(async () => {
      watched = await signedIn({ size: WIDTHS[width], dark });
    });
    afterAll(async () => {
      await watched?.context.close();
    });

    test.each(Object.entries(SCREENS))(
      'the screen %s is accessible, within its width, and asks nobody else',
      async (name, [path, text]) => {
        const { page, elsewhere, errors, quiet, at, goOn } = watched;
        await (width === 'desk' ? at : goOn)(path.replace('{points}', points));
        await page.locator('#main').getByText(text).first().waitFor();
        // Charts and lists of a screen come after its first text.
        await quiet();
        await keep(page, `${width}${dark ? '-dark' : ''}-${name}`);
        expect(await violationsInBothSchemes(page, dark)).toEqual([]);
        expect(await tooWide(page)).toEqual([]);
        if (width === 'phone') await expect.poll(() => page.evaluate<string[]>(SMALL_TARGETS)).toEqual([]);
        // A card for each place would show four of them at once.
        if (width === 'phone' && name === 'leaderboard')
          await expect
            .poll(async () => (await page.getByRole('row').filter({ hasText: 'Ada' }).boundingBox())!.height)
            .toBeLessThan(60);
        await expect.poll(() => page.title()).toMatch(/.+ · Laurel$/);
        expect({ elsewhere, errors }).toEqual({ elsewhere: [], errors: [] });
      },
    );
  });

  test('the first load is at most 160 KB', async () => {
    const { page, quiet, at } = await signedIn();
    const sizes: Promise<number>[] = [];
    page.on('requestfinished', (request) => {
      if (/\/console(?:$|\/)/.test(new URL(request.url()).pathname))
        sizes.push(request.sizes().then(({ responseBodySize }) => responseBodySize));
    });
    await at('');
    await page.locator('#main').getByText('Ada').first().waitFor();
    await quiet();
    const total = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
    expect(sizes.length).toBeGreaterThan(5);
    expect(total).toBeGreaterThan(50_000);
    expect(total).toBeLessThan(160 * 1_024);
  });

  test('charts follow the colour scheme of the system, and the theme that is chosen', async () => {
    const { page, quiet, at } = await signedIn();
    await at('/users/ada');
    await page.locator('canvas').first().waitFor();
    await quiet();
    const drawn = (): Promise<string> => page.evaluate<string>("document.querySelector('canvas').toDataURL()");
    const changed = async (act: () => Promise<unknown>): Promise<void> => {
      const before = await drawn();
      await act();
      await expect.poll(async () => (await drawn()) !== before).toBe(true);
    };
    await changed(() => page.emulateMedia({ colorScheme: 'dark' }));
    await changed(() => page.evaluate("document.documentElement.dataset['theme'] = 'light'"));
  });

  test('releases an event from quarantine, drops another, and hides a user from leaderboards', async () => {
    const { page, errors } = await signedIn();
    const confirm = (action: string) =>
      page.getByRole('alertdialog').getByRole('button', { name: action, exact: true }).click();
    await page.goto(`${laurel.adminUrl}/console/quarantine`);
    const highest = page.getByRole('cell', { name: '700', exact: true });
    await highest.waitFor();
    await page.getByRole('button', { name: 'Release the event of user-7' }).first().click();
    await says(page, 'The event is applied.', () => confirm('Release'));
    await highest.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Drop the event of user-7' }).click();
    await confirm('Drop');
    await page.getByText('No events in quarantine').waitFor();
    expect((await laurel.app.get('/v1/users/user-7/metrics/steps')).body.current).toBe(700);

    await page.goto(`${laurel.adminUrl}/console/users/ada`);
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByText('Hide from leaderboards').click();
    await says(page, 'The user is hidden from leaderboards.', () => confirm('Hide'));
    expect((await laurel.admin.get('/v1/users/ada')).body.hidden).toBe(true);
    await page.getByText('hidden from leaderboards', { exact: true }).waitFor();
    expect(await violations(page)).toEqual([]);
    await keep(page, 'desk-hidden-user');
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByText('Show on leaderboards').click();
    await says(page, 'The user is on leaderboards again.', () => confirm('Show'));
    await page.getByText('hidden from leaderboards', { exact: true }).waitFor({ state: 'detached' });
    await laurel.app.patch('/v1/users/ada/preferences', { leaderboards: { hidden: true } });
    await page.reload();
    await page.getByText('hidden by own choice').waitFor();
    await laurel.app.patch('/v1/users/ada/preferences', { leaderboards: { hidden: false } });
    expect(errors).toEqual([]);
  });

  test.each(['desk', 'phone'] as const)('sets, corrects and removes guards of a metric: %s', async (width) => {
    const { page, errors } = await signedIn({ size: WIDTHS[width] });
    const [{ id }] = (await laurel.admin.post('/v1/metrics', [{ key: `laps-${width}`, name: `Laps ${width}` }])).body
      .created;
    const guards = async () =>
      (await laurel.admin.get('/v1/metrics?limit=100')).body.find((metric: { id: string }) => metric.id === id).guards;
    await page.goto(`${laurel.adminUrl}/console/metrics`);
    const dialog = page.getByRole('dialog', { name: 'Edit the metric' });
    const open = () => page.getByRole('button', { name: `Edit Laps ${width}` }).click();
    await open();
    await dialog.getByLabel('Limit: smallest value').fill('5');
    await dialog.getByLabel('Beyond it: smallest value').selectOption('refuse the event');
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
    // What is stored, as soon as the list is read again.
    await expect.poll(() => dialog.getByLabel('Limit: smallest value').inputValue()).toBe('5');
    for (const name of ['smallest value', 'largest value', 'shortest time between events, seconds'])
      await dialog.getByLabel(`Limit: ${name}`).fill('');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'hidden' });
    expect(await guards()).toBeUndefined();
    expect(errors).toEqual([]);
  });

  test('the metrics screen sets how late events may arrive', async () => {
    const { page, errors } = await signedIn();
    await page.goto(`${laurel.adminUrl}/console/metrics`);
    await page.getByLabel('Accept late events for this many days').fill('7');
    await page.getByLabel('Application keys may send late events').check();
    await keep(page, 'desk-event-settings');
    await says(page, 'Saved.', () => page.getByRole('button', { name: 'Save' }).click());
    expect((await laurel.admin.get('/v1/events/settings')).body).toEqual({
      lateEventDays: 7,
      clientsMaySendLate: true,
      signUpDateWritableBy: 'server',
    });
    await page.goto(`${laurel.adminUrl}/console/attributes`);
    const writable = page.getByLabel('Sign-up dates are writable by');
    await says(page, 'Saved.', async () => void (await writable.selectOption('users too (application keys)')));
    expect((await laurel.admin.get('/v1/events/settings')).body.signUpDateWritableBy).toBe('user');

    expect(errors).toEqual([]);
  });

  test('creates a webhook, sends an example to it, and shows its tries', async () => {
    const { page, errors } = await signedIn();
    await page.goto(`${laurel.adminUrl}/console/webhooks`);
    await page.getByRole('button', { name: 'New webhook' }).click();
    const dialog = page.getByRole('dialog', { name: 'New webhook' });
    await dialog.getByLabel('Name', { exact: true }).fill('Our app');
    await dialog.getByLabel('URL').fill('https://192.0.2.1/hooks');
    await dialog.getByLabel('achievement.completed').check();
    await dialog.getByRole('button', { name: 'Create' }).click();
    // The field shows the API's error for a reserved address; this name does not resolve.
    await dialog.locator('input[aria-invalid=true]').waitFor();
    await dialog.getByLabel('URL').fill('https://hooks.example.org/laurel');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await page.getByText('The webhook’s secret').waitFor();
    await page.getByRole('dialog', { name: 'The webhook’s secret' }).getByRole('button', { name: 'Done' }).click();
    await page.getByRole('link', { name: 'Our app' }).click();
    await page.getByRole('button', { name: 'Send an example' }).click();
    await page.getByRole('dialog', { name: 'Message' }).getByText('"type": "achievement.completed"').waitFor();
    expect(await violations(page)).toEqual([]);
    await keep(page, 'desk-webhook');
    expect(errors).toEqual([]);
  });

  test('the audit log is grouped by day, names keys and resources, and is filtered by both', async () => {
    const { page, errors, at } = await signedIn();
    await laurel.admin.post('/v1/admin-api-keys', [{ name: 'Never used' }]);
    await at('/audit-log');
    const log = page.getByRole('region', { name: 'Audit log' });
    await page.getByLabel('What').selectOption('metric');
    await page.getByLabel('Who').selectOption({ label: 'First start of Laurel' });
    await page.getByText('No entries match').waitFor();
    await page.getByLabel('Who').selectOption(laurel.adminKey.split('.')[0]!);
    await log.getByRole('cell', { name: 'create metric' }).first().waitFor();
    await expect.poll(() => log.getByRole('cell', { name: /(?:create|update|delete) (?!metric)/ }).count()).toBe(0);
    await log.getByRole('cell', { name: 'First key' }).first().waitFor();
    const [newest] = (await laurel.admin.get('/v1/audit-log?kind=metric&limit=1')).body;
    const day = new Intl.DateTimeFormat('en-GB', { dateStyle: 'full' }).format(new Date(newest.at));
    await log.getByRole('rowheader', { name: day }).waitFor();
    await log.getByRole('link', { name: 'Flashcards flipped' }).click();
    await page.getByRole('dialog', { name: 'Edit the metric' }).waitFor();
    expect(errors).toEqual([]);
  });

  test('a long list has only the visible rows in the document, and loads more', async () => {
    const { page } = await signedIn();
    await page.goto(`${laurel.adminUrl}/console/users`);
    // Only a page of them is loaded.
    await page.getByText('251 users', { exact: true }).waitFor();
    await expect.poll(() => page.locator('tbody tr').count()).toBeLessThan(60);
    const frame = page.getByRole('region', { name: 'Users' });
    await expect
      .poll(async () => {
        await frame.evaluate((element) => element.scrollTo(0, element.scrollHeight));
        return page.getByRole('link', { name: 'user-99', exact: true }).count();
      })
      .toBe(1);
    await page.getByLabel('Search users').fill('Ada');
    await page.getByText('1 user', { exact: true }).waitFor();
  });

  test('a read-only session sees everything, has no control that changes something, and says why', async () => {
    const made = await laurel.admin.post('/v1/admin-api-keys', [{ name: 'Looks', access: 'read' }]);
    const { page } = await watchedPage(browser, laurel.adminUrl);
    await page.goto(`${laurel.adminUrl}/console/users/ada`);
    await page.getByLabel('Admin key').fill(made.body.created[0].key);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('because its key has read access').waitFor();
    const main = page.locator('#main');
    const shown: Record<string, string> = {
      '/users/ada': 'Europe/London',
      '/metrics': 'flips',
      '/streaks': 'Metrics that count',
      '/organisation': 'Branding and recaps',
      '/keys': 'First key',
      '/audit-log': 'create metric',
    };
    for (const [path, text] of Object.entries(shown)) {
      await page.goto(`${laurel.adminUrl}/console${path}`);
      await main.getByText(text).first().waitFor();
      const writes = main.getByRole('button', {
        name: /^(?:New|Edit|Delete|Save|Create|Give|Pause|Restore|Send|More|Rotate|Enable|Copy as curl)/,
      });
      const enabled = main.locator('form :is(input, select, textarea):enabled');
      for (const control of [writes, enabled]) await expect.poll(() => control.count(), { message: path }).toBe(0);
      expect(await violations(page)).toEqual([]);
    }
    await keep(page, 'desk-read-only');
  });

  test('with several tenants, the top bar selects one', async () => {
    await laurel.admin.patch('/v1/organisation', { multiTenancy: true });
    onTestFinished(() => laurel.admin.patch('/v1/organisation', { multiTenancy: false }).then(() => undefined));
    await laurel.admin.post('/v1/tenants', [{ customerId: 'north', name: 'North' }]);
    await laurel.admin.post('/v1/metrics', [{ key: 'walks', name: 'Walks' }], { tenantId: 'north' });
    const { page } = await signedIn();
    await page.goto(`${laurel.adminUrl}/console/metrics`);
    await page.getByText('The Tenant-ID header is required').waitFor();
    await page.getByLabel('Tenant').selectOption({ label: 'North' });
    await page.getByRole('cell', { name: 'Walks', exact: true }).waitFor();
    await expect.poll(() => page.getByRole('cell', { name: 'flips' }).count()).toBe(0);
  });

  test('everything works by keyboard: a dialog takes the focus, Escape returns it', async () => {
    const { page } = await signedIn();
    await page.goto(`${laurel.adminUrl}/console/metrics`);
    const opener = page.getByRole('button', { name: 'New metric' });
    await opener.focus();
    await page.keyboard.press('Enter');
    const form = page.getByRole('dialog', { name: 'New metric' });
    await form.waitFor();
    const inside = () => page.evaluate<boolean>("document.activeElement?.closest('[role=dialog]') !== null");
    await expect.poll(inside).toBe(true);
    await page.keyboard.press('Escape');
    await form.waitFor({ state: 'hidden' });
    await expect.poll(() => opener.evaluate((element) => element.matches(':focus'))).toBe(true);
  });

  test('the search finds screens, resources, users and actions, by keyboard alone', async () => {
    const { page, errors, at } = await signedIn();
    await at('/metrics');
    await page.getByRole('cell', { name: 'flips', exact: true }).waitFor();
    const search = page.getByRole('combobox', { name: /^Search/ });
    const options = page.getByRole('option');
    const find = async (text: string, option: RegExp): Promise<void> => {
      // While the search of before closes, its input still has the focus.
      await search.waitFor({ state: 'detached' });
      await page.keyboard.press('Control+k');
      await expect.poll(() => search.evaluate((one) => one.matches(':focus'))).toBe(true);
      await page.keyboard.type(text);
      await options.filter({ hasText: option }).first().waitFor();
    };
    await find('leader', /Leaderboards.*Screen/);
    expect(await violations(page)).toEqual([]);
    await keep(page, 'desk-search');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Leaderboards', level: 1 }).waitFor();
    await find('flashcards', /Flashcards flipped.*Metric/);
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'Edit the metric' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog', { name: 'Edit the metric' }).waitFor({ state: 'hidden' });
    await find('new ach', /New achievement.*Action/);
    await page.keyboard.press('Enter');
    const editor = page.getByRole('dialog', { name: 'New achievement' });
    await editor.waitFor();
    // The first field has the focus.
    await expect
      .poll(() => editor.getByLabel('Name', { exact: true }).evaluate((one) => one.matches(':focus')))
      .toBe(true);
    await page.keyboard.press('Escape');
    await editor.waitFor({ state: 'hidden' });
    await find('user-17', /Person 17.*User/);
    await options
      .filter({ hasText: /Person 17\D/ })
      .first()
      .click();
    await page.getByRole('heading', { name: 'Person 17', level: 1 }).waitFor();
    await page.getByRole('navigation', { name: 'Breadcrumb' }).getByRole('link', { name: 'Users' }).click();
    await page.getByRole('heading', { name: 'Users', level: 1 }).waitFor();
    expect(errors).toEqual([]);
  });
});
