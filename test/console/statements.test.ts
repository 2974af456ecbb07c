import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startLaurel, type TestLaurel } from '../laurel.ts';
import { STUDY_APP } from '../study-app.ts';
import { hasBrowser, startBrowser } from '../stack/chromium.ts';
import { keep, signedInPage, tooWide, violations, violationsInBothSchemes, WIDTHS } from './browser.ts';

/** The server's day, far from that of the browser. */
const DAY = '2031-05-10';

describe.skipIf(!hasBrowser)('statements of the console', () => {
  let laurel: TestLaurel;
  let browser: Browser;
  let points: string;
  beforeAll(async () => {
    laurel = await startLaurel({ configuration: STUDY_APP, workers: true, testClock: true });
    browser = await startBrowser();
    const ids = async (path: string): Promise<Record<string, string>> =>
      Object.fromEntries(
        (await laurel.admin.get(`${path}?limit=100`)).body.map((one: { key: string; id: string }) => [one.key, one.id]),
      );
    const [metrics, attributes, systems] = await Promise.all([
      ids('/v1/metrics'),
      ids('/v1/attributes'),
      ids('/v1/points'),
    ]);
    points = systems['xp']!;
    const languages = { eventAttributes: [{ attributeId: attributes['deck'], attributeValue: 'languages' }] };
    const pro = { userAttributes: [{ attributeId: attributes['plan'], attributeValue: 'pro' }] };
    const metric = { metricId: metrics['flips'], status: 'active' };
    const made = [
      await laurel.admin.post('/v1/achievements', [
        { name: 'Polyglot', trigger: 'metric', ...metric, metricValue: 50, ...languages },
      ]),
      await laurel.admin.post(`/v1/points/${points}/triggers`, [
        { type: 'metric', ...metric, metricThreshold: 5, points: 25, ...languages },
      ]),
      await laurel.admin.post(`/v1/points/${points}/boosts`, [
        { name: 'Pro week', start: '2031-05-09', end: '2031-05-15', multiplier: 3, ...pro },
      ]),
    ];
    for (const { body } of made) if (body.issues.length > 0) throw new Error(JSON.stringify(body.issues));
    await laurel.admin.put('/v1/clock', { now: `${DAY}T12:00:00Z` });
    const event = { user: { id: 'ada', name: 'Ada' }, value: 60, attributes: { deck: 'languages' } };
    await laurel.app.post('/v1/metrics/flips/event', event);
  });
  afterAll(async () => {
    await browser?.close();
    await laurel?.close();
  });

  const signedIn = (how?: Parameters<typeof signedInPage>[2]) => signedInPage(browser, laurel, how);

  test('a rule has the same sentence in lists and in the timeline, with its conditions', async () => {
    const { page, errors, at } = await signedIn();
    const main = page.locator('#main');
    await at('/achievements');
    await main.getByText('50 Flashcards flipped if the event’s Deck is languages').waitFor();
    await at(`/points/${points}`);
    await main.getByText('every 5 Flashcards flipped', { exact: true }).waitFor();
    await main.getByText('every 5 Flashcards flipped if the event’s Deck is languages').waitFor();
    await main.getByText('3 × points from 9 May 2031 to 15 May 2031 if the user’s Plan is pro').waitFor();
    await page.getByRole('button', { name: 'Delete the trigger of 25 points for every 5' }).waitFor();
    await at('/leaderboards');
    await main.getByText('Ranked by points of XP, a new run every week').waitFor();
    await main.getByText('Ranked by Flashcards flipped, one run, a separate ranking for each Plan').waitFor();
    await at('/leaderboards/flips');
    await main.getByText('Ranked by Flashcards flipped').waitFor();
    await at('/users/ada');
    const timeline = page.getByRole('region', { name: 'Timeline' });
    await timeline
      .getByText('25 points for every 5 Flashcards flipped if the event’s deck is languages')
      .first()
      .waitFor();
    const awards = page.getByRole('region', { name: 'Awards of XP' });
    await awards.getByText('every 5 Flashcards flipped if the event’s deck is languages').waitFor();
    expect(errors).toEqual([]);
  });

  test.each([
    ['desk', false],
    ['phone', true],
  ] as const)('announces the test clock and takes every date from it: %s, dark: %s', async (width, dark) => {
    const { page, errors, at } = await signedIn({ size: WIDTHS[width], dark });
    const name = `${width}${dark ? '-dark' : ''}`;
    const summary = page.waitForRequest((request) => request.url().includes('/event-summary'));
    await at('/users/ada');
    expect(new URL((await summary).url()).searchParams.get('endDate')).toBe(DAY);
    await page.getByText(/The test clock is on. The server’s time is 10 May 2031/).waitFor();
    expect(await violationsInBothSchemes(page, dark)).toEqual([]);
    await keep(page, `${name}-test-clock-user`);
    await page.getByRole('button', { name: 'Pause' }).click();
    await expect.poll(() => page.getByLabel('First day').inputValue()).toBe('2031-05-11');
    await at(`/points/${points}`);
    await page.getByRole('button', { name: 'New boost' }).click();
    await expect.poll(() => page.getByLabel('First day').inputValue()).toBe(DAY);
    await expect.poll(() => page.getByLabel('Last day').inputValue()).toBe('2031-05-17');
    await page.keyboard.press('Escape');
    await keep(page, `${name}-rules-points`);
    const rule = page.getByRole('cell', { name: /^(?:Awarded for )?every 5 Flashcards flipped if the event’s Deck/ });
    await expect
      .poll(() => rule.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth), { message: 'cut off' })
      .toBe(0);
    await at('/leaderboards');
    await page.getByText('active').first().waitFor();
    await keep(page, `${name}-rules-leaderboards`);
    await page.getByRole('button', { name: 'New leaderboard' }).click();
    await expect.poll(() => page.getByLabel('First day').inputValue()).toBe(DAY);
    expect(await tooWide(page)).toEqual([]);
    expect(errors).toEqual([]);
  });

  test.each([
    ['desk', false],
    ['phone', true],
  ] as const)('the signature header of a webhook takes a name, and says how to verify: %s', async (width, dark) => {
    const { page, errors, at } = await signedIn({ size: WIDTHS[width], dark });
    await at('/webhooks');
    await page.getByRole('button', { name: 'New webhook' }).click();
    const editor = page.getByRole('dialog', { name: 'New webhook' });
    await editor.getByText('Renames the header X-Laurel-Signature').waitFor();
    await editor.getByLabel('Name', { exact: true }).fill('Ours');
    await editor.getByLabel('URL').fill('https://example.org/hooks');
    await editor.getByLabel('points.changed').check();
    const header = editor.getByLabel('Signature header');
    await header.fill('Bearer abc');
    expect(await editor.getByRole('alert').count(), 'while it is typed').toBe(0);
    await editor.getByRole('button', { name: 'Create' }).click();
    await editor.getByText('The header must be the name of an HTTP header').waitFor();
    await expect.poll(() => header.evaluate((element) => element.matches(':focus'))).toBe(true);
    expect(
      (await laurel.admin.get('/v1/webhooks')).body.filter(({ name }: { name: string }) => name === 'Ours'),
    ).toEqual([]);
    await keep(page, `${width}${dark ? '-dark' : ''}-webhook-header`);
    await header.fill('Authorization');
    await editor.getByText("The header 'Authorization' has another meaning").waitFor();
    await header.fill('X-Our-Signature');
    await editor.getByText('How to verify a message').click();
    await editor.getByText("['x-our-signature', 'x-our-signature-previous']").waitFor();
    expect(await violations(page)).toEqual([]);
    await keep(page, `${width}${dark ? '-dark' : ''}-webhook-snippet`);
    await editor.getByRole('button', { name: 'Create' }).click();
    await page.getByText('The webhook’s secret').waitFor();
    const [made] = (await laurel.admin.get('/v1/webhooks')).body;
    expect(made.header).toBe('X-Our-Signature');
    await laurel.admin.delete(`/v1/webhooks?ids=${made.id}`);
    expect(errors).toEqual([]);
  });

  test.each([
    ['desk', false],
    ['phone', true],
  ] as const)('without a threshold every metric counts for streaks, and the form says so: %s', async (width, dark) => {
    const { page, at } = await signedIn({ size: WIDTHS[width], dark });
    await at('/streaks');
    await page.getByText('any event with a positive value extends the streak').waitFor();
    const flips = page.getByLabel('Flashcards flipped');
    await expect.poll(() => flips.getAttribute('placeholder')).toBe('any event counts');
    await keep(page, `${width}${dark ? '-dark' : ''}-streaks-any`);
    await page.getByLabel('Minutes studied').fill('5');
    await page.getByText('Only metrics with a threshold count').waitFor();
    await expect.poll(() => flips.getAttribute('placeholder')).toBe('does not count');
    expect(await violations(page)).toEqual([]);
  });

  test.each([
    ['desk', false],
    ['phone', true],
  ] as const)('a form shows no error before the user leaves a field or submits it: %s', async (width, dark) => {
    const { page, errors, at } = await signedIn({ size: WIDTHS[width], dark });
    await at('/achievements');
    await page.getByRole('button', { name: 'New achievement' }).click();
    const editor = page.getByRole('dialog', { name: 'New achievement' });
    await editor.getByText('Complete the rule to see how many users would hold it.').waitFor();
    expect(await editor.getByText(/metricId/).count()).toBe(0);
    expect(await editor.getByRole('alert').count()).toBe(0);
    // The first field has the focus, and is left here.
    const name = editor.getByLabel('Name', { exact: true });
    await expect.poll(() => name.evaluate((element) => element.matches(':focus'))).toBe(true);
    await editor.getByLabel('Total that completes it').focus();
    await editor.getByText('Enter a value.').waitFor();
    await expect.poll(() => editor.getByRole('alert').count()).toBe(1);
    await editor.getByRole('button', { name: 'Create' }).click();
    await expect.poll(() => editor.getByRole('alert').count()).toBe(3);
    expect(await violations(page)).toEqual([]);
    await keep(page, `${width}${dark ? '-dark' : ''}-form-errors`);
    expect(errors).toEqual([]);
  });
});

