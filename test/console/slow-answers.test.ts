import type { Locator } from 'playwright-core';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { startLaurel } from '../laurel.ts';
import { hasBrowser, startBrowser } from '../stack/chromium.ts';
import { STUDY_APP } from '../study-app.ts';
import { holdNext, release, says, signedInPage } from './browser.ts';
import { opened } from '../stack/opened.ts';

/** Clicks a button twice before the page is drawn again, as on a phone that is busy. */
const clickTwice = (button: Locator): Promise<void> =>
  button.evaluate((element) => {
    const { click } = element as unknown as { click: () => void };
    click.call(element);
    click.call(element);
  });

describe.skipIf(!hasBrowser)('answers that come late', () => {
  const laurel = opened(() => startLaurel({ configuration: STUDY_APP, workers: true }));
  const browser = opened(() => startBrowser());
  beforeAll(async () => {
    for (const id of ['ann', 'bob'])
      await laurel.app.post('/v1/metrics/flips/event', { user: { id, attributes: { plan: id } }, value: 13 });
  });

  const signedIn = () => signedInPage(browser, laurel);

  test('a second click while the first one is under way does nothing', async () => {
    const { page, at } = await signedIn();
    const sent: string[] = [];
    page.on('request', (request) => request.url().endsWith('/metrics/flips/event') && sent.push(request.method()));
    await at('/users/ann');
    await page.getByRole('button', { name: 'Send an event' }).click();
    const dialog = page.getByRole('dialog', { name: 'Send an event' });
    const send = dialog.getByRole('button', { name: 'Send', exact: true });
    // It is disabled until the metrics are read.
    await expect.poll(() => send.isEnabled()).toBe(true);
    await clickTwice(send);
    await dialog.getByText('"total": 14').waitFor();
    await send.click();
    await dialog.getByText('"total": 15').waitFor();
    expect(sent).toEqual(['POST', 'POST']);
  });

  test('nor does one that starts work on several users, or an import', async () => {
    const { page, at, quiet } = await signedIn();
    const sent: string[] = [];
    page.on('request', (request) => {
      const { pathname } = new URL(request.url());
      if (/export$|imports$/.test(pathname)) sent.push(pathname);
    });
    await at('/users');
    await page.getByLabel('Select ann').check();
    await page.getByRole('button', { name: 'Export', exact: true }).click();
    const confirm = page.getByRole('alertdialog', { name: 'Export?' }).getByRole('button', { name: 'Export' });
    await confirm.waitFor();
    await says(page, 'Exported: 1 user.', () => clickTwice(confirm));
    await quiet();
    await at('/import');
    const buffer = Buffer.from(JSON.stringify({ id: 'cem' }));
    await page.getByLabel('File').setInputFiles({ name: 'users', mimeType: 'application/x-ndjson', buffer });
    const check = page.getByRole('button', { name: 'Check the file' });
    await expect.poll(() => check.isEnabled()).toBe(true);
    await says(page, 'The file is checked. Nothing was changed.', () => clickTwice(check));
    await quiet();
    expect(sent).toEqual(['/v1/users/ann/export', '/v1/imports']);
  });

  test('a refusal is shown even if the form is closed when it comes', async () => {
    const { page, at } = await signedIn();
    await at('/metrics');
    await page.getByRole('button', { name: 'New metric' }).click();
    const form = page.getByRole('dialog', { name: 'New metric' });
    await form.getByLabel('Name', { exact: true }).fill('Flips');
    const { held } = await holdNext(page, { method: 'POST', path: /\/v1\/metrics\?/ });
    await form.getByRole('button', { name: 'Create' }).click();
    const creation = await held;
    await page.keyboard.press('Escape');
    await form.waitFor({ state: 'detached' });
    await creation.continue();
    await page.getByRole('dialog', { name: /'flips'/ }).waitFor();
    expect((await laurel.admin.get('/v1/metrics')).body).toHaveLength(2);
  });

  test('a form closes when it is saved, and does not wait until the lists behind it are read again', async () => {
    const { page, at, quiet } = await signedIn();
    await at('/metrics');
    const laps = page.getByRole('row').filter({ hasText: 'Laps' });
    await page.getByRole('button', { name: 'New metric' }).click();
    const form = page.getByRole('dialog', { name: 'New metric' });
    await form.getByLabel('Name', { exact: true }).fill('Laps');
    await quiet();
    const list = await holdNext(page, { method: 'GET', path: /\/v1\/metrics\?/ });
    await form.getByRole('button', { name: 'Create' }).click();
    const reading = await list.held;
    await form.waitFor({ state: 'detached' });
    expect(await laps.count()).toBe(0);
    await reading.continue();
    await laps.waitFor();

    await laps.getByRole('button', { name: 'Delete' }).click();
    const question = page.getByRole('alertdialog', { name: /^Delete/ });
    await quiet();
    const again = await holdNext(page, { method: 'GET', path: /\/v1\/metrics\?/ });
    await question.getByRole('button', { name: 'Delete', exact: true }).click();
    const later = await again.held;
    await question.waitFor({ state: 'detached' });
    // Rows behind a dialog have no role until it is gone.
    await expect.poll(() => laps.count()).toBe(1);
    await later.continue();
    await laps.waitFor({ state: 'detached' });
  });

  test('what was saved stays in a form on a screen while it is read again', async () => {
    const { page, at, quiet } = await signedIn();
    await at('/metrics');
    const days = page.getByLabel('Accept late events for this many days');
    await days.fill('9');
    await quiet();
    const settings = await holdNext(page, { method: 'GET', path: /\/v1\/events\/settings/ });
    const panel = page.locator('section').filter({ has: page.getByRole('heading', { name: 'Late events' }) });
    const save = panel.getByRole('button', { name: 'Save' });
    await says(page, 'Saved.', () => save.click());
    const reading = await settings.held;
    expect(await days.inputValue()).toBe('9');
    expect(await save.isDisabled()).toBe(true);
    await release(page, reading);
    expect(await days.inputValue()).toBe('9');
    await expect.poll(() => save.isEnabled()).toBe(true);
  });

  test('the question before an import counts no users of a file that was chosen before', async () => {
    const { page, at } = await signedIn();
    await at('/import');
    const choose = (name: string): Promise<void> => {
      const buffer = Buffer.from(JSON.stringify({ id: name, metrics: { flips: { total: 5 } } }));
      return page.getByLabel('File').setInputFiles({ name, mimeType: 'application/x-ndjson', buffer });
    };
    const named = page.getByLabel('Name of the import');
    await choose('first.jsonl');
    await expect.poll(() => named.inputValue()).toBe('first-jsonl');
    const check = page.getByRole('button', { name: 'Check the file' });
    await says(page, 'The file is checked. Nothing was changed.', () => check.click());
    await page.getByRole('heading', { name: 'Report of first.jsonl' }).waitFor();
    const questionOf = async (file: string): Promise<string | null> => {
      await page.getByRole('button', { name: 'Import', exact: true }).click();
      const question = page.getByRole('alertdialog', { name: `Import the users of ${file}?` });
      await question.waitFor();
      const text = await question.textContent();
      await question.getByRole('button', { name: 'Cancel' }).click();
      await question.waitFor({ state: 'detached' });
      return text;
    };
    expect(await questionOf('first.jsonl')).toContain('1 user ready. ');
    await choose('second.jsonl');
    await expect.poll(() => named.inputValue()).toBe('second-jsonl');
    expect(await questionOf('second.jsonl')).toContain('The file was not checked yet. ');
    // Under another name, other users may be from the import.
    await choose('first.jsonl');
    await named.fill('other');
    expect(await questionOf('first.jsonl')).toContain('The file was not checked yet. ');
  });

  test('a comparison of configurations belongs to the text that was compared', async () => {
    const { page, at } = await signedIn();
    await at('/configuration');
    const editor = page.getByLabel('Configuration document');
    const compare = page.getByRole('button', { name: 'Compare', exact: true });
    const withMetric = (key: string): string =>
      JSON.stringify({ metrics: [...STUDY_APP.metrics!, { key, name: key }] });
    await editor.fill(withMetric('first'));
    const { held } = await holdNext(page, { method: 'POST', path: /\/v1\/configuration\/diff/ });
    await compare.click();
    const earlier = await held;
    await editor.fill(withMetric('second'));
    await release(page, earlier);
    expect(await page.getByText('metric first').count()).toBe(0);
    await page.getByText('Edit or paste a document, then compare it').waitFor();
    await compare.click();
    await page.getByText('metric second').waitFor();

    // What is written while the document is applied stays.
    const applying = await holdNext(page, { method: 'PUT', path: /\/v1\/configuration$/ });
    await page.getByRole('button', { name: 'Apply', exact: true }).click();
    await page
      .getByRole('alertdialog', { name: 'Apply the document?' })
      .getByRole('button', { name: 'Apply', exact: true })
      .click();
    const application = await applying.held;
    await page.keyboard.press('Escape');
    await editor.fill(withMetric('third'));
    await says(page, 'The configuration is applied.', () => release(page, application));
    await page.getByText('Version ').nth(1).waitFor();
    await expect.poll(() => compare.isEnabled()).toBe(true);
    expect(await editor.inputValue()).toBe(withMetric('third'));

    // So does what is written while an earlier version is read.
    await page.getByRole('button', { name: 'Undo my edits' }).click();
    const [{ version }] = (await laurel.admin.get('/v1/configuration/versions?skip=1')).body;
    const reading = await holdNext(page, { method: 'GET', path: /\/v1\/configuration\/versions\/\d+/ });
    await page.getByRole('button', { name: `Compare version ${version}` }).click();
    const answer = await reading.held;
    await editor.fill('{"metrics": []}');
    await release(page, answer);
    expect(await editor.inputValue()).toBe('{"metrics": []}');
  });

  test('the Enter key opens nothing that was found for an earlier text', async () => {
    const { page, at } = await signedIn();
    await at('/metrics');
    await page.getByRole('button', { name: /^Search/ }).click();
    const search = page.getByRole('combobox', { name: /^Search/ });
    await search.fill('ann');
    await page
      .getByRole('option')
      .filter({ hasText: /ann.*User/ })
      .waitFor();
    // The key is pressed before the search for the new text has begun.
    await search.evaluate((element) => {
      const input = element as unknown as EventTarget;
      const { HTMLInputElement, KeyboardEvent } = globalThis as unknown as {
        HTMLInputElement: { prototype: object };
        KeyboardEvent: new (type: string, how: object) => Event;
      };
      Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value')!.set!.call(input, 'bob');
      input.dispatchEvent(new Event('input', { bubbles: true }));
      input.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true }));
    });
    await page
      .getByRole('option')
      .filter({ hasText: /bob.*User/ })
      .waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'bob', level: 1 }).waitFor();
    expect(new URL(page.url()).pathname).toBe('/console/users/bob');
  });

  test('another leaderboard, rule or user never shows figures of the one before', async () => {
    const { page, at, follow } = await signedIn();
    await at('/leaderboards/flips');
    const ann = page.locator('#main').getByRole('row').filter({ hasText: 'ann' });
    await ann.waitFor();
    const places = await holdNext(page, { method: 'GET', path: /\/v1\/leaderboards\/weekly\?/ });
    await follow('/leaderboards/weekly');
    const reading = await places.held;
    await page.getByRole('heading', { name: 'Week', level: 1 }).waitFor();
    await expect.poll(() => ann.count()).toBe(0);
    await reading.continue();
    await ann.waitFor();

    await at('/achievements');
    await page.getByRole('button', { name: 'New achievement' }).click();
    const editor = page.getByRole('dialog', { name: 'New achievement' });
    await editor.getByLabel('Metric', { exact: true }).selectOption({ label: 'Flashcards flipped' });
    await editor.getByLabel('Total that completes it').fill('13');
    await editor.getByText('2 of 2 users would hold it now.').waitFor();
    const preview = await holdNext(page, { method: 'POST', path: /\/v1\/achievements\/preview/ });
    await editor.getByLabel('Total that completes it').fill('1000');
    const counting = await preview.held;
    await editor.getByText('Counting …').waitFor();
    await counting.continue();
    await editor.getByText('0 of 2 users would hold it now.').waitFor();

    await at('/messages/streak_reminder/all');
    await page.getByLabel('As this user gets it').fill('ann');
    const mail = page.getByTitle('The e-mail');
    await mail.waitFor();
    const drawing = await holdNext(page, { method: 'POST', path: /\/v1\/messages\/preview/ });
    await page.getByLabel('As this user gets it').fill('bob');
    const drawn = await drawing.held;
    await mail.waitFor({ state: 'detached' });
    await drawn.continue();
    await mail.waitFor();
  });

  test('what is selected for one tenant is not selected for another', async () => {
    await laurel.admin.patch('/v1/organisation', { multiTenancy: true });
    onTestFinished(() => laurel.admin.patch('/v1/organisation', { multiTenancy: false }).then(() => undefined));
    for (const tenantId of ['north', 'south']) {
      await laurel.admin.post('/v1/tenants', [{ customerId: tenantId, name: tenantId }]);
      const user = { id: 'ada', name: `Ada of the ${tenantId}` };
      const { status } = await laurel.admin.post('/application/v1/users', user, { tenantId });
      expect(status).toBe(201);
    }
    const { page, at } = await signedIn();
    await at('/users');
    const tenant = page.getByLabel('Tenant');
    await tenant.selectOption({ label: 'north' });
    await page.getByText('Ada of the north').waitFor();
    await page.getByLabel('Select ada').check();
    await page.getByText('1 selected').waitFor();
    await tenant.selectOption({ label: 'south' });
    await page.getByText('Ada of the south').waitFor();
    await expect.poll(() => page.getByText('1 selected').count()).toBe(0);
  });
});
