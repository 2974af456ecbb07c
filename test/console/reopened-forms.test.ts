import { beforeAll, describe, expect, test } from 'vitest';
import { startLaurel } from '../laurel.ts';
import { hasBrowser, startBrowser } from '../stack/chromium.ts';
import { STUDY_APP } from '../study-app.ts';
import { holdNext, release, signedInPage } from './browser.ts';
import { opened } from '../stack/opened.ts';

describe.skipIf(!hasBrowser)('a form that is opened again before what was saved is read', () => {
  const laurel = opened(() => startLaurel({ configuration: STUDY_APP, workers: true }));
  const browser = opened(() => startBrowser());
  beforeAll(async () => {
    await laurel.app.put('/v1/users/ann', { name: 'Ann', email: 'ann@example.com' });
    await laurel.app.post('/v1/metrics/flips/event', { user: { id: 'ann' }, value: 3 });
  });

  const signedIn = () => signedInPage(browser, laurel);

  test('in a list shows what is stored as soon as it is read', async () => {
    await laurel.admin.post('/v1/metrics', [{ key: 'steps', name: 'Steps' }]);
    const { page, at, quiet } = await signedIn();
    await at('/metrics');
    const edit = page.getByRole('button', { name: 'Edit Steps', exact: true });
    const editor = page.getByRole('dialog', { name: 'Edit the metric' });
    const name = editor.getByLabel('Name', { exact: true });
    await edit.click();
    await name.fill('Paces');
    await quiet();
    const list = await holdNext(page, { method: 'GET', path: /\/v1\/metrics\?/ });
    await editor.getByRole('button', { name: 'Save' }).click();
    const reading = await list.held;
    await editor.waitFor({ state: 'detached' });
    await edit.click();
    await expect.poll(() => name.inputValue()).toBe('Steps');
    await reading.continue();
    await expect.poll(() => name.inputValue()).toBe('Paces');
    const [{ id }] = (await laurel.admin.get('/v1/metrics')).body.filter(({ key }: { key: string }) => key === 'steps');
    await laurel.admin.delete(`/v1/metrics?ids=${id}`);
  });

  test('of a page to unsubscribe cannot be: it closes when the page is read, because its texts are saved as a whole', async () => {
    const texts = { title: 'Stop', question: 'Really?', button: 'Stop', doneTitle: 'Stopped', done: 'Good bye.' };
    const unsubscribePages = [{ kind: 'recap', locale: 'de', ...texts }];
    const { status } = await laurel.admin.put('/v1/configuration', { messages: { unsubscribePages } });
    expect(status).toBe(200);
    const { page, at, quiet } = await signedIn();
    await at('/messages');
    const open = () => page.getByRole('button', { name: 'Recap, German (de)' }).click();
    const editor = page.getByRole('dialog', { name: 'Recap, German (de)' });
    const question = editor.getByLabel('Question');
    await open();
    await question.fill('Sure?');
    await quiet();
    const change = await holdNext(page, { method: 'PUT', path: /\/v1\/configuration$/ });
    await editor.getByRole('button', { name: 'Save' }).click();
    const saving = await change.held;
    const settings = await holdNext(page, { method: 'GET', path: /\/v1\/configuration$/ });
    await release(page, saving);
    const reading = await settings.held;
    expect(await editor.count()).toBe(1);
    await reading.continue();
    await editor.waitFor({ state: 'detached' });
    await open();
    expect(await question.inputValue()).toBe('Sure?');
  });

  test('of a user sends only what was changed since', async () => {
    const { page, at, quiet } = await signedIn();
    await at('/users/ann');
    const edit = page.getByRole('button', { name: 'Edit', exact: true });
    const form = page.getByRole('dialog', { name: 'Edit ann' });
    const save = form.getByRole('button', { name: 'Save' });
    await edit.click();
    await form.getByLabel('Name', { exact: true }).fill('Anna');
    await quiet();
    const { held } = await holdNext(page, { method: 'GET', path: /\/application\/v1\/users\/ann$/ });
    await save.click();
    const reading = await held;
    await form.waitFor({ state: 'detached' });
    await edit.click();
    await expect.poll(() => form.getByLabel('Name', { exact: true }).inputValue()).toBe('Ann');
    await form.getByLabel('E-mail').fill('anna@example.com');
    await save.click();
    await form.waitFor({ state: 'detached' });
    await reading.continue();
    await page.getByRole('heading', { name: 'Anna', level: 1 }).waitFor();
    expect((await laurel.app.get('/v1/users/ann')).body).toMatchObject({ name: 'Anna', email: 'anna@example.com' });
  });

  test('of the subscriptions shows what is stored as soon as it is read', async () => {
    const { page, at, quiet } = await signedIn();
    await at('/users/ann');
    const open = page.getByRole('button', { name: 'Subscriptions' });
    const form = page.getByRole('dialog', { name: 'Messages to ann' });
    const recap = form.getByRole('group', { name: 'Recap' });
    await open.click();
    await recap.getByLabel('e-mail').uncheck();
    await quiet();
    const { held } = await holdNext(page, { method: 'GET', path: /\/v1\/users\/ann\/preferences$/ });
    await form.getByRole('button', { name: 'Save' }).click();
    const reading = await held;
    await form.waitFor({ state: 'detached' });
    await open.click();
    await recap.getByLabel('push').uncheck();
    await release(page, reading);
    await expect.poll(() => recap.getByLabel('e-mail').isChecked()).toBe(false);
    await expect.poll(() => recap.getByLabel('push').isChecked()).toBe(false);
    await form.getByRole('button', { name: 'Save' }).click();
    await form.waitFor({ state: 'detached' });
    expect((await laurel.app.get('/v1/users/ann/preferences')).body.notifications).toMatchObject({ recap: [] });
  });

  test('of the metrics on the Overview does not undo what was chosen', async () => {
    const { page, at, quiet } = await signedIn();
    await at('');
    const open = page.getByRole('button', { name: 'Choose metrics' });
    const form = page.getByRole('dialog', { name: 'Metrics on the Overview' });
    const minutes = form.getByLabel('Minutes studied');
    await open.click();
    await minutes.check();
    await quiet();
    const { held } = await holdNext(page, { method: 'GET', path: /\/v1\/metrics\?/ });
    await form.getByRole('button', { name: 'Save' }).click();
    const reading = await held;
    await form.waitFor({ state: 'detached' });
    await open.click();
    await expect.poll(() => minutes.isChecked()).toBe(false);
    await release(page, reading);
    await expect.poll(() => minutes.isChecked()).toBe(true);
    expect(await form.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true);
  });
});
