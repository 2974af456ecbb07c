import type { Browser, Locator } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FORMS } from '../../src/domain/fields/form.ts';
import { startLaurel, type TestLaurel } from '../laurel.ts';
import { STUDY_APP } from '../study-app.ts';
import { hasBrowser, startBrowser } from '../stack/chromium.ts';
import { keep, violations, watchedPage, WIDTHS } from './browser.ts';

describe.skipIf(!hasBrowser)('the forms of the console', () => {
  let laurel: TestLaurel;
  let browser: Browser;
  let cookie: string;
  let points: string;
  beforeAll(async () => {
    laurel = await startLaurel({ configuration: STUDY_APP, workers: true });
    browser = await startBrowser();
    points = (await laurel.admin.get('/v1/points')).body.find(({ key }: { key: string }) => key === 'xp').id;
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
    const { page, context, errors, form, save } = await signedIn();

    const trigger = await form(`/points/${points}`, 'trigger');
    await trigger.getByLabel('Points', { exact: true }).fill('-3');
    await trigger.getByLabel('Metric', { exact: true }).selectOption({ label: 'Flashcards flipped' });
    await trigger.getByLabel('For every', { exact: true }).fill('4');
    await trigger
      .getByRole('group', { name: 'Only events whose' })
      .getByRole('button', { name: 'Add a condition' })
      .click();
    await trigger.getByLabel('Value').fill('languages');
    await trigger.getByLabel('Refuse events that the user cannot pay').check();
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
    await level.getByLabel('From so many points').fill('123456');
    await level.getByLabel('Description').fill('Knows much.');
    await save(level);
    expect(await newest(`/v1/points/${points}/levels`)).toMatchObject({ key: 'sage', description: 'Knows much.' });

    const achievement = await form('/achievements', 'achievement');
    await achievement.getByLabel('Name', { exact: true }).fill('Thousand');
    await achievement.getByLabel('Key', { exact: true }).fill('thousand');
    await achievement.getByLabel('Metric', { exact: true }).selectOption({ label: 'Flashcards flipped' });
    await achievement.getByLabel('Total that completes it').fill('1000');
    await save(achievement);
    expect(await newest('/v1/achievements')).toMatchObject({ key: 'thousand', metricValue: 1_000 });

    const board = await form('/leaderboards', 'leaderboard');
    await board.getByLabel('Name', { exact: true }).fill('By day');
    await board.getByLabel('Key', { exact: true }).fill('by-day');
    await board.getByLabel('Description').fill('From morning to evening.');
    await board.getByLabel('Metric', { exact: true }).selectOption({ label: 'Flashcards flipped' });
    await board.getByLabel('Places').fill('');
    await board.getByLabel('From', { exact: true }).fill('08:00');
    await board.getByLabel('Until', { exact: true }).fill('20:30');
    await save(board);
    expect(await newest('/v1/leaderboards')).toMatchObject({
      description: 'From morning to evening.',
      startTime: '08:00',
      endTime: '20:30',
      maxParticipants: null,
    });

    const webhook = await form('/webhooks', 'webhook');
    await webhook.getByLabel('Name', { exact: true }).fill('Only flips');
    await webhook.getByLabel('URL').fill('https://example.org/hooks');
    await webhook.getByLabel('achievement.completed').check();
    await webhook.getByRole('group', { name: 'Achievements of the metrics' }).getByLabel('Flashcards flipped').check();
    await webhook.getByRole('button', { name: 'Create' }).click();
    await page.getByText('The webhook’s secret').waitFor();
    const metric = (await laurel.admin.get('/v1/metrics')).body.find(({ key }: { key: string }) => key === 'flips').id;
    expect(await newest('/v1/webhooks')).toMatchObject({ filter: { metricIds: [metric] } });

    const key = await form('/keys', 'application key');
    await key.getByLabel('ID of the user').fill('ada');
    await key.getByLabel('Expires').fill('2999-01-31T12:00');
    await key.getByLabel('Requests a second').fill('7');
    await key.getByRole('button', { name: 'Create' }).click();
    await page.getByText('Only its hash is stored.').waitFor();
    const made = await newest('/v1/application-api-keys');
    expect([new Date(made.expiresAt).getFullYear(), made.rateLimit, made.scope]).toEqual([2999, 7, 'all']);

    expect(errors).toEqual([]);
    await context.close();
  });

  test('clearing a text clears the field, also if the API does not accept null for it', async () => {
    const { page, context, save } = await signedIn();
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
    await context.close();
  });

  test.each([
    ['desk', false, 'leaderboard', '/leaderboards'],
    ['phone', true, 'webhook', '/webhooks'],
  ] as const)('a form is complete: %s, dark: %s, of a %s', async (width, dark, kind, path) => {
    const { page, context, form } = await signedIn({ size: WIDTHS[width], dark });
    const editor = await form(path, kind);
    const always = FORMS[kind].filter(({ when }) => when === undefined);
    for (const { name } of always)
      expect([name, await editor.locator(`[data-field="${name}"]`).count()]).toEqual([name, 1]);
    expect(await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')).toBe(0);
    expect(await violations(page)).toEqual([]);
    await keep(page, `${width}${dark ? '-dark' : ''}-form-${kind}`);
    await context.close();
  });
});
