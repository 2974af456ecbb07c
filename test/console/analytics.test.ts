import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { COUNTED, mondayOf, SEGMENT } from '../../src/domain/analytics.ts';
import { occasionMessageId } from '../../src/engine/messages/message-queue.ts';
import { addMessagesToSend } from '../../src/postgres/notifications/messages.ts';
import { transaction } from '../../src/postgres/transaction.ts';
import { startLaurel, type TestLaurel } from '../laurel.ts';
import { STUDY_APP } from '../study-app.ts';
import { hasBrowser, startBrowser } from '../stack/chromium.ts';
import { keep, signedInPage, tooWide, violationsInBothSchemes, WIDTHS } from './browser.ts';
import { epochDay } from '../../src/domain/periods.ts';
import { opened } from '../stack/opened.ts';

/** Every view, with a text that shows that it is loaded, and that the view before lacks; `{metric}` stands for an ID. */
const VIEWS: Record<string, [search: string, text: string]> = {
  users: ['', 'Active users per day'],
  retention: ['?view=retention', 'Week of '],
  segment: ['?segment=plan:pro', 'Active users per day'],
  metrics: ['?view=metrics', 'Flashcards flipped'],
  metric: ['?view=metrics&id={metric}', 'Top attributes'],
  achievements: ['?view=achievements', 'Median time'],
  achievement: ['?view=achievements&id={achievement}', 'Users on the way'],
  points: ['?view=points', 'Balance'],
  'points-system': ['?view=points&id={points}', 'Users by level'],
  streaks: ['?view=streaks', 'Users by length of their streak'],
  'retention-segment': ['?view=retention&segment=plan:pro', 'Retention compared: plan:pro'],
  leaderboards: ['?view=leaderboards', 'Users whose rank changed: Flips'],
  messages: ['?view=messages', 'The numbers are too small to compare'],
};

/** Reminders of the day before yesterday: due for 60 users and withheld from 30. */
const addMessages = (laurel: TestLaurel): Promise<void> =>
  transaction(laurel.pool, (client) =>
    addMessagesToSend(
      client,
      Array.from({ length: 90 }, (_, n) => ({
        id: occasionMessageId(0, 'streak_reminder', `user-${n}`),
        tenantNo: 0,
        userId: `user-${n}`,
        kind: 'streak_reminder' as const,
        atMs: Date.now() - 2 * 86_400_000,
        payload: '{}',
        isWithheld: n % 3 === 0,
      })),
    ),
  );

