import { beforeAll, describe, expect, test } from 'vitest';
import type { MessageTemplate } from '../../../../src/domain/notifications/message-template.ts';
import { startLaurel } from '../../../laurel.ts';
import { opened } from '../../../stack/opened.ts';

const PATH = '/v1/messages/preview';
const LINK = '<a href="{{unsubscribeUrl}}">Stop</a>';

const laurel = opened(() => startLaurel({ testClock: true, workers: true }));
beforeAll(async () => {
  const { admin, app } = laurel;
  // A Wednesday.
  await admin.put('/v1/clock', { now: '2044-02-24T12:00:00.000Z' });
  const template = (kind: string, about: string) => ({
    kind,
    subject: `${about} for {{user.name|you}}`,
    html: `<p>${about}</p>${LINK}`,
    text: `${about} {{unsubscribeUrl}}`,
  });
  const { status, body } = await admin.put('/v1/configuration', {
    attributes: [{ key: 'language', name: 'Language', type: 'user' }],
    metrics: [{ key: 'flips', name: 'Flips' }],
    achievements: [
      { key: 'one', name: 'First flip', trigger: 'metric', metricKey: 'flips', metricValue: 1, status: 'active' },
      { key: 'two', name: 'Two <flips>', trigger: 'metric', metricKey: 'flips', metricValue: 2, status: 'active' },
    ],
    streaks: { frequency: 'daily' },
    messages: {
      localeAttribute: 'language',
      templates: [
        template('streak_reminder', '{{streak.length}} days'),
        { ...template('streak_reminder', '{{streak.length}} Tage'), locale: 'de' },
        template('achievement_completed', '{{achievement.name}}'),
        template('recap', '{{recap.periodStart}} to {{recap.periodEnd}}'),
      ],
    },
  });
  if (status !== 200) throw new Error(JSON.stringify(body));
  const send = (user: object) => app.post('/v1/metrics/flips/event', { user, value: 1 });
  await send({ id: 'ada', name: 'Ada', attributes: { language: 'de-AT' } });
  await admin.put('/v1/clock', { now: '2044-02-25T12:00:00.000Z' });
  await send({ id: 'ada' });
  await send({ id: 'bob' });
  await app.put('/v1/users/idle', { name: '<Idle>' });
});

const preview = async (userId: string, kind: string, template?: Partial<MessageTemplate>) =>
  laurel.admin.post(PATH, { userId, kind, ...(template && { template }) });

describe('a preview', () => {
  test('has the figures of the user and the template of the locale', async () => {
    expect(await preview('ada', 'streak_reminder')).toMatchObject({
      status: 200,
      body: {
        locale: 'de',
        subject: '2 Tage for Ada',
        html: '<p>2 Tage</p><a href="https://example.org/unsubscribe">Stop</a>',
        text: '2 Tage https://example.org/unsubscribe',
      },
    });
    expect((await preview('bob', 'streak_reminder')).body).toMatchObject({ locale: null, subject: '1 days for you' });
    expect((await preview('idle', 'streak_reminder')).body).toMatchObject({ subject: '0 days for <Idle>' });
    const { body } = await preview('ada', 'achievement_completed');
    expect(body).toMatchObject({ subject: 'Two <flips> for Ada', html: expect.stringContaining('Two &lt;flips&gt;') });
    expect((await preview('bob', 'recap')).body.subject).toBe('2044-02-18 to 2044-02-24 for you');
  });

  test('renders a draft, and refuses one with problems', async () => {
    const draft = {
      subject: 'Come back, {{user.name}}',
      html: `{{reactivation.daysSinceLastActive}} days${LINK}`,
      text: '{{reactivation.messageNumber}}: {{unsubscribeUrl}}',
    };
    expect((await preview('ada', 'reactivation', draft)).body).toEqual({
      locale: null,
      subject: 'Come back, Ada',
      html: '3 days<a href="https://example.org/unsubscribe">Stop</a>',
      text: '1: https://example.org/unsubscribe',
    });
    const refused = await preview('ada', 'reactivation', { ...draft, html: '<script>', text: '{{streak.length}}' });
    expect(refused.status).toBe(422);
    expect(refused.body.error).toBe(
      "template.text: 'streak.length' is no variable of reactivation; template.text: must contain {{unsubscribeUrl}}; " +
        "template.html: must contain {{unsubscribeUrl}}; template.html: must not have the element 'script'",
    );
    const long = { ...draft, html: `${'"'.repeat(99_000)}${LINK}` };
    expect((await preview('ada', 'reactivation', long)).status).toBe(200);
    const tooLong = await preview('ada', 'reactivation', { ...draft, html: 'x'.repeat(100_001) });
    expect([tooLong.status, tooLong.body.error]).toEqual([400, expect.stringContaining('template.html')]);
  });

  test('says why there is none', async () => {
    const reason = async (...of: Parameters<typeof preview>) => {
      const { status, body } = await preview(...of);
      return [status, body.error];
    };
    expect(await reason('nobody', 'recap')).toEqual([404, expect.stringContaining("'nobody'")]);
    expect(await reason('ada', 'reactivation')).toEqual([404, 'There is no template of the kind reactivation.']);
    expect(await reason('idle', 'achievement_completed')).toEqual([
      422,
      'userId: the user has completed no achievement yet; choose another one',
    ]);
    expect(await reason('ada', 'party')).toEqual([400, expect.stringContaining('kind')]);
    expect(await reason('ada', 'recap', {})).toEqual([400, expect.stringContaining('subject')]);
  });
});

