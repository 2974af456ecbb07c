import { beforeAll, describe, expect, test } from 'vitest';
import { startLaurel } from '../laurel.ts';
import { STUDY_APP } from '../study-app.ts';
import { hasBrowser, startBrowser } from '../stack/chromium.ts';
import { keep, says, signedInPage, tooWide, violations, WIDTHS } from './browser.ts';
import { opened } from '../stack/opened.ts';

describe.skipIf(!hasBrowser)('users in the console', () => {
  const laurel = opened(() => startLaurel({ configuration: STUDY_APP, workers: true }));
  const browser = opened(() => startBrowser());
  beforeAll(async () => {
    const events = Array.from({ length: 40 }, (_, no) => ({
      key: 'flips',
      user: { id: `user-${no}`, name: `Person ${no}`, attributes: { plan: no % 20 === 7 ? 'pro' : 'free' } },
      value: 3,
    }));
    await laurel.admin.post('/v1/metrics/events?wait=true', events);
  });

  const signedIn = (how?: Parameters<typeof signedInPage>[2]) => signedInPage(browser, laurel, how);

  test.each([
    ['desk', false],
    ['phone', true],
  ] as const)('they are filtered, chosen and changed together: %s', async (width, dark) => {
    const { page, errors, at } = await signedIn({ size: WIDTHS[width], dark });
    await at('/users');
    const table = page.getByRole('region', { name: 'Users' });
    await table.getByText('user-1', { exact: true }).waitFor();
    await page.getByLabel('Attribute').selectOption({ label: 'Plan' });
    await expect.poll(() => page.locator('datalist option').allTextContents()).toEqual(['free', 'pro']);
    await page.getByLabel('Value').fill('pro');
    await table.getByText('user-1', { exact: true }).waitFor({ state: 'detached' });
    await page.getByText(/^2 users/).waitFor();
    await expect.poll(() => new URL(page.url()).searchParams.get('attribute')).toBe('plan:pro');
    await page.getByRole('button', { name: 'Select all, up to 1,000' }).click();
    await page.getByText('2 selected').waitFor();
    expect(await violations(page)).toEqual([]);
    expect(await tooWide(page)).toEqual([]);
    await keep(page, `${width}${dark ? '-dark' : ''}-users-selected`);
    await page.getByRole('button', { name: 'Hide from leaderboards' }).click();
    const confirm = page.getByRole('alertdialog').getByRole('button', { name: 'Hide from leaderboards' });
    await says(page, 'Hidden: 2 users.', () => confirm.click());
    for (const id of ['user-7', 'user-27']) {
      expect((await laurel.admin.get(`/v1/users/${id}`)).body.hidden).toBe(true);
      await laurel.admin.patch(`/v1/users/${id}`, { hidden: false });
    }
    await page.getByRole('button', { name: 'Clear the filters' }).click();
    await table.getByText('user-1', { exact: true }).waitFor();
    expect(errors).toEqual([]);
  });

  test('an export of several users is a file with one on each line; a deletion names what it could not do', async () => {
    const { page, at } = await signedIn();
    await at('/users?search=user-3');
    await page.getByLabel('Select user-30').check();
    await page.getByLabel('Select user-31').check();
    await page.getByRole('button', { name: 'Export' }).click();
    const download = page.waitForEvent('download');
    await page.getByRole('alertdialog').getByRole('button', { name: 'Export' }).click();
    const stream = await (await download).createReadStream();
    let text = '';
    for await (const chunk of stream) text += String(chunk);
    expect(
      text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).user.id),
    ).toEqual(['user-30', 'user-31']);
    // The selection is cleared after the file is offered.
    await page.getByText('2 selected').waitFor({ state: 'detached' });
    await page.getByLabel('Select user-30').check();
    await page.getByLabel('Select user-31').check();
    // Somebody else deletes one of them meanwhile.
    await laurel.admin.delete('/v1/users/user-31');
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    const confirm = page.getByRole('alertdialog').getByRole('button', { name: 'Delete' });
    await says(page, 'Deleted: 1 user.', () => confirm.click());
    await page.getByRole('alert').getByText('user-31: There is no user with this ID').waitFor();
    expect((await laurel.app.get('/v1/users/user-30')).status).toBe(404);
  });

  test.each(['desk', 'phone'] as const)('a guest is merged into an account, after a preview: %s', async (width) => {
    const { page, at, errors } = await signedIn({ size: WIDTHS[width] });
    const [guest, account] = [`guest-${width}`, `account-${width}`];
    for (const [id, value] of [
      [guest, 3],
      [account, 4],
    ] as const)
      await laurel.app.post('/v1/metrics/flips/event', { user: { id }, value });
    // Until the new leaderboards are filled, no users can be merged.
    const statuses = async (): Promise<string[]> =>
      (await laurel.admin.get('/v1/jobs?limit=100')).body.map(({ status }: { status: string }) => status);
    await expect.poll(async () => new Set(await statuses())).toEqual(new Set(['done']));
    await at(`/users/${guest}`);
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByText('Merge into another user').click();
    const sheet = page.getByRole('dialog', { name: `Merge ${guest} into another user` });
    const [into, show] = [sheet.getByLabel('ID of the user who stays'), sheet.getByRole('button', { name: 'Preview' })];
    await into.fill('nobody');
    await show.click();
    await sheet.getByRole('alert').filter({ hasText: '404: ' }).waitFor();
    await into.fill(account);
    await show.click();
    await sheet.getByText('7', { exact: true }).waitFor();
    expect(await violations(page)).toEqual([]);
    expect(await tooWide(page)).toEqual([]);
    await keep(page, `${width}-merge`);
    await says(page, `${guest} is merged: the ID now stands for the other user.`, () =>
      sheet.getByRole('button', { name: `Merge into ${account} for good` }).click(),
    );
    await page.waitForURL((url) => url.pathname.endsWith(`/users/${account}`));
    expect((await laurel.app.get(`/v1/users/${guest}/metrics/flips`)).body.current).toBe(7);
    expect(errors.filter((error) => !error.includes('404'))).toEqual([]);
  });

  test('a test event is sent with attributes and a date', async () => {
    const { page, at, errors } = await signedIn();
    await laurel.admin.patch('/v1/events/settings', { lateEventDays: 30 });
    await at('/users/user-1');
    await page.getByRole('button', { name: 'Send an event' }).click();
    const dialog = page.getByRole('dialog', { name: 'Send an event' });
    await dialog.getByLabel('Metric').selectOption({ label: 'Flashcards flipped' });
    await dialog.getByLabel('Value').fill('4');
    await dialog.getByLabel('Deck').fill('capitals');
    const day = new Date(Date.now() - 3 * 86_400_000).toISOString().slice(0, 10);
    await dialog.getByLabel('Happened at').fill(`${day}T12:00`);
    await dialog.getByRole('button', { name: 'Send', exact: true }).click();
    await dialog.getByText('"total": 7').waitFor();
    await keep(page, 'desk-send-event');
    const events = async () => (await laurel.admin.get('/v1/users/user-1/export')).body.events;
    await expect.poll(async () => (await events()).length).toBe(2);
    const sent = (await events()).find(({ attributes }: { attributes: object | null }) => attributes !== null);
    expect(sent).toMatchObject({ attributes: { deck: 'capitals' } });
    expect(JSON.stringify(sent)).toContain(day);
    expect(errors).toEqual([]);
  });

  test.each(['desk', 'phone'] as const)('a file is checked, then imported, with a report: %s', async (width) => {
    const { page, errors, at } = await signedIn({ size: WIDTHS[width] });
    const ids = Array.from({ length: 120 }, (_, no) => `${width}-${no}`);
    const lines = ids.map((id, no) =>
      JSON.stringify({ id, metrics: { [no % 10 === 0 ? 'unknown' : 'flips']: { total: 5 } } }),
    );
    lines.splice(60, 0, 'no JSON', '', JSON.stringify({ id: 'user-2' }));
    await at('/import');
    await page.getByLabel('File').setInputFiles({
      name: `${width} users.jsonl`,
      mimeType: 'application/x-ndjson',
      buffer: Buffer.from(lines.join('\n')),
    });
    await expect.poll(() => page.getByLabel('Name of the import').inputValue()).toBe(`${width}-users-jsonl`);
    const check = page.getByRole('button', { name: 'Check the file' });
    await says(page, 'The file is checked. Nothing was changed.', () => check.click());
    const figure = (name: string) =>
      page
        .locator('dl > div')
        .filter({ hasText: new RegExp(`^${name}\\d`) })
        .locator('dd')
        .textContent();
    await expect.poll(async () => [await figure('ready to import'), await figure('refused')]).toEqual(['120', '2']);
    await page.getByRole('region', { name: 'Not imported' }).getByText('The user exists').waitFor();
    await page.getByRole('region', { name: 'Left out' }).getByText('12', { exact: true }).waitFor();
    expect((await laurel.app.get(`/v1/users/${ids[1]}`)).status).toBe(404);
    expect(await violations(page)).toEqual([]);
    expect(await tooWide(page)).toEqual([]);
    await keep(page, `${width}-import-report`);
    await page.getByRole('button', { name: 'Import', exact: true }).click();
    await page.getByRole('alertdialog').getByText('120 users ready.').waitFor();
    const confirm = page.getByRole('alertdialog').getByRole('button', { name: 'Import' });
    await says(page, 'The import is done.', () => confirm.click());
    await expect.poll(() => figure('imported')).toBe('120');
    expect((await laurel.app.get(`/v1/users/${ids[1]}/metrics/flips`)).body.current).toBe(5);
    expect(errors).toEqual([]);
  });
});
