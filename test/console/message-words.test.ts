import { describe, expect, test } from 'vitest';
import { templateProblems } from '../../src/domain/notifications/message-template.ts';
import { MESSAGE_KINDS, variablesOf } from '../../src/domain/notifications/message-variables.ts';
import { checksOf } from '../../console/src/screens/messages/checks.ts';
import { buttonHtml, PLACEHOLDER_URL, starterOf, textOf } from '../../console/src/screens/messages/starters.ts';
import { adviceOn, KIND_NAMES, statusWords, testWords, VARIABLES } from '../../console/src/screens/messages/words.ts';

const LOOK = { appName: 'Study', appUrl: 'https://study.example/app?a=1&b=2', brandColor: '#22704f' };

describe('a template to begin with', () => {
  test.each(MESSAGE_KINDS)('is accepted unchanged, with any branding: %s', (kind) => {
    for (const look of [
      LOOK,
      { appName: '', appUrl: '', brandColor: '' },
      { appName: '{{user.secret}} <b>"&', appUrl: 'https://{{user.id}}.example/"><script>', brandColor: 'url(//x)' },
      { appName: 'A', appUrl: 'javascript:alert(1)', brandColor: '#fff;background:url(//x)' },
    ])
      expect(templateProblems(starterOf(kind, look), { kind, attributeKeys: new Set() })).toEqual([]);
  });

  test('has the address, colour and name of the app', () => {
    const { html, text } = starterOf('recap', LOOK);
    expect(html).toContain('href="https://study.example/app?a=1&amp;b=2"');
    expect(html).toContain('background:#22704f;color:#ffffff');
    expect(text).toContain('See my progress: https://study.example/app?a=1&b=2');
    expect(html).toContain('Study · ');
    expect(starterOf('recap', { ...LOOK, appUrl: 'http://study.example' }).html).toContain(PLACEHOLDER_URL);
    // Dark letters on a light button.
    expect(buttonHtml('Go', { ...LOOK, brandColor: '#ffee00' })).toContain('color:#111827');
  });

  test('has the text of its HTML', () => {
    for (const kind of MESSAGE_KINDS) {
      const { html, text } = starterOf(kind, LOOK);
      expect(textOf(html).replaceAll(/\s+/g, ' ')).toBe(text.replaceAll(/\s+/g, ' '));
    }
  });
});

test('the text of HTML has links with their addresses, a line for each block, and no tags', () => {
  expect(
    textOf(
      '<h1>Hi</h1>\n<p>a<br>b &lt;c&gt;</p><ul><li>one</li><li>two</li></ul><img src="https://x.example/a.png" alt="A cup">' +
        '<p><a style="color:red" href="https://x.example/?a=1&amp;b=2"><b>Go</b></a> <a href="https://y.example">https://y.example</a></p>',
    ),
  ).toBe('Hi\n\na\nb <c>\n\n- one\n- two\n\nA cup\n\nGo: https://x.example/?a=1&b=2 https://y.example');
});

test('every kind and variable has words', () => {
  expect(KIND_NAMES).toEqual(expect.arrayContaining([...MESSAGE_KINDS]));
  for (const kind of MESSAGE_KINDS)
    expect(variablesOf(kind).filter((name) => VARIABLES[name] === undefined)).toEqual([]);
});

test('a status or outcome that the console does not know is shown by its name', () => {
  expect(statusWords('read')).toMatchObject({ text: 'read', tone: 'plain' });
  expect(testWords('deferred', null)).toEqual({ hasWorked: false, text: 'deferred', advice: '' });
});