describe.skipIf(!hasBrowser)('the analytics screens', () => {
  const ids: Record<string, string> = {};
  const laurel = opened(() => startLaurel({ configuration: STUDY_APP, workers: true }));
  const browser = opened(() => startBrowser());
  beforeAll(async () => {
    await laurel.admin.patch('/v1/organisation', { controlShare: 0.3 });
    const events = Array.from({ length: 400 }, (_, n) => ({
      key: n % 3 === 0 ? 'minutes' : 'flips',
      user: { id: `user-${n % 90}`, name: `Person ${n % 90}`, attributes: { plan: n % 90 > 60 ? 'pro' : 'free' } },
      value: (n * 7) % 40,
      attributes: { deck: `Deck ${n % 5}` },
    }));
    await laurel.admin.post('/v1/metrics/events?wait=true', events);
    for (const [name, path] of Object.entries({ metric: 'metrics', achievement: 'achievements', points: 'points' }))
      ids[name] = (await laurel.admin.get(`/v1/${path}`)).body[0].id;
    await addPast(laurel);
    await addMessages(laurel);
  });

  const addressOf = (view: string): string =>
    `/analytics${VIEWS[view]![0].replace(/\{(\w+)\}/, (_, name: string) => ids[name]!)}`;
  const loaded = async ({ page, quiet }: Awaited<ReturnType<typeof signedInPage>>, view: string): Promise<void> => {
    await page.getByText(VIEWS[view]![1]).first().waitFor();
    await quiet();
  };

  // At a desk each view is opened by its address; on a phone one comes from the view before.
  describe.each([
    ['at a desk', 'desk', false],
    ['on a phone', 'phone', true],
  ] as const)('%s', (_, width, dark) => {
    let watched: Awaited<ReturnType<typeof signedInPage>>;
    beforeAll(async () => {
      watched = await signedInPage(browser, laurel, { size: WIDTHS[width], dark });
    });
    afterAll(async () => {
      await watched?.context.close();
    });

    test.each(Object.keys(VIEWS))('%s: light and dark, readable by everybody', async (view) => {
      const { page, errors, elsewhere, at, follow } = watched;
      expect(
        width === 'phone' ? await page.getByText(VIEWS[view]![1]).count() : 0,
        'the text tells the views apart',
      ).toBe(0);
      await (width === 'desk' ? at : follow)(addressOf(view));
      await loaded(watched, view);
      await keep(page, `analytics-${view}-${width}-${dark ? 'dark' : 'light'}`);
      expect(await violationsInBothSchemes(page, dark)).toEqual([]);
      expect({ errors, elsewhere }).toEqual({ errors: [], elsewhere: [] });
      expect(await tooWide(page)).toEqual([]);
    });
  });

  test('a resource and its analysis link to each other', async () => {
    const { page, errors, at } = await signedInPage(browser, laurel);
    await at('/metrics');
    await page.getByRole('img', { name: /^Events of Flashcards flipped by day: highest [\d,.]+, latest/ }).waitFor();
    await page.getByRole('link', { name: 'Analytics of Flashcards flipped' }).click();
    await page.getByText('Value per day').waitFor();
    await page.getByRole('link', { name: 'Edit' }).click();
    await page.getByRole('dialog', { name: 'Edit the metric' }).getByRole('link', { name: 'Analytics' }).click();
    await page.getByText('Value per day').waitFor();
    await at('/points');
    await page.getByRole('img', { name: /^XP awarded by day: highest [\d,.]+, latest/ }).waitFor();
    await at('/leaderboards');
    await page.getByRole('img', { name: /^Changes of rank in Flips by day: highest [\d,.]+, latest/ }).waitFor();
    await at('/leaderboards/flips');
    await page.locator('#main').getByRole('link', { name: 'Analytics' }).click();
    await page.getByText('Scores in the current run').waitFor();
    await page.getByRole('link', { name: 'Places' }).click();
    await page.getByText('Ranked by Flashcards flipped').waitFor();
    expect(errors).toEqual([]);
  });

  test('a leaderboard lists its past runs, the latest first', async () => {
    const { page, errors, at } = await signedInPage(browser, laurel);
    await at('/leaderboards/weekly');
    const runs = page.getByLabel('Run', { exact: true });
    await runs.waitFor();
    const days = await runs.locator('option').evaluateAll((all) => all.map((one) => one.getAttribute('value') ?? ''));
    const [, last = '', before = ''] = days;
    expect(Date.parse(last) - Date.parse(before)).toBe(7 * 86_400_000);
    // The API answers only for a day on which a run begins.
    const [answered] = await Promise.all([
      page.waitForResponse((response) => response.url().includes(`run=${last}`)),
      runs.selectOption(last),
    ]);
    expect(answered.status()).toBe(200);
    await page.getByText('No participants yet').waitFor();
    expect(errors).toEqual([]);
  });

  test.each([
    ['desk', false],
    ['phone', true],
  ] as const)(
    'the overview compares the last week with the one before, and leads to the analysis: %s',
    async (width, dark) => {
      const day = (ago: number): string => new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10);
      const read = async (path: string, from: number, to: number) =>
        (await laurel.admin.get(`/v1/analytics/${path}?from=${day(from)}&to=${day(to)}`)).body;
      const figure = (value: number): string => value.toLocaleString('en-US');
      const { page, quiet, at, errors } = await signedInPage(browser, laurel, {
        size: WIDTHS[width],
        dark,
      });
      await at('');
      const tiles = page.getByRole('region', { name: 'The last 7 days' });
      const tile = (name: string) => tiles.getByRole('link', { name: new RegExp(`^${name}`) });
      const says = async (name: string, week: number, yesterday: number, weekBefore: number): Promise<void> => {
        await tile(name)
          .getByText(`Yesterday ${figure(yesterday)}, a week before ${figure(weekBefore)}`)
          .waitFor();
        await expect.poll(() => tile(name).textContent()).toContain(figure(week));
      };
      const { days } = await read('users', 7, 1);
      await says(
        'New users',
        days.reduce((sum: number, one: { newUsers: number }) => sum + one.newUsers, 0),
        days[6].newUsers,
        days[6].newUsersBefore,
      );
      const ofFlips = async (from: number, to: number): Promise<number> =>
        (await read('metrics', from, to)).metrics.find(({ key }: { key: string }) => key === 'flips').value;
      await says('Flashcards flipped', await ofFlips(7, 1), await ofFlips(1, 1), await ofFlips(8, 8));
      await tile('Came back in the next week').getByText('%').first().waitFor();
      await quiet();
      await keep(page, `overview-week-${width}-${dark ? 'dark' : 'light'}`);
      expect(await violationsInBothSchemes(page, dark)).toEqual([]);
      expect(await tooWide(page)).toEqual([]);

      // The team's choice is stored with the metric, so everybody sees it.
      await tiles.getByRole('button', { name: 'Choose metrics' }).click();
      const dialog = page.getByRole('dialog', { name: 'Metrics on the Overview' });
      await dialog.getByLabel('Minutes studied').check();
      await dialog.getByRole('button', { name: 'Save' }).click();
      await dialog.waitFor({ state: 'detached' });
      await tile('Minutes studied').waitFor();
      await tile('Flashcards flipped').waitFor({ state: 'detached' });
      const chosen = (await laurel.admin.get('/v1/metrics')).body.filter(
        ({ onOverview }: { onOverview?: boolean }) => onOverview === true,
      );
      expect(chosen.map(({ key }: { key: string }) => key)).toEqual(['minutes']);
      await tile('Minutes studied').click();
      await page.getByText('Top attributes').waitFor();
      await expect.poll(() => new URL(page.url()).searchParams.get('from')).toMatch(day(7));
      await laurel.admin.patch('/v1/metrics', [{ id: chosen[0].id, onOverview: null }]);
      expect(errors).toEqual([]);
    },
  );

  test('a metric is opened, its period changed, and its days saved as CSV', async () => {
    const watched = await signedInPage(browser, laurel);
    const { page, quiet } = watched;
    await watched.at(addressOf('metrics'));
    await loaded(watched, 'metrics');
    await page.getByRole('button', { name: 'Flashcards flipped' }).click();
    await page.getByText('Value per day').waitFor();
    await page.getByLabel('Period').selectOption('7');
    const days = (): string[] => new URL(page.url()).search.match(/\d{4}-\d\d-\d\d/g) ?? [];
    await expect.poll(days).toHaveLength(2);
    // The chart of the period before stays until the answer comes.
    const download = page.getByRole('button', { name: `Download flips-${days().join('-')}-value as CSV` });
    await download.waitFor();
    await quiet();
    const chart = page.getByRole('img', { name: 'Value per day' });
    const shown = page.locator('[aria-hidden]').filter({ hasText: /^\d+ \w+: [\d,.]+ \(/ });
    const middle = (box: { x: number; width: number } | null): number => box!.x + box!.width / 2;
    const apart = async (): Promise<number> => {
      // Again, because a chart that is drawn again does not know where the pointer is.
      await chart.hover();
      await shown.waitFor();
      return Math.abs(middle(await shown.boundingBox()) - middle(await chart.boundingBox()));
    };
    await expect.poll(apart, { message: 'between the values and the pointer' }).toBeLessThan(2);
    const [saved] = await Promise.all([page.waitForEvent('download'), download.click()]);
    const text = await readFile(await saved.path(), 'utf8');
    const lines = text.trimEnd().split('\r\n');
    expect(lines[0]!.split(',').toSorted()).toEqual(['date', 'events', 'eventsBefore', 'value', 'valueBefore']);
    expect(lines).toHaveLength(8);
    await page.goBack();
    await page.goBack();
    await page.getByText('Events before').waitFor();
  });
});