// Without workers, a job keeps its state.
describe.skipIf(!hasBrowser)('figures that a job still changes', () => {
  let laurel: TestLaurel;
  let browser: Browser;
  beforeAll(async () => {
    laurel = await startLaurel({ configuration: STUDY_APP });
    browser = await startBrowser();
    await laurel.pool.query(`UPDATE jobs SET status = 'done', finished = now()`);
  });
  afterAll(async () => {
    await browser?.close();
    await laurel?.close();
  });

  test.each([
    ['desk', false],
    ['phone', true],
  ] as const)('the job is shown instead of figures, until it is done: %s', async (width, dark) => {
    const { page, errors } = await signedInPage(browser, laurel, { size: WIDTHS[width], dark });
    await page.goto(`${laurel.adminUrl}/console/achievements`);
    await page.getByRole('button', { name: 'New achievement' }).click();
    const editor = page.getByRole('dialog', { name: 'New achievement' });
    await editor.getByLabel('Name', { exact: true }).fill(`Twenty ${width}`);
    await editor.getByLabel('Metric', { exact: true }).selectOption({ label: 'Flashcards flipped' });
    await editor.getByLabel('Total that completes it').fill('20');
    await editor.getByRole('button', { name: 'Create' }).click();
    const job = page.getByRole('link', { name: /^Backdating: 0/ });
    await job.waitFor();
    await keep(page, `${width}${dark ? '-dark' : ''}-backdating`);
    expect(await violations(page)).toEqual([]);
    await laurel.pool.query(`UPDATE jobs SET status = 'done', finished = now()`);
    await job.waitFor({ state: 'detached' });
    expect(errors).toEqual([]);
  });
});
