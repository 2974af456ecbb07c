import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Locator } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { FORMS } from '../../src/domain/fields/form.ts';
import { startLaurel } from '../laurel.ts';
import { STUDY_APP } from '../study-app.ts';
import { hasBrowser, startBrowser } from '../stack/chromium.ts';
import { keep, LONG_MS, says, signedInPage, tooWide, violations, WIDTHS } from './browser.ts';
import { opened } from '../stack/opened.ts';

describe.skipIf(!hasBrowser)('the forms of the console', { timeout: LONG_MS }, () => {
  let points: string;
  const laurel = opened(() => startLaurel({ configuration: STUDY_APP, workers: true }));
  const browser = opened(() => startBrowser());
  beforeAll(async () => {
    points = (await laurel.admin.get('/v1/points')).body.find(({ key }: { key: string }) => key === 'xp').id;
  });

  const signedIn = async (how: Parameters<typeof signedInPage>[2] = {}) => {
    const watched = await signedInPage(browser, laurel, how);
    const { page } = watched;
    /** Opens the form of a new resource. */
    const form = async (path: string, noun: string): Promise<Locator> => {
      await page.goto(`${laurel.adminUrl}/console${path}`);
      await page.getByRole('button', { name: `New ${noun}` }).click();
      return page.getByRole('dialog', { name: `New ${noun}` });
    };
    const save = async (editor: Locator, button: 'Create' | 'Save' = 'Create'): Promise<void> => {
      await editor.getByRole('button', { name: button }).click();
      await editor.waitFor({ state: 'hidden' });
    };
    return { ...watched, form, save };
  };
  const newest = async (path: string) => (await laurel.admin.get(`${path}?limit=100`)).body.at(-1);

  test('have every field of the API, and store every input', async () => {
    const { page, errors, form, save } = await signedIn();

    const trigger = await form(`/points/${points}`, 'trigger');
    await trigger.getByLabel('Points', { exact: true }).fill('-3');
    await trigger.getByLabel('Metric', { exact: true }).selectOption({ label: 'Flashcards flipped' });
    await trigger.getByLabel('For every', { exact: true }).fill('4');
    await trigger
      .getByRole('group', { name: 'Only events whose' })
      .getByRole('button', { name: 'Add a condition' })
      .click();
    await trigger.getByLabel('Value').fill('languages');
    await trigger.getByLabel('Refuse events that would take the points below zero').check();
    await save(trigger);
    expect(await newest(`/v1/points/${points}/triggers`)).toMatchObject({
      points: -3,
      metricThreshold: 4,
      blockIfOutOfPoints: true,
      eventAttributes: [{ attributeValue: 'languages' }],
    });

    const boost = await form(`/points/${points}`, 'boost');
    await boost.getByLabel('Name', { exact: true }).fill('Pro week');
    await boost.getByRole('button', { name: 'Add a condition' }).click();
    await boost.getByLabel('Value').fill('pro');
    await save(boost);
    expect(await newest(`/v1/points/${points}/boosts`)).toMatchObject({ userAttributes: [{ attributeValue: 'pro' }] });

    const level = await form(`/points/${points}`, 'level');
    await level.getByLabel('Name', { exact: true }).fill('Sage');
    await level.getByLabel('Key', { exact: true }).fill('sage');
    await level.getByLabel('Points needed').fill('123456');
    await level.getByLabel('Description').fill('Knows much.');
    await save(level);
    expect(await newest(`/v1/points/${points}/levels`)).toMatchObject({ key: 'sage', description: 'Knows much.' });

    const achievement = await form('/achievements', 'achievement');
    await achievement.getByLabel('Name', { exact: true }).fill('Thousand');
    await expect.poll(() => achievement.getByLabel('Key', { exact: true }).inputValue()).toBe('thousand');
    await achievement.getByLabel('Metric', { exact: true }).selectOption({ label: 'Flashcards flipped' });
    await achievement.getByLabel('Total that completes it').fill('1000');
    const first = (await laurel.admin.get('/v1/achievements')).body[0];
    const required = achievement.getByRole('group', { name: 'Only after these achievements' });
    await required.getByLabel(first.name, { exact: true }).check();
    await achievement.getByText(/Their progress counts from the beginning/).waitFor();
    for (const width of ['desk', 'phone'] as const) {
      await page.setViewportSize(WIDTHS[width]);
      await achievement.getByLabel('Repeats').scrollIntoViewIfNeeded();
      await keep(page, `${width}-form-quest`);
      await required.scrollIntoViewIfNeeded();
      await keep(page, `${width}-form-chain`);
    }
    await page.setViewportSize(WIDTHS.desk);
    await save(achievement);
    expect(await newest('/v1/achievements')).toMatchObject({
      key: 'thousand',
      metricValue: 1_000,
      requires: [first.id],
    });
    await page.getByText(`after ${first.name}`).first().waitFor();
    await keep(page, 'desk-chain');

    const board = await form('/leaderboards', 'leaderboard');
    await board.getByLabel('Name', { exact: true }).fill('By day');
    await board.getByLabel('Key', { exact: true }).fill('by-day');
    await board.getByLabel('Description').fill('From morning to evening.');
    await board.getByLabel('Metric', { exact: true }).selectOption({ label: 'Flashcards flipped' });
    await board.getByLabel('Maximum number of places').fill('');
    await board.getByLabel('Count events from').fill('08:00');
    await board.getByLabel('Count events until').fill('20:30');
    await save(board);
    expect(await newest('/v1/leaderboards')).toMatchObject({
      description: 'From morning to evening.',
      startTime: '08:00',
      endTime: '20:30',
      maxParticipants: null,
    });

    const webhook = await form('/webhooks', 'webhook');
    await webhook.getByLabel('Name', { exact: true }).fill('Only flips');
    await webhook.getByLabel('URL').fill('example.org/hooks');
    // The message that appears does not move the box that is being clicked.
    await webhook.getByLabel('achievement.completed').check();
    await webhook.getByText('Enter an address that begins with https:// or http://.').waitFor();
    await webhook.getByLabel('URL').fill('https://example.org/hooks');
    await webhook
      .getByRole('group', { name: 'Achievements of these metrics' })
      .getByLabel('Flashcards flipped')
      .check();
    await webhook.getByRole('button', { name: 'Create' }).click();
    await page.getByText('The webhook’s secret').waitFor();
    const metric = (await laurel.admin.get('/v1/metrics')).body.find(({ key }: { key: string }) => key === 'flips').id;
    expect(await newest('/v1/webhooks')).toMatchObject({ filter: { metricIds: [metric] } });

    const key = await form('/keys', 'application key');
    await key.getByLabel('User ID').fill('ada');
    await key.getByLabel('Expires').fill('2999-01-31T12:00');
    await key.getByLabel('Requests per second').fill('7');
    await key.getByRole('button', { name: 'Create' }).click();
    await page.getByText('Laurel stores only its hash.').waitFor();
    const made = await newest('/v1/application-api-keys');
    expect([new Date(made.expiresAt).getFullYear(), made.rateLimit, made.scope]).toEqual([2999, 7, 'all']);

    expect(errors).toEqual([]);
  });

  test('clearing a text clears the field, also if the API does not accept null for it', async () => {
    const { page, save } = await signedIn();
    const { body } = await laurel.admin.post('/v1/leaderboards', [
      { key: 'wordy', name: 'Wordy', rankBy: 'streak', description: 'Too much.', end: '2999-12-31' },
    ]);
    await page.goto(`${laurel.adminUrl}/console/leaderboards`);
    await page.getByRole('button', { name: 'Edit Wordy' }).click();
    const editor = page.getByRole('dialog', { name: 'Edit the leaderboard' });
    await editor.getByLabel('Description').fill('');
    await editor.getByLabel('Last day').fill('');
    await save(editor, 'Save');
    const after = (await laurel.admin.get(`/v1/leaderboards/${body.created[0].id}`)).body;
    expect([after.description ?? '', after.end]).toEqual(['', undefined]);
  });

  test.each([
    ['desk', false, 'leaderboard', '/leaderboards'],
    ['phone', true, 'webhook', '/webhooks'],
  ] as const)('a form is complete: %s, dark: %s, of a %s', async (width, dark, kind, path) => {
    const { page, form } = await signedIn({ size: WIDTHS[width], dark });
    const editor = await form(path, kind);
    const always = FORMS[kind].filter(({ when }) => when === undefined);
    for (const { name } of always)
      await expect.poll(() => editor.locator(`[data-field="${name}"]`).count(), { message: name }).toBe(1);
    expect(await tooWide(page)).toEqual([]);
    expect(await violations(page)).toEqual([]);
    await keep(page, `${width}${dark ? '-dark' : ''}-form-${kind}`);
  });

  test('a key follows the name until it is written, and input is not lost without a question', async () => {
    const { page, errors, form } = await signedIn();
    const editor = await form('/metrics', 'metric');
    const [name, key] = [editor.getByLabel('Name', { exact: true }), editor.getByLabel('Key', { exact: true })];
    await name.fill('Übungen, gelöst!');
    await expect.poll(() => key.inputValue()).toBe('ubungen-gelost');
    await key.fill('solved');
    await name.fill('Exercises');
    await expect.poll(() => key.inputValue()).toBe('solved');

    const question = page.getByRole('alertdialog', { name: 'Discard your changes?' });
    await page.keyboard.press('Escape');
    await question.waitFor();
    expect(await violations(page)).toEqual([]);
    await question.getByRole('button', { name: 'Keep editing' }).click();
    await question.waitFor({ state: 'hidden' });
    await expect.poll(() => name.inputValue()).toBe('Exercises');
    await editor.getByRole('button', { name: 'Cancel' }).click();
    await question.getByRole('button', { name: 'Discard' }).click();
    await editor.waitFor({ state: 'hidden' });

    await page.goto(`${laurel.adminUrl}/console/streaks`);
    await page.getByLabel('Minutes studied').fill('7');
    await page.getByRole('link', { name: 'Metrics', exact: true }).click();
    await question.getByRole('button', { name: 'Keep editing' }).click();
    await question.waitFor({ state: 'hidden' });
    await expect.poll(() => page.getByLabel('Minutes studied').inputValue()).toBe('7');
    await page.getByRole('link', { name: 'Metrics', exact: true }).click();
    await question.getByRole('button', { name: 'Discard' }).click();
    await page.getByRole('heading', { name: 'Metrics', level: 1 }).waitFor();
    expect(errors).toEqual([]);
  });

  test('a form is copied as a curl command, which does what the form would do', async () => {
    const { page, context, form } = await signedIn();
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    const editor = await form('/metrics', 'metric');
    await editor.getByLabel('Name', { exact: true }).fill("Ada's pages");
    await says(page, 'The curl command is copied.', () => editor.getByRole('button', { name: 'Copy as curl' }).click());
    const command = await page.evaluate<string>('navigator.clipboard.readText()');
    expect(command).toContain(`curl -X POST '${laurel.adminUrl}/v1/metrics?strict=true'`);
    expect((await laurel.admin.get('/v1/metrics?limit=100')).body.map(({ key }: { key: string }) => key)).not.toContain(
      'ada-s-pages',
    );
    const { stdout } = await promisify(execFile)('bash', ['-c', command], {
      env: { ...process.env, LAUREL_KEY: laurel.adminKey },
    });
    expect(JSON.parse(stdout)).toMatchObject({ created: [{ key: 'ada-s-pages', name: "Ada's pages" }], issues: [] });
  });

  test('the settings of the organisation are changed, in both of its forms', async () => {
    const { page, errors } = await signedIn();
    await page.goto(`${laurel.adminUrl}/console/organisation`);
    const general = page.locator('section').filter({ has: page.getByRole('heading', { name: 'General' }) });
    const branding = page
      .locator('section')
      .filter({ has: page.getByRole('heading', { name: 'Branding and recaps' }) });
    await general.getByLabel('Share of users in the control group').fill('1.5');
    await general.getByRole('button', { name: 'Save' }).click();
    await general.getByRole('alert').getByText('Must be at most 1').waitFor();
    await general.getByLabel('Share of users in the control group').fill('0.25');
    await general.getByLabel('Leaderboard values').selectOption('exact');
    // Saving one form reads both again, and keeps what is typed in the other.
    await branding.getByLabel('Address of the app').fill('https://study.example.org/');
    await says(page, 'Saved.', () => general.getByRole('button', { name: 'Save' }).click());
    expect((await laurel.admin.get('/v1/settings')).body.experimentation.controlRatio).toBe(25);
    await page.getByLabel('Address of the app').and(page.locator('[value="https://study.example.org/"]')).waitFor();
    await branding.getByLabel('Logo').fill('https://study.example.org/logo.png');
    await branding.getByLabel('Recap e-mails are due').selectOption('monthly');
    await branding.getByLabel('Activation window in days').fill('14');
    await branding.getByRole('button', { name: 'Save' }).click();
    await expect
      .poll(async () => (await laurel.admin.get('/v1/settings')).body)
      .toMatchObject({
        branding: { appUrl: 'https://study.example.org/', logo: { url: 'https://study.example.org/logo.png' } },
        experimentation: { controlRatio: 25, userActivationWindow: 14 },
        aggregationPeriod: 'monthly',
      });
    expect((await laurel.admin.get('/v1/organisation')).body).toMatchObject({
      controlShare: 0.25,
      boardValues: 'exact',
    });
    expect(errors).toEqual([]);
  });

  test('runs of a leaderboard are in weeks, and a changed number of them keeps its unit', async () => {
    const { page, errors, form, save } = await signedIn();
    const editor = await form('/leaderboards', 'leaderboard');
    await editor.getByLabel('Name', { exact: true }).fill('Fortnight');
    await editor.getByLabel('Metric', { exact: true }).selectOption({ label: 'Flashcards flipped' });
    await editor.getByLabel('Start again every').selectOption('weeks');
    await editor.getByLabel('Number of days').fill('2');
    // The run of an active leaderboard cannot be changed.
    await editor.getByLabel('Status').selectOption('inactive');
    await save(editor);
    const stored = async () =>
      (await laurel.admin.get('/v1/leaderboards?limit=100')).body.find(
        ({ key }: { key: string }) => key === 'fortnight',
      );
    expect(await stored()).toMatchObject({ runUnit: 'day', runInterval: 14 });
    const row = page.getByRole('row').filter({ hasText: 'Fortnight' });
    await row.getByText('a new run every 2 weeks').waitFor();
    const edit = async (change: (form: Locator) => Promise<unknown>): Promise<void> => {
      await row.getByRole('button', { name: 'Edit Fortnight' }).click();
      const changed = page.getByRole('dialog', { name: 'Edit the leaderboard' });
      await expect.poll(() => changed.getByLabel('Start again every').inputValue()).toBe('week');
      await change(changed);
      await save(changed, 'Save');
    };
    await edit((changed) => changed.getByLabel('Number of days').fill('3'));
    expect(await stored()).toMatchObject({ runUnit: 'day', runInterval: 21 });
    await row.getByText('a new run every 3 weeks').waitFor();
    await edit((changed) => changed.getByLabel('Start again every').selectOption('days'));
    expect(await stored()).toMatchObject({ runUnit: 'day', runInterval: 3 });
    await row.getByRole('button', { name: 'Delete Fortnight' }).click();
    await page.getByRole('alertdialog').getByText('rankings and past runs can no longer be read').waitFor();
    expect(errors).toEqual([]);
  });

  test('an error at a field has the words of the form, and the list of requests has its reason', async () => {
    const { page, errors, form, at } = await signedIn();
    const editor = await form('/achievements', 'achievement');
    await editor.getByLabel('Name', { exact: true }).fill('Impossible');
    await editor.getByRole('button', { name: 'Create' }).click();
    await editor.getByText('Choose one.').waitFor();
    await editor.getByLabel('Metric', { exact: true }).selectOption({ label: 'Flashcards flipped' });
    await editor.getByLabel('Total that completes it').fill('-5');
    await editor.getByRole('button', { name: 'Create' }).click();
    await editor.getByText('Must be greater than 0', { exact: true }).waitFor();
    const webhook = await form('/webhooks', 'webhook');
    await webhook.getByRole('button', { name: 'Create' }).click();
    await webhook.getByText('Choose at least one.').waitFor();
    await at('/requests');
    await page.getByLabel('Path, reason or key').fill('greater than');
    await page.getByRole('row').filter({ hasText: 'POST /v1/achievements' }).getByText('metricValue must be').waitFor();
    expect(errors).toEqual([]);
  });

  test('keys say what they allow', async () => {
    const { form } = await signedIn();
    const admin = await form('/keys', 'admin key');
    await expect
      .poll(() => admin.getByLabel('Access').locator('option').allInnerTexts())
      .toEqual(['full: read and change everything', 'read only: see everything, change nothing']);
    const application = await form('/keys', 'application key');
    await expect
      .poll(() => application.getByLabel('Scope').locator('option').allInnerTexts())
      .toContain('events: send events, see nothing');
  });

  test('an earlier version of the configuration is compared and restored', async () => {
    const before = (await laurel.admin.get('/v1/configuration')).body;
    const [{ version }] = (await laurel.admin.get('/v1/configuration/versions')).body;
    const metrics = [...before.metrics, { key: 'regretted', name: 'Regretted' }];
    await laurel.admin.put('/v1/configuration', { metrics, streaks: { ...before.streaks, frequency: 'monthly' } });

    const { page, errors } = await signedIn({ size: WIDTHS.desk });
    await page.goto(`${laurel.adminUrl}/console/configuration`);
    const versions = page.locator('section').filter({ has: page.getByRole('heading', { name: 'Versions' }) });
    await versions.getByText('create metric regretted, update streak settings').waitFor();
    await versions.getByText(laurel.adminKey.split('.')[0]!).first().waitFor();
    const editor = page.getByLabel('Configuration document');
    await editor.fill('{}');
    await expect
      .poll(() => versions.getByRole('button', { name: `Compare version ${version}` }).isDisabled())
      .toBe(true);
    // A comparison reads the configuration again, which somebody else has changed meanwhile.
    await laurel.admin.patch('/v1/streaks/settings', { frequency: 'weekly' });
    await page.getByRole('button', { name: 'Compare', exact: true }).click();
    await versions.getByText('update streak settings').nth(1).waitFor();
    expect(await editor.inputValue()).toBe('{}');
    await page.getByRole('button', { name: 'Undo my edits' }).click();
    await expect.poll(async () => JSON.parse(await editor.inputValue()).streaks.frequency).toBe('weekly');

    await versions.getByRole('button', { name: `Compare version ${version}` }).click();
    const changes = page.locator('section').filter({ hasText: `Changes by restoring version ${version}` });
    await changes.getByText('frequency: "weekly" → "daily"').waitFor();
    await changes.getByText('regretted').waitFor();
    expect(JSON.parse(await editor.inputValue())).toEqual(before);
    await keep(page, 'configuration-versions');
    await page.getByRole('button', { name: `Restore version ${version}` }).click();
    const asked = page.getByRole('alertdialog', { name: `Restore version ${version}?` });
    await says(page, 'The configuration is applied.', () => asked.getByRole('button', { name: 'Restore' }).click());
    expect((await laurel.admin.get('/v1/configuration')).body).toEqual(before);
    await versions.getByText(`Version ${version + 3}`).waitFor();
    expect(errors).toEqual([]);
  });
});