describe('a preview of the page to unsubscribe', () => {
  const shown = (body: object) => laurel.admin.post(`${PATH}/unsubscribe`, body);

  test('has the built-in texts of the user’s language, or a draft', async () => {
    const { body } = await shown({ userId: 'ada', kind: 'recap' });
    expect(body).toEqual({
      locale: 'de',
      question: expect.stringContaining('<html lang="de">'),
      done: expect.stringContaining('schickt dir keine E-Mails mit deinem Rückblick mehr.'),
    });
    expect(body.question).toContain('<form method="post">');
    expect(body.done).not.toContain('<form');
    expect((await shown({ userId: 'bob', kind: 'recap' })).body.locale).toBe('en');
    const page = { title: 'Stop', question: '<b>?</b>', button: 'Yes', doneTitle: 'Done', done: 'Bye' };
    const draft = await shown({ userId: 'ada', kind: 'recap', page });
    expect(draft.body).toMatchObject({
      locale: null,
      question: expect.stringContaining('<p>&lt;b&gt;?&lt;/b&gt;</p>'),
    });
    expect((await shown({ userId: 'ada', kind: 'recap', page: { ...page, done: '{{user.name}}' } })).body.error).toBe(
      'page.done: must not have variables',
    );
    expect((await shown({ userId: 'ada', kind: 'recap', page: { ...page, title: 'x'.repeat(151) } })).status).toBe(400);
    expect((await shown({ userId: 'nobody', kind: 'recap' })).status).toBe(404);
  });
});

test('the document names the field of a wrong template, and refuses characters that Postgres does not store', async () => {
  const put = async (messages: object) => {
    const { status, body } = await laurel.admin.put('/v1/configuration', { messages });
    return [status, body.error];
  };
  const template = { kind: 'recap', subject: 'S', html: LINK, text: '{{unsubscribeUrl}}' };
  expect(await put({ templates: [template, { ...template, kind: 'party' }] })).toEqual([
    400,
    expect.stringContaining('messages.templates[1].kind'),
  ]);
  expect(await put({ templates: [{ ...template, locale: 'x' }] })).toEqual([
    400,
    expect.stringContaining('messages.templates[0].locale'),
  ]);
  expect(await put({ templates: [{ ...template, colour: 'red' }] })).toEqual([400, expect.stringContaining('colour')]);
  expect(await put({ quietHours: { from: '24:00', to: '07:00' } })).toEqual([
    400,
    expect.stringContaining('messages.quietHours.from'),
  ]);
  expect(await put({ emailsPerDay: 0 })).toEqual([400, expect.stringContaining('messages.emailsPerDay')]);
  for (const character of ['\0', '\uD800']) {
    const [status] = await put({ templates: [{ ...template, text: `${character} {{unsubscribeUrl}}` }] });
    expect(status).toBeLessThan(500);
  }
});