/** Sums of past months, so that the charts show data. */
async function addPast(laurel: TestLaurel): Promise<void> {
  const today = epochDay(Date.now());
  const numbers = async (kind: string): Promise<number[]> =>
    (
      await laurel.pool.query<{ no: number }>(
        'SELECT no FROM catalog_resources WHERE tenant_no = 0 AND kind = $1 ORDER BY no',
        [kind],
      )
    ).rows.map(({ no }) => no);
  const [system] = await numbers('points_system');
  const add = (kind: number, subjects: readonly number[], { every = 1, part = 0, from = today - 90 } = {}) =>
    laurel.pool.query(
      `INSERT INTO analytics_days (tenant_no, kind, segment, day, subject, part, events, value)
       SELECT 0, $1, segment, day, subject, $6, n / (1 + abs(segment) * 2), n * 12 / (1 + abs(segment) * 2)
         FROM unnest($2::int[]) AS segment, generate_series($3::int, $4::int, $7::int) AS day, unnest($5::int[]) AS subject,
              LATERAL (SELECT 400 + (day * 37 + subject * 11) % 90 - abs(day % 7 - 3) * 30 AS n) AS numbers
       ON CONFLICT DO NOTHING`,
      [kind, [SEGMENT.everyone, SEGMENT.control, SEGMENT.others], from, today - 1, subjects, part, every],
    );
  await add(COUNTED.activeOnDay, [0]);
  await add(COUNTED.activeInWeek, [0], { every: 7, from: mondayOf(today - 90) });
  await add(COUNTED.newUsers, [0]);
  for (let week = mondayOf(today - 90); week < today; week += 7)
    await add(COUNTED.retained, [0], { every: 7, part: week, from: week });
  await add(COUNTED.events, await numbers('metric'));
  await add(COUNTED.completed, await numbers('achievement'));
  await add(COUNTED.awarded, await numbers('points_trigger'), { part: system! });
  await add(COUNTED.streaksExtended, [0]);
  await add(COUNTED.placesChanged, await numbers('leaderboard'));
  for (const part of [1, 3]) await add(COUNTED.streakChanges, [1], { part });
}
