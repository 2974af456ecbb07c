import { beforeAll, describe, expect, test } from 'vitest';
import { startLaurel } from '../laurel.ts';
import { STUDY_APP } from '../study-app.ts';
import { hasBrowser, startBrowser } from '../stack/chromium.ts';
import { keep, signedInPage, tooWide, violations, WIDTHS } from './browser.ts';
import { opened } from '../stack/opened.ts';

const EVENTS = 70;

describe.skipIf(!hasBrowser)('the timeline of a user in the console', () => {
  const laurel = opened(() => startLaurel({ configuration: STUDY_APP, workers: true }));
  const browser = opened(() => startBrowser());
  beforeAll(async () => {
    await laurel.app.put('/v1/users/ada', { name: 'Ada', attributes: { plan: 'pro' } });
    const events = Array.from({ length: EVENTS }, (_, no) => ({
      key: 'flips',
      user: { id: 'ada' },
      value: no === 0 ? 12 : 1,
    }));
    await laurel.admin.post('/v1/metrics/events?wait=true', events);
    const { eventId } = (await laurel.app.post('/v1/metrics/flips/event', { user: { id: 'ada' }, value: 40 })).body;
    await laurel.admin.post(`/v1/events/${eventId}/reverse`, {});
    await laurel.admin.post('/v1/streaks/reset', { users: [{ id: 'ada' }] });
  });

  test.each([
    ['at a desk', 'desk', false],
    ['on a phone', 'phone', true],
  ] as const)('%s: what happened and why, more as one scrolls, and of one kind', async (_, width, dark) => {
    const { page, errors } = await signedInPage(browser, laurel, { size: WIDTHS[width], dark });
    await page.goto(`${laurel.adminUrl}/console/users/ada`);
    const timeline = page.getByRole('region', { name: 'Timeline' });
    await timeline.scrollIntoViewIfNeeded();
    await timeline.getByText('The streak was reset').first().waitFor();
    await timeline.getByText('Reversed: Flashcards flipped -40').waitFor();
    await timeline.getByText('for every 5 Flashcards flipped').first().waitFor();
    await keep(page, `${width}${dark ? '-dark' : ''}-timeline`);
    expect(await violations(page)).toEqual([]);
    await expect
      .poll(async () => {
        await timeline.evaluate((element) => element.scrollTo(0, element.scrollHeight));
        return [await timeline.getByText('First seen').count(), errors];
      })
      .toEqual([1, []]);
    await keep(page, `${width}${dark ? '-dark' : ''}-timeline-end`);
    await timeline.getByText('Completed Ten flips').waitFor();
    expect(await violations(page)).toEqual([]);
    expect(await tooWide(page)).toEqual([]);
    await page.getByLabel('Kind').selectOption('streak');
    await timeline.getByText('First seen').waitFor({ state: 'detached' });
    await timeline.getByText('The streak was reset').first().waitFor();
    expect(errors).toEqual([]);
  });

  test('an event is reversed from there, after what would change is seen, and its reversal too', async () => {
    const { page, errors } = await signedInPage(browser, laurel, { size: WIDTHS.desk, dark: false });
    await laurel.app.post('/v1/metrics/flips/event', { user: { id: 'bob' }, value: 12 });
    const total = async (): Promise<number> => (await laurel.app.get('/v1/users/bob/metrics/flips')).body.current;
    await page.goto(`${laurel.adminUrl}/console/users/bob`);
    const timeline = page.getByRole('region', { name: 'Timeline' });
    const dialog = page.getByRole('alertdialog', { name: 'Reverse the event?' });
    await timeline.getByRole('button', { name: 'Reverse the event of Flashcards flipped' }).click();
    await dialog.getByText('The total becomes 0.').waitFor();
    await dialog.getByText(/^On the leaderboard flips, in the run of .*, 12 becomes no score\.$/).waitFor();
    await dialog.getByLabel('Also revoke achievements that it completed').check();
    await dialog.getByText('Revoked achievements: ten').waitFor();
    expect(await violations(page)).toEqual([]);
    await keep(page, 'desk-reverse');
    expect(await total()).toBe(12);
    await dialog.getByRole('button', { name: 'Reverse', exact: true }).click();
    await expect.poll(total).toBe(0);
    const again = page.getByRole('alertdialog', { name: 'Reverse the reversal?' });
    await timeline.getByRole('button', { name: 'Reverse the reversal of Flashcards flipped' }).click();
    await again.getByText('The total becomes 12.').waitFor();
    await again.getByText('Restored achievements: ten').waitFor();
    await again.getByText(/^On the leaderboard flips, .*, no score becomes 12\.$/).waitFor();
    await again.getByRole('button', { name: 'Reverse', exact: true }).click();
    await expect.poll(total).toBe(12);
    // The totals open at a metric of which the user has something.
    await laurel.app.post('/v1/metrics/minutes/event', { user: { id: 'cem' }, value: 20 });
    await page.goto(`${laurel.adminUrl}/console/users/cem`);
    await page.getByRole('button', { name: 'Minutes studied 20', pressed: true }).waitFor();
    expect(errors).toEqual([]);
  });
});