test.each([
  ['535 5.7.8 Authentication failed', 'refused the login'],
  ['Invalid login: 535 Incorrect', 'refused the login'],
  ['connect ECONNREFUSED 192.0.2.1:587', 'does not answer'],
  ['the attempt took too long', 'does not answer'],
  ['getaddrinfo ENOTFOUND smtp.exmaple.com', 'no mail server of this name'],
  ["Hostname/IP does not match certificate's altnames", 'encryption failed'],
  ['553 5.7.1 Sender address rejected: not owned by user', 'does not accept the sender'],
  ['the address is not public (WEBHOOK_ALLOW_PRIVATE=1 allows it)', 'public address'],
])('advises on %s', (reason, advice) => {
  expect(adviceOn(reason)).toContain(advice);
});

test('nothing is advised on an answer that is not understood', () => {
  expect(adviceOn('452 Mailbox full')).toBe(null);
  expect(adviceOn(null)).toBe(null);
});

describe('the status', () => {
  const template = { kind: 'streak_reminder' as const, subject: 's', html: 'h', text: 't' };
  const GOOD: Parameters<typeof checksOf>[0] = {
    channel: { enabled: true },
    readiness: { publicUrl: 'https://x.example', hasSecretsKey: true, opensPassword: true },
    settings: {
      templates: MESSAGE_KINDS.map((kind) => ({ ...template, kind })),
      localeAttribute: null,
      quietHours: null,
      emailsPerDay: 3,
      pushTemplates: [],
      unsubscribePages: [],
      pushesPerDay: 3,
      trackOpens: false,
      trackClicks: false,
    },
    waiting: [],
  };
  const found = (changed: Partial<typeof GOOD>) =>
    checksOf({ ...GOOD, ...changed }).map(({ state, text }) => `${state}: ${text}`);

  test('has nothing to say when all is there', () => expect(found({})).toEqual([]));

  test.each([
    [{ channel: null }, 'missing: There is no mail server.'],
    [{ channel: { enabled: false } }, 'missing: The channel is switched off.'],
    [{ readiness: { ...GOOD.readiness, publicUrl: null } }, 'missing: The installation has no PUBLIC_URL.'],
    [
      { readiness: { ...GOOD.readiness, hasSecretsKey: false, opensPassword: false } },
      'missing: The installation has no SECRETS_KEY.',
    ],
    [
      { readiness: { ...GOOD.readiness, hasSecretsKey: false, opensPassword: null } },
      'warn: The installation has no SECRETS_KEY.',
    ],
    [{ readiness: { ...GOOD.readiness, opensPassword: false } }, 'missing: The stored password cannot be decrypted.'],
    [{ settings: { ...GOOD.settings, templates: [] } }, 'missing: There are no templates.'],
    [
      { settings: { ...GOOD.settings, templates: GOOD.settings.templates.slice(0, 2) } },
      'warn: Without a template: Reactivation, Recap.',
    ],
  ])('names what is missing: %#', (changed, expected) => expect(found(changed)).toEqual([expected]));

  test.each([
    ['22:00', '07:30', false],
    ['20:00', '23:59', false],
    ['19:00', '07:30', true],
    ['20:01', '20:00', false],
    ['00:00', '20:00', false],
  ])('warns of quiet hours in which reminders become too late: %s to %s', (from, to, isWarned) =>
    expect(found({ settings: { ...GOOD.settings, quietHours: { from, to } } })).toEqual(
      isWarned ? ['warn: Daily streak reminders are not sent.'] : [],
    ),
  );

  test('reports e-mails that failed and wait, but not of those that wait for quiet hours to end', () => {
    const message = {
      id: '1',
      userId: 'a',
      kind: 'recap',
      status: 'waiting',
      at: '',
      nextTry: null,
      finished: null,
      reported: null,
      opened: null,
      clicked: null,
      unsubscribed: null,
      medium: 'email',
    } as const;
    expect(found({ waiting: [{ ...message, tries: 0, reason: 'quiet hours' }] })).toEqual([]);
    expect(found({ waiting: [{ ...message, tries: 2, reason: '421 Busy' }] })).toEqual([
      'warn: 1 e-mail failed and will be tried again: 421 Busy.',
    ]);
  });
});
