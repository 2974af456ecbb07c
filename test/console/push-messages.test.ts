import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ecKey } from '../engine/messages/push/push-bed.ts';
import { expoServer, GONE, OK } from '../engine/messages/push/expo-server.ts';
import { startLaurel, type TestLaurel } from '../laurel.ts';
import { hasBrowser, startBrowser } from '../stack/chromium.ts';
import { keep, LONG_MS, says, signedInPage, tooWide, violations, WIDTHS } from './browser.ts';

const SIZES = { desk: WIDTHS.desk, phone: { width: 390, height: 844 } } as const;
const OURS = 'ExponentPushToken[ours]';

describe.skipIf(!hasBrowser)('push notifications and providers in the console', { timeout: LONG_MS }, () => {
  let laurel: TestLaurel;
  let expo: Awaited<ReturnType<typeof expoServer>>;
  let provider: ReturnType<typeof createServer>;
  let browser: Browser;
  /** What the mail provider got. */
  const posted: { headers: Record<string, unknown>; body: unknown }[] = [];
  beforeAll(async () => {
    expo = await expoServer(({ to }) => (to === OURS ? OK : GONE));
    provider = createServer((request, response) => {
      void json(request).then((body) => {
        posted.push({ headers: request.headers, body });
        response.writeHead(422, { 'Content-Type': 'application/json' });
        response.end('{"error": {"code": "invalid_recipient"}}');
      });
    });
    await new Promise<void>((listening) => void provider.listen(0, '127.0.0.1', listening));
    laurel = await startLaurel({
      webhookAllowPrivate: true,
      publicUrl: 'https://laurel.example',
      secretsKey: randomBytes(32),
      pushServers: { expo: expo.url },
      configuration: { streaks: { frequency: 'daily' } },
    });
    await laurel.admin.patch('/v1/settings', {
      branding: { appName: 'Study & Co', brandColor: '#ffcc00', appUrl: 'https://study.example/' },
    });
    await laurel.app.put('/v1/users/ada', { name: 'Ada' });
    await laurel.app.put('/v1/users/us', { name: 'Us', deviceTokens: [OURS, 'ExponentPushToken[old]'] });
    browser = await startBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await laurel?.close();
    await expo?.close();
    provider?.close();
  });

  type Page = Awaited<ReturnType<typeof signedInPage>>['page'];

  /** Looks at a state on both widths, light and dark. */
  async function look(page: Page, name: string): Promise<void> {
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      for (const [width, size] of Object.entries(SIZES)) {
        await page.setViewportSize(size);
        await page.evaluate('scrollTo(0, 0)');
        await keep(page, `${width}-${colorScheme}-${name}`);
        expect([name, width, await tooWide(page)]).toEqual([name, width, []]);
      }
      expect([name, colorScheme, await violations(page)]).toEqual([name, colorScheme, []]);
    }
    await page.emulateMedia({ colorScheme: 'light' });
    await page.setViewportSize(SIZES.desk);
  }

  const channels = async () => (await laurel.admin.get('/v1/messages/push-channels')).body.channels;

  test('lead from nothing to a push notification on a device: channels, test, templates, preview', async () => {
    const { page, errors, elsewhere, at } = await signedInPage(browser, laurel);
    const main = page.locator('#main');
    await at('/messages/push');
    await main.getByText('No push notifications are sent.').waitFor();
    await look(page, 'push-none');
    await main.getByRole('link', { name: 'Open the push channels' }).click();

    // Wrong credentials are shown at their field.
    await page.getByRole('button', { name: 'Set up: APNs' }).click();
    const apns = page.getByRole('dialog', { name: 'Set up APNs' });
    await apns.getByLabel('Key', { exact: true }).fill(ecKey().pem);
    await apns.getByLabel('ID of the key').fill('short');
    await apns.getByLabel('ID of the team').fill('DEF123GHIJ');
    await apns.getByLabel('Bundle ID').fill('com.example.app');
    await apns.getByRole('button', { name: 'Create' }).click();
    await apns.locator('[data-field=keyId]').getByRole('alert').waitFor();
    await look(page, 'push-apns');
    await apns.getByLabel('ID of the key').fill('ABC123DEFG');
    await says(page, 'The channel is saved.', () => apns.getByRole('button', { name: 'Create' }).click());
    await page.getByRole('button', { name: 'Set up: Web Push' }).click();
    const web = page.getByRole('dialog', { name: 'Set up Web Push' });
    await web.getByLabel('Contact').fill('mailto:us@example.com');
    await web.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('button', { name: 'Copy: Public VAPID key' }).waitFor();
    await page.getByRole('button', { name: 'Set up: Expo' }).click();
    await page.getByRole('dialog', { name: 'Set up Expo' }).getByRole('button', { name: 'Create' }).click();
    await page.getByRole('button', { name: 'Edit: Expo' }).waitFor();
    const stored = await channels();
    expect(stored.map(({ provider: name }: { provider: string }) => name)).toEqual(['apns', 'expo', 'web_push']);
    await page.getByText(stored[2].credentials.publicKey).waitFor();

    // A change of the pace alone keeps the credentials.
    await page.getByRole('button', { name: 'Edit: Web Push' }).click();
    const edit = page.getByRole('dialog', { name: 'Edit Web Push' });
    await edit.getByLabel('Messages to devices a second').fill('7');
    await edit.getByRole('button', { name: 'Save' }).click();
    await edit.waitFor({ state: 'detached' });
    expect((await channels())[2]).toMatchObject({ pace: 7, credentials: stored[2].credentials });

    await page.getByRole('button', { name: 'Send a test: Expo' }).click();
    const tested = page.getByRole('dialog', { name: 'Send a test by Expo' });
    await tested.getByLabel('User with the devices').fill('us');
    await tested.getByRole('button', { name: 'Send a test' }).click();
    await tested.getByText('The provider took it.').waitFor();
    await tested.getByText('The provider does not know this device any longer.').waitFor();
    await look(page, 'push-test');
    await page.keyboard.press('Escape');
    await tested.waitFor({ state: 'detached' });
    await look(page, 'push-channels');

    // A template of each kind that is saved as it begins.
    await main.getByRole('link', { name: 'Push templates', exact: true }).click();
    for (const kind of ['Streak reminder', 'Achievement completed', 'Reactivation', 'Recap']) {
      const panel = main.locator('section').filter({ has: page.getByRole('heading', { name: kind }) });
      await panel.getByRole('link', { name: 'Write the template' }).click();
      await page.getByRole('heading', { level: 1, name: `Push: ${kind}: All users` }).waitFor();
      await says(page, 'The template is saved.', () => page.getByRole('button', { name: 'Save' }).click());
      await page.getByRole('navigation', { name: 'Breadcrumb' }).getByRole('link', { name: 'Push templates' }).click();
    }
    await main.getByText('Push notifications are sent.', { exact: true }).waitFor();
    await look(page, 'push-templates');

    // The editor.
    await at('/messages/push/reactivation/all');
    await page.getByLabel('As this user gets it').fill('ada');
    const phone = page.getByRole('figure', { name: 'The notification on a phone' });
    await phone.getByText('Ada, we miss you').waitFor();
    await phone.getByText('Study & Co').waitFor();
    const text = page.getByLabel('Text', { exact: true });
    await text.fill('Hi ');
    await page.getByRole('button', { name: 'User’s ID' }).click();
    await expect.poll(() => text.inputValue()).toBe('Hi {{user.id}}');
    await phone.getByText('Hi ada').waitFor();
    await expect.poll(() => page.getByRole('button', { name: 'Address to unsubscribe' }).count()).toBe(0);
    const link = page.getByLabel('What a tap opens');
    await link.fill('javascript://x');
    await page.getByText('Must begin with https:// and a host').waitFor();
    await look(page, 'push-template-problem');
    await link.fill('myapp://u/{{user.id}}');
    await page.getByText('myapp://u/ada').waitFor();

    // A test before it is saved.
    await page.getByLabel('User with the devices').fill('us');
    await page.getByRole('button', { name: 'Send a test' }).click();
    await page.getByText('The provider took it.').waitFor();
    expect(expo.received.findLast(({ to }) => to === OURS)).toMatchObject({
      title: '[Test] Ada, we miss you',
      body: 'Hi ada',
      data: { url: 'myapp://u/ada' },
    });
    await look(page, 'push-template');
    await says(page, 'The template is saved.', () => page.getByRole('button', { name: 'Save' }).click());
    const { pushTemplates } = (await laurel.admin.get('/v1/configuration')).body.messages;
    expect(pushTemplates).toContainEqual({
      kind: 'reactivation',
      title: '{{user.name|Hello}}, we miss you',
      body: 'Hi {{user.id}}',
      url: 'myapp://u/{{user.id}}',
    });
    await link.fill('');
    await page.getByRole('button', { name: 'Save' }).click();
    const links = async () => (await laurel.admin.get('/v1/configuration')).body.messages.pushTemplates[2].url;
    await expect.poll(links).toBe(undefined);

    await at('/messages/push-channels');
    await page.getByRole('button', { name: 'Delete: APNs' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('button', { name: 'Set up: APNs' }).waitFor();
    expect({ errors, elsewhere }).toEqual({ errors: [], elsewhere: [] });
  });

  test('a provider over HTTP is entered and tested, and its reports get an address', async () => {
    const { page, errors, elsewhere, at } = await signedInPage(browser, laurel);
    await at('/messages/channel');
    await page.getByRole('button', { name: 'Provider over HTTP' }).click();
    await page.getByLabel('URL').fill('https://api.example.com/v1/send');
    await page.getByRole('button', { name: 'Add: Secret headers' }).click();
    await page.getByLabel('Secret headers: name').fill('Authorization');
    await page.getByLabel('Sender’s address').fill('hello@example.com');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByText('Enter the value of Authorization.').waitFor();
    await page.getByLabel('Secret headers: value of Authorization').fill('Bearer s3cret');
    const body = page.getByLabel('Body of a request');
    const begun = await body.inputValue();
    await body.fill('{"to": "{{to}}"}');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByText('It must contain {{subject}}.').waitFor();
    await body.fill(begun);
    await page.getByRole('button', { name: 'Add a rule' }).click();
    await page.getByLabel('Statuses').fill('422');
    await page.getByLabel('If this field of the answer').fill('/error/code');
    await page.getByLabel('is one of').fill('invalid_recipient, unknown_user');
    await look(page, 'http-channel-new');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('button', { name: 'Save' }).waitFor();
    const stored = async () => (await laurel.admin.get('/v1/messages/channel')).body;
    expect(await stored()).toMatchObject({
      transport: 'http',
      http: {
        url: 'https://api.example.com/v1/send',
        secretHeaders: { Authorization: null },
        answers: [
          {
            statuses: [422],
            field: '/error/code',
            values: ['invalid_recipient', 'unknown_user'],
            outcome: 'bad_address',
          },
        ],
      },
    });

    // Another URL needs the secrets again; everything else stays.
    const { port } = provider.address() as AddressInfo;
    await page.getByLabel('URL').fill('https://other.example.com/');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.locator('[data-field=secretHeaders]').getByRole('alert').waitFor();
    await page.getByLabel('Secret headers: value of Authorization').fill('Bearer other');
    await page.getByRole('button', { name: 'Save' }).click();
    await expect.poll(async () => (await stored()).http.url).toBe('https://other.example.com/');
    await laurel.pool.query(`UPDATE message_channels SET http = jsonb_set(http, '{url}', to_jsonb($1::text))`, [
      `http://127.0.0.1:${port}/send`,
    ]);
    await page.getByLabel('Send a test e-mail to').fill('you@example.com');
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByText('The mail server refused the address.').waitFor();
    expect(posted[0]).toMatchObject({
      headers: { authorization: 'Bearer other' },
      body: { to: 'you@example.com', subject: 'Test of the e-mail channel' },
    });

    await page.getByRole('button', { name: 'Create the address' }).click();
    const address = page.getByText('https://laurel.example/v1/messages/feedback/');
    const first = await address.textContent();
    await look(page, 'http-channel');
    await page.getByRole('button', { name: 'Replace' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Replace' }).click();
    await expect.poll(() => address.textContent()).not.toBe(first);
    await page.getByText('Shape of the provider’s reports').click();
    const shape = page.getByLabel('Where a report has what');
    await shape.fill((await shape.inputValue()).replace('"/reason"', '"/why"'));
    await says(page, 'The shape is saved.', () => page.getByRole('button', { name: 'Save' }).last().click());
    expect((await laurel.admin.get('/v1/messages/feedback')).body.format.reason).toBe('/why');

    // From a provider to a mail server: the sender stays.
    await page.getByRole('button', { name: 'Mail server', exact: true }).click();
    await page.getByLabel('Mail server', { exact: true }).fill('smtp.example.com');
    await page.getByRole('button', { name: 'Save' }).first().click();
    await expect.poll(stored).toMatchObject({
      transport: 'smtp',
      host: 'smtp.example.com',
      port: 587,
      senderAddress: 'hello@example.com',
    });
    expect({ errors, elsewhere }).toEqual({ errors: [], elsewhere: [] });
  });

  test('a channel that fails needs attention, and says what to do', async () => {
    await laurel.pool.query(
      `UPDATE push_channels SET failures = 7, failing_since = now() - interval '1 hour',
              failing_reason = 'Expo answered 401 UNAUTHORIZED' WHERE provider = 'expo'`,
    );
    const { page, at } = await signedInPage(browser, laurel);
    await at('/');
    const card = page.locator('section').filter({ has: page.getByRole('heading', { name: 'Needs attention' }) });
    await card.getByText('Messages by expo fail').waitFor();
    await look(page, 'attention-channel');
    await card.getByRole('link', { name: /by expo/ }).click();
    await page.getByText('Expo: the last 7 attempts failed: Expo answered 401 UNAUTHORIZED.').waitFor();
    await page.getByText('The provider refused the credentials.').waitFor();
    await page.getByRole('link', { name: 'Open the push channels' }).waitFor();
    await look(page, 'messages-failing');
    await page.getByRole('link', { name: 'Open the push channels' }).click();
    await page.getByRole('button', { name: 'Edit: Expo' }).waitFor();
    await expect.poll(() => new URL(page.url()).pathname).toBe('/console/messages/push-channels');
  });

  test('show a read-only administrator everything, and no control that changes something', async () => {
    const { body } = await laurel.admin.post('/v1/admin-api-keys', [{ name: 'Looks', access: 'read' }]);
    const { page, at } = await signedInPage(browser, laurel, { key: body.created[0].key });
    await at('/messages/push-channels');
    await page.getByRole('button', { name: 'Copy: Public VAPID key' }).waitFor();
    for (const name of [/^Set up/, /^Edit/, /^Delete/, /^Send a test/])
      await expect.poll(() => page.getByRole('button', { name }).count()).toBe(0);
    await at('/messages/channel');
    await expect.poll(() => page.getByLabel('Sender’s address').inputValue()).toBe('hello@example.com');
    await expect
      .poll(() => page.getByRole('button', { name: /^(Add|Remove|Replace|Show the address)/ }).count())
      .toBe(0);
    await at('/messages/push/recap/all');
    await page.getByLabel('As this user gets it').fill('ada');
    await page.getByRole('figure', { name: 'The notification on a phone' }).waitFor();
    await expect.poll(() => page.getByRole('button', { name: /^(Save|Send a test|Delete)$/ }).count()).toBe(0);
  });
});
