import { randomBytes } from 'node:crypto';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { answer, smtpServer } from '../engine/messages/smtp-server.ts';
import { startLaurel } from '../laurel.ts';
import { hasBrowser, startBrowser } from '../stack/chromium.ts';
import { keep, LONG_MS, says, signedInPage, tooWide, violations, WIDTHS } from './browser.ts';
import { opened } from '../stack/opened.ts';

/** Between 17:00 and 21:00, e-mails about achievements are due at once. */
const EVENING = '2030-03-01T18:00:00.000Z';
const SIZES = { desk: WIDTHS.desk, phone: { width: 390, height: 844 } } as const;

describe.skipIf(!hasBrowser)('the messages of the console', { timeout: LONG_MS }, () => {
  let browser: Browser;
  const smtp = opened(() =>
    smtpServer({
      onRcptTo({ address }, _session, done) {
        done(address.startsWith('gone') ? answer(550) : address.startsWith('full') ? answer(452) : null);
      },
    }),
  );
  const laurel = opened(() =>
    startLaurel({
      testClock: true,
      workers: true,
      webhookAllowPrivate: true,
      publicUrl: 'https://laurel.example',
      secretsKey: randomBytes(32),
      worker: { emails: { everyMs: 50 } },
    }),
  );
  beforeAll(async () => {
    await laurel.admin.put('/v1/clock', { now: EVENING });
    const { status, body } = await laurel.admin.put('/v1/configuration', {
      attributes: [{ key: 'language', name: 'Language', type: 'user' }],
      metrics: [{ key: 'flips', name: 'Flips' }],
      achievements: [
        { key: 'one', name: 'First flip', trigger: 'metric', metricKey: 'flips', metricValue: 1, status: 'active' },
      ],
      streaks: { frequency: 'daily' },
    });
    if (status !== 200) throw new Error(JSON.stringify(body));
    await laurel.admin.patch('/v1/settings', { branding: { appName: 'Study & Co', brandColor: '#ffcc00' } });
    await laurel.app.put('/v1/users/idle', { name: '<b>Idle</b>', email: 'idle@example.com' });
    browser = await startBrowser();
  });
  afterAll(async () => {
    await browser?.close();
  });

  const settings = async () => (await laurel.admin.get('/v1/configuration')).body.messages;

  /** Looks at a state on both widths. */
  async function look(page: Awaited<ReturnType<typeof signedInPage>>['page'], name: string): Promise<void> {
    for (const [width, size] of Object.entries(SIZES)) {
      await page.setViewportSize(size);
      await page.evaluate('scrollTo(0, 0)');
      await keep(page, `${width}-${name}`);
      expect([name, width, await tooWide(page)]).toEqual([name, width, []]);
    }
    expect([name, await violations(page)]).toEqual([name, []]);
    await page.setViewportSize(SIZES.desk);
  }

  test('lead from nothing to an e-mail: channel, test, templates, log, suppressed address', async () => {
    const { page, errors, elsewhere, at } = await signedInPage(browser, laurel);
    const main = page.locator('#main');
    await at('/messages');
    await main.getByText('No e-mails are sent.').waitFor();
    await main.getByText('There are no templates.').waitFor();
    await look(page, 'messages-none');

    // The channel.
    await main.getByRole('link', { name: 'Open the channel' }).click();
    await page.getByLabel('Mail server', { exact: true }).fill('127.0.0.1');
    await page.getByLabel('User name').fill('laurel');
    await page.getByLabel('Password').fill('p4ssw0rd');
    await page.getByLabel('Sender’s address').fill('hello');
    await look(page, 'channel-new');
    await page.getByRole('button', { name: 'Create' }).click();
    const sender = page.locator('[data-field=senderAddress]');
    await sender.getByRole('alert').waitFor();
    await sender.getByRole('textbox').fill('hello@example.com');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('button', { name: 'Save' }).waitFor();
    const stored = async () => (await laurel.admin.get('/v1/messages/channel')).body;
    expect(await stored()).toMatchObject({ enabled: true, username: 'laurel', hasPassword: true, port: 587, pace: 5 });
    await expect.poll(() => page.getByLabel('Password').inputValue()).toBe('');

    const sendTest = async (): Promise<void> => {
      await page.getByLabel('Send a test e-mail to').fill('you@example.com');
      await page.getByRole('button', { name: 'Send', exact: true }).click();
    };
    await sendTest();
    await page.getByText('The mail server does not answer').waitFor();
    await look(page, 'channel-test-failed');
    // Another server needs no login: the password goes with the name.
    await page.getByLabel('Encryption').selectOption('none');
    await page.getByLabel('Port').fill(String(smtp.port));
    await page.getByRole('button', { name: 'Save' }).click();
    await expect.poll(stored).toMatchObject({ username: null, hasPassword: false, port: smtp.port });
    await sendTest();
    await page.getByText('The mail server took the test e-mail.').waitFor();
    expect(smtp.received.at(-1)!.to).toEqual(['you@example.com']);
    await look(page, 'channel-test-sent');

    // A template of each kind that is saved as it begins.
    await main.getByRole('link', { name: 'Templates', exact: true }).click();
    for (const kind of ['Streak reminder', 'Achievement completed', 'Reactivation', 'Recap']) {
      const panel = main.locator('section').filter({ has: page.getByRole('heading', { name: kind }) });
      await panel.getByRole('link', { name: 'Write the template' }).click();
      await page.getByRole('heading', { level: 1, name: `${kind}: All users` }).waitFor();
      await page.getByText('Write the address of your app').waitFor();
      await says(page, 'The template is saved.', () => page.getByRole('button', { name: 'Save' }).click());
      await page.getByRole('navigation', { name: 'Breadcrumb' }).getByRole('link', { name: 'Messages' }).click();
    }
    await main.getByText('E-mails are sent.', { exact: true }).waitFor();
    expect((await settings()).templates).toHaveLength(4);
    await look(page, 'messages');

    // What happens then.
    for (const id of ['ada', 'gone', 'full'])
      await laurel.app.post('/v1/metrics/flips/event', {
        user: { id, name: id, email: `${id}@example.com`, attributes: { language: 'de' } },
        value: 1,
      });
    const tried = async () => {
      const { messages } = (await laurel.admin.get('/v1/messages?limit=10')).body;
      return messages
        .flatMap((one: { status: string; tries: number }) => (one.tries > 0 ? [one.status] : []))
        .toSorted();
    };
    await expect.poll(tried).toEqual(['failed', 'sent', 'waiting']);
    expect(smtp.received.some(({ content }) => content.includes('Subject: Well done: First flip'))).toBe(true);
    await at('/messages/log');
    const log = page.getByRole('region', { name: 'Messages', exact: true });
    await log.getByRole('row').filter({ hasText: 'ada' }).getByText('sent', { exact: true }).waitFor();
    await main.getByText(/1 e-mail failed and will be tried again/).waitFor();
    await look(page, 'messages-log');
    await page.getByRole('combobox', { name: 'Status' }).selectOption({ label: 'failed' });
    await log.getByRole('row').filter({ hasText: 'ada' }).waitFor({ state: 'detached' });
    await log.getByRole('row').filter({ hasText: 'gone' }).waitFor();
    await page.getByRole('button', { name: 'Allow again: gone@example.com' }).click();
    await says(page, 'The address gets e-mails again.', () =>
      page.getByRole('alertdialog').getByRole('button', { name: 'Allow again' }).click(),
    );
    await page.getByText('No suppressed addresses').waitFor();
    expect((await laurel.admin.get('/v1/messages/suppressed')).body.addresses).toEqual([]);
    await at('/users/full');
    const ofUser = main
      .locator('section')
      .filter({ has: page.getByRole('heading', { name: 'Messages', exact: true }) });
    await ofUser.getByText('waiting', { exact: true }).waitFor();
    await ofUser.scrollIntoViewIfNeeded();
    await keep(page, 'desk-user-emails');
    // A user who asks an administrator to be unsubscribed.
    await ofUser.getByText('Subscribed to all kinds.').waitFor();
    await ofUser.getByRole('button', { name: 'Subscriptions' }).click();
    const choice = page.getByRole('dialog', { name: 'Messages to full' });
    await choice.getByRole('group', { name: 'Recap' }).getByLabel('e-mail').uncheck();
    await choice.getByRole('group', { name: 'Reactivation' }).getByLabel('push').uncheck();
    await look(page, 'user-subscriptions');
    await says(page, 'Saved.', () => choice.getByRole('button', { name: 'Save' }).click());
    await ofUser.getByText('Recap: no e-mail', { exact: true }).waitFor();
    const preferences = async () => (await laurel.app.get('/v1/users/full/preferences')).body.notifications;
    expect(await preferences()).toMatchObject({
      recap: ['push'],
      reactivation: ['email'],
      streak_reminder: ['email', 'push'],
    });
    await ofUser.getByRole('button', { name: 'Subscriptions' }).click();
    await choice.getByLabel('E-mails', { exact: true }).uncheck();
    await says(page, 'Saved.', () => choice.getByRole('button', { name: 'Save' }).click());
    await ofUser.getByText('No e-mails at all').waitFor();
    expect((await laurel.app.get('/v1/users/full')).body.subscribeToEmails).toBe(false);
    expect({ errors, elsewhere }).toEqual({ errors: [], elsewhere: [] });
  });

  test('edit a template: variables, problems at their field, a preview without scripts, languages, rules', async () => {
    const { page, errors, elsewhere, at } = await signedInPage(browser, laurel);
    await at('/messages/streak_reminder/all');
    const frame = page.frameLocator('iframe[title="The e-mail"]');
    await page.getByLabel('As this user gets it').fill('idle');
    await frame.getByText('Hello <b>Idle</b>,').waitFor();
    // The style attributes of an e-mail apply, and no script could.
    const button = frame.getByRole('link', { name: 'Keep my streak' });
    const colour = await button.evaluate((link) => {
      const { getComputedStyle } = globalThis as unknown as {
        getComputedStyle: (of: unknown) => { backgroundColor: string };
      };
      return getComputedStyle(link).backgroundColor;
    });
    expect(colour).toBe('rgb(255, 204, 0)');
    await expect.poll(() => page.getByTitle('The e-mail').getAttribute('sandbox')).toBe('');
    await look(page, 'template');
    for (const shape of ['Phone', 'Text']) {
      await page.getByRole('button', { name: shape, exact: true }).click();
      await keep(page, `desk-template-${shape.toLowerCase()}`);
    }
    await page.getByText('Keep my streak: https://app.example.com/').last().waitFor();
    await page.getByRole('button', { name: 'Desktop' }).click();

    const subject = page.getByLabel('Subject');
    const html = page.getByLabel('HTML', { exact: true });
    await subject.fill('For ');
    await page.getByRole('button', { name: 'User’s name' }).click();
    await expect.poll(() => subject.inputValue()).toBe('For {{user.name|there}}');
    await expect.poll(() => subject.evaluate((input) => input.matches(':focus'))).toBe(true);
    await html.fill(`<script>alert(1)</script>${await html.inputValue()}{{streak.colour}}`);
    await page.getByText("Must not have the element 'script'.").waitFor();
    await page.getByText("'streak.colour' is no variable of streak_reminder.").waitFor();
    await look(page, 'template-problems');
    await page.getByRole('button', { name: 'Save' }).click();
    await expect.poll(() => html.evaluate((input) => input.matches(':focus'))).toBe(true);
    await html.fill('<h1>{{user.name|Hi}}</h1><p>Go &amp; play</p><p><a href="{{unsubscribeUrl}}">Stop</a></p>');
    await page.getByRole('button', { name: 'Write the text from the HTML' }).click();
    await expect
      .poll(() => page.getByLabel('Text', { exact: true }).inputValue())
      .toBe('{{user.name|Hi}}\n\nGo & play\n\nStop: {{unsubscribeUrl}}');
    await frame.getByText('Go & play').waitFor();

    // Leaving loses it only after a question.
    const crumb = page.getByRole('navigation', { name: 'Breadcrumb' }).getByRole('link', { name: 'Messages' });
    await crumb.click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Keep editing' }).click();
    await says(page, 'The template is saved.', () => page.getByRole('button', { name: 'Save' }).click());
    expect((await settings()).templates.find(({ kind }: { kind: string }) => kind === 'streak_reminder')).toMatchObject(
      {
        subject: 'For {{user.name|there}}',
      },
    );
    const [version] = (await laurel.admin.get('/v1/configuration/versions?limit=1')).body;
    expect(version.changes[0]).toMatchObject({ kind: 'message_template', name: 'streak_reminder' });

    await subject.fill('Play, {{user.name|friend}}');
    await page.getByRole('button', { name: 'Save' }).click();
    await expect.poll(async () => JSON.stringify(await settings())).toContain('Play, {{user.name|friend}}');

    // A change by somebody else is not overwritten.
    const theirs = await settings();
    for (const template of theirs.templates) if (template.kind === 'streak_reminder') template.subject = 'Theirs';
    await laurel.admin.put('/v1/configuration', { messages: { templates: theirs.templates } });
    await subject.fill('Mine');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Somebody else changed this template').waitFor();
    await crumb.click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Discard' }).click();

    // Rules, whose problems are shown at their field.
    const rules = page.locator('form').filter({ has: page.getByLabel('E-mails a day') });
    await page.getByLabel('E-mails a day').fill('0');
    await rules.getByRole('button', { name: 'Save' }).click();
    await page.locator('[data-field=emailsPerDay]').getByRole('alert').waitFor();
    await page.getByLabel('E-mails a day').fill('2');
    await page.getByLabel('Quiet hours from').fill('19:00');
    await rules.getByRole('button', { name: 'Save' }).click();
    await page.locator('[data-field=to]').getByRole('alert').waitFor();
    await page.getByLabel('Quiet hours until').fill('07:30');
    await page.getByLabel('Attribute with the language').selectOption({ label: 'Language' });
    await rules.getByRole('button', { name: 'Save' }).click();
    await expect.poll(settings).toMatchObject({
      emailsPerDay: 2,
      localeAttribute: 'language',
      quietHours: { from: '19:00', to: '07:30' },
    });
    await page.getByText('Daily streak reminders are not sent.').waitFor();
    await look(page, 'messages-quiet');

    // A language begins with the template of all others.
    const panel = page.locator('section').filter({ has: page.getByRole('heading', { name: 'Streak reminder' }) });
    await panel.getByRole('button', { name: 'Add a language' }).click();
    const dialog = page.getByRole('dialog', { name: 'Add a language: Streak reminder' });
    await dialog.getByLabel('Language').fill('german!');
    await dialog.getByRole('button', { name: 'Write the template' }).click();
    await dialog.getByRole('alert').waitFor();
    await dialog.getByLabel('Language').fill('de');
    await dialog.getByText('German (de)').waitFor();
    await look(page, 'messages-language');
    await dialog.getByRole('button', { name: 'Write the template' }).click();
    await page.getByRole('heading', { level: 1, name: 'Streak reminder: German (de)' }).waitFor();
    await expect.poll(() => subject.inputValue()).toBe('Theirs');
    await says(page, 'The template is saved.', () => page.getByRole('button', { name: 'Save' }).click());
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click();
    await panel.getByText('All users').waitFor();
    expect((await settings()).templates).toHaveLength(4);
    expect({ errors, elsewhere }).toEqual({ errors: [], elsewhere: [] });
  });

  test('write, change and remove a page to unsubscribe', async () => {
    const { page, errors, at } = await signedInPage(browser, laurel);
    await at('/messages');
    const editor = page.getByRole('dialog', { name: /page to unsubscribe|Recap/ });
    const open = (name: string): Promise<void> => page.getByRole('button', { name }).click();
    await open('Write a page');
    await editor.getByLabel('For', { exact: true }).selectOption({ label: 'Recap' });
    await editor.getByLabel('Language').fill('de');
    await editor.getByLabel('Heading', { exact: true }).fill('Abbestellen');
    await editor.getByLabel('Question').fill('Keinen {{Rückblick}} mehr?');
    await editor.getByLabel('Button', { exact: true }).fill('Abbestellen');
    await editor.getByLabel('Heading afterwards').fill('Abbestellt');
    await editor.getByLabel('Text afterwards').fill('Du bekommst keinen mehr.');
    await look(page, 'unsubscribe-page');
    await editor.getByRole('button', { name: 'Create' }).click();
    // An error of the API is shown at its field.
    await editor.locator('[data-field=question]').getByText('must not have variables').waitFor();
    await editor.getByLabel('Question').fill('Keinen Rückblick mehr?');
    await editor.getByRole('button', { name: 'Create' }).click();
    await editor.waitFor({ state: 'hidden' });
    const written = {
      kind: 'recap',
      locale: 'de',
      title: 'Abbestellen',
      question: 'Keinen Rückblick mehr?',
      button: 'Abbestellen',
      doneTitle: 'Abbestellt',
      done: 'Du bekommst keinen mehr.',
    };
    await expect.poll(async () => (await settings()).unsubscribePages).toEqual([written]);

    await open('Recap, German (de)');
    await editor.getByLabel('Question').fill('Wirklich?');
    await editor.getByRole('button', { name: 'Save' }).click();
    await editor.waitFor({ state: 'hidden' });
    await expect.poll(async () => (await settings()).unsubscribePages).toEqual([{ ...written, question: 'Wirklich?' }]);

    await open('Recap, German (de)');
    await editor.getByRole('button', { name: 'Remove' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Remove' }).click();
    await expect.poll(async () => (await settings()).unsubscribePages).toEqual([]);
    expect(errors).toEqual([]);
  });

  test('show a read-only administrator everything, and no control that changes something', async () => {
    const { body } = await laurel.admin.post('/v1/admin-api-keys', [{ name: 'Looks', access: 'read' }]);
    const { page, at } = await signedInPage(browser, laurel, { key: body.created[0].key });
    const main = page.locator('#main');
    for (const [path, text] of [
      ['/messages', 'Rules of sending'],
      ['/messages/channel', 'hello@example.com'],
      ['/messages/log', 'Suppressed addresses'],
      ['/messages/recap/all', 'As this user gets it'],
    ] as const) {
      await at(path);
      if (path === '/messages/channel')
        await expect.poll(() => main.getByLabel('Sender’s address').inputValue()).toBe(text);
      else await main.getByText(text).first().waitFor();
      const writes = main.getByRole('button', {
        name: /^(?:Save|Create|Delete|Send|Add|Allow|Write|Copy as curl|User’s)/,
      });
      const enabled = main.locator('form :is(input, select, textarea):enabled');
      for (const control of [writes, main.getByRole('link', { name: /^Write/ }), enabled])
        await expect.poll(() => control.count(), { message: path }).toBe(0);
    }
    await page.frameLocator('iframe[title="The e-mail"]').getByText('You were active').waitFor();
  });
});
