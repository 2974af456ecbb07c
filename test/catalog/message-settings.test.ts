import { beforeEach, describe, expect, test } from 'vitest';
import { createConfigurationStore, type ConfigurationStore } from '../../src/catalog/configuration/store.ts';
import { deleteUnreferred } from '../../src/catalog/resource-edits.ts';
import { createResources } from '../../src/catalog/resources.ts';
import { FixedClock } from '../../src/clock.ts';
import type { Configuration } from '../../src/domain/configuration.ts';
import {
  DEFAULT_MESSAGE_SETTINGS,
  type KindTemplate,
  MOST_CHARACTERS,
  type MessageSettings,
  quietHoursOf,
  templateFor,
} from '../../src/domain/notifications/message-settings.ts';
import { readMessageSettings } from '../../src/postgres/notifications/message-settings.ts';
import { testDatabase } from '../postgres/database.ts';
import { opened } from '../stack/opened.ts';

const clock = new FixedClock(Date.UTC(2026, 2, 1, 12));
const WHO = { who: 'adm_test' };
let store: ConfigurationStore;

const database = opened(() => testDatabase({ redis: false }));
beforeEach(async () => {
  await database.pool.query(
    `TRUNCATE catalog_resources, audit_log CASCADE;
     UPDATE tenants SET catalog_version = 0, next_no = 1, streaks = NULL, event_settings = NULL,
            message_settings = NULL, message_kinds = '{}', push_kinds = '{}', messages_updated = NULL`,
  );
  store = createConfigurationStore({ pool: database.pool, announce: async () => undefined, clock });
});

const template = (changes: Partial<KindTemplate> = {}): KindTemplate => ({
  kind: 'recap',
  subject: 'Your week',
  html: '<p>Hello</p><a href="{{unsubscribeUrl}}">Stop</a>',
  text: 'Hello {{unsubscribeUrl}}',
  ...changes,
});
const LANGUAGE = { key: 'language', type: 'user' as const, name: 'Language' };
const IN_GERMAN: Configuration = {
  attributes: [LANGUAGE],
  messages: {
    templates: [template(), template({ locale: 'de', subject: 'Deine Woche' })],
    localeAttribute: 'language',
    quietHours: { from: '22:00', to: '07:30' },
  },
};
const apply = (document: Configuration): ReturnType<ConfigurationStore['apply']> => store.apply(0, document, WHO);
const settingsOf = (messages: Partial<MessageSettings>): MessageSettings => ({
  ...DEFAULT_MESSAGE_SETTINGS,
  ...messages,
});

describe('a document', () => {
  test('stores, completes and shows the settings', async () => {
    expect(await readMessageSettings(database.pool, 0)).toBeNull();
    await apply(IN_GERMAN);
    await apply({ messages: { emailsPerDay: 1 } });
    const stored = { ...DEFAULT_MESSAGE_SETTINGS, ...IN_GERMAN.messages, emailsPerDay: 1 };
    expect((await store.read(0)).messages).toEqual(stored);
    const settings = await readMessageSettings(database.pool, 0);
    expect(settings).toEqual(stored);
    expect(quietHoursOf(settings!)).toEqual({ from: 1_320, to: 450 });
    expect((await apply(await store.read(0))).changes).toEqual([]);
    await apply({ messages: { templates: [] } });
    expect(await readMessageSettings(database.pool, 0)).toBeNull();
  });

  test('stores push templates by themselves, and checks and shows each', async () => {
    const push = { kind: 'recap', title: 'Your week', body: '{{user.name|Look}}' } as const;
    const { changes } = await apply({ messages: { pushTemplates: [push] } });
    expect(changes).toEqual([{ action: 'create', kind: 'push_template', name: 'recap' }]);
    expect((await readMessageSettings(database.pool, 0))?.pushTemplates).toEqual([push]);
    const { rows } = await database.pool.query('SELECT message_kinds, push_kinds FROM tenants WHERE no = 0');
    expect(rows).toEqual([{ message_kinds: [], push_kinds: ['recap'] }]);
    const bad = apply({ messages: { pushTemplates: [push, { ...push, url: 'http://a.example' }] } });
    await expect(bad).rejects.toThrow(/messages\.pushTemplates\[1\]\.(url|locale)/);
  });

  test('stores pages to unsubscribe, also without templates, and shows the change', async () => {
    const page = {
      kind: 'recap',
      title: 'Stop',
      question: 'Really?',
      button: 'Yes',
      doneTitle: 'Done',
      done: 'Bye',
    } as const;
    const unsubscribePages = [page, { ...page, locale: 'de', title: 'Abbestellen' }];
    const { changes } = await apply({ messages: { unsubscribePages } });
    expect(changes).toEqual([
      expect.objectContaining({ kind: 'messages', fields: ['unsubscribePages'], after: { unsubscribePages } }),
    ]);
    expect((await store.read(0)).messages).toEqual({ ...DEFAULT_MESSAGE_SETTINGS, unsubscribePages });
    expect((await apply(await store.read(0))).changes).toEqual([]);
    const refused = async (changed: object) =>
      apply({ messages: { unsubscribePages: [page, { ...page, locale: 'de', ...changed }] } });
    await expect(refused({ locale: undefined })).rejects.toThrow(
      'messages.unsubscribePages[1].locale: recap has another page for this locale',
    );
    await expect(refused({ question: ' ' })).rejects.toThrow(
      'messages.unsubscribePages[1].question: must not be empty',
    );
    await expect(refused({ done: 'Bye {{user.name}}' })).rejects.toThrow(
      'messages.unsubscribePages[1].done: must not have variables',
    );
  });

  test('shows each template that it changes, and records only short texts in the audit log', async () => {
    const long = `<p>${'x'.repeat(10_000)}</p><a href="{{unsubscribeUrl}}">Stop</a>`;
    const { changes: first } = await apply(IN_GERMAN);
    expect(first.slice(1)).toEqual([
      { action: 'create', kind: 'message_template', name: 'recap' },
      { action: 'create', kind: 'message_template', name: 'recap de' },
      {
        action: 'update',
        kind: 'messages',
        name: 'messages',
        fields: ['localeAttribute', 'quietHours'],
        before: { localeAttribute: null, quietHours: null },
        after: { localeAttribute: 'language', quietHours: { from: '22:00', to: '07:30' } },
      },
    ]);
    const templates = [template({ html: long, subject: 'A week' }), template({ kind: 'reactivation' })];
    const { changes } = await apply({ messages: { templates } });
    expect(changes).toEqual([
      {
        action: 'update',
        kind: 'message_template',
        name: 'recap',
        fields: ['subject', 'html'],
        before: { subject: 'Your week', html: template().html },
        after: { subject: 'A week', html: long },
      },
      { action: 'create', kind: 'message_template', name: 'reactivation' },
      { action: 'delete', kind: 'message_template', name: 'recap de' },
    ]);
    const { rows } = await database.pool.query(
      `SELECT action, name, before, after FROM audit_log WHERE version = 2 ORDER BY no`,
    );
    expect(rows[0]).toEqual({
      action: 'update',
      name: 'recap',
      before: { subject: 'Your week', html: template().html },
      after: null,
    });
    // The order is the document's.
    const { changes: turned } = await apply({ messages: { templates: templates.toReversed() } });
    expect(turned).toEqual([
      { action: 'update', kind: 'messages', name: 'messages', fields: ['templates'], before: {}, after: {} },
    ]);
  });

  test('of an earlier version has its settings, also after versions that changed other settings', async () => {
    const documents: Configuration[] = [
      IN_GERMAN,
      { events: { lateEventDays: 3 } },
      { messages: { templates: [template()], localeAttribute: null } },
      { streaks: { frequency: 'weekly' } },
      { messages: { templates: [], quietHours: null }, attributes: [] },
      { events: { lateEventDays: 4 } },
    ];
    const read = new Map<number, unknown>();
    for (const document of documents) read.set((await apply(document)).version, await store.read(0));
    expect(read.size).toBe(documents.length);
    for (const [version, document] of read) expect(await store.readVersion(0, version)).toEqual(document);
    await apply(await store.readVersion(0, 2));
    expect(await store.read(0)).toEqual(read.get(2));
    // Settings that stay are not stored with each version.
    const { rows } = await database.pool.query(
      'SELECT until_version AS version FROM catalog_versions WHERE id IS NULL AND messages IS NOT NULL ORDER BY 1',
    );
    expect(rows.map(({ version }) => version)).toEqual([1, 3, 5, 7]);
  });
});

describe('refuses', () => {
  const problem = async (messages: Configuration['messages'], attributes = [LANGUAGE]): Promise<string> => {
    const { message } = await apply({ attributes, ...(messages && { messages }) }).then(
      () => ({ message: 'accepted' }),
      (error: Error) => error,
    );
    expect((await store.read(0)).messages.templates).toEqual([]);
    return message;
  };
  const other = template({ kind: 'reactivation' });

  test.each<[string, Configuration['messages']]>([
    [
      "messages.templates[1].html: must not have the element 'script'",
      { templates: [other, template({ html: '<script>x</script>{{unsubscribeUrl}}' })] },
    ],
    [
      "messages.templates[0].subject: 'user.attributes.city' is no variable of recap",
      { templates: [template({ subject: '{{user.attributes.city}}' })] },
    ],
    [
      "messages.templates[0].text: 'streak.length' is no variable of recap",
      { templates: [template({ text: '{{streak.length}} {{unsubscribeUrl}}' })] },
    ],
    [
      'messages.templates[2].locale: recap has another template for this locale',
      {
        templates: [template(), template({ locale: 'pt-BR' }), template({ locale: 'pt-br' })],
        localeAttribute: 'language',
      },
    ],
    [
      'messages.templates[0].locale: recap also needs a template without a locale, for other users',
      { templates: [template({ locale: 'de' })], localeAttribute: 'language' },
    ],
    [
      'messages.templates[1].locale: needs localeAttribute, the user attribute with the locale',
      { templates: [template(), template({ locale: 'de' })] },
    ],
    ["messages.localeAttribute: there is no user attribute 'tongue'", { localeAttribute: 'tongue' }],
    ["messages.quietHours.to: must differ from 'from'", { quietHours: { from: '22:00', to: '22:00' } }],
    [
      `messages.templates: have ${6 * 95_031} characters, and may have ${MOST_CHARACTERS.toLocaleString('en-US')} in all`,
      {
        templates: Array.from({ length: 6 }, () =>
          template({ subject: 'S'.repeat(7), html: 'x'.repeat(95_000), text: template().text }),
        ),
      },
    ],
  ])('%s', async (text, messages) => expect(await problem(messages)).toBe(text));

  test('a user attribute that templates name is not deleted', async () => {
    await apply(IN_GERMAN);
    await expect(apply({ attributes: [] })).rejects.toThrow(
      "messages.localeAttribute: there is no user attribute 'language'",
    );
    await apply({
      attributes: [LANGUAGE, { key: 'city', type: 'user', name: 'City' }],
      messages: { templates: [template({ text: '{{ user.attributes.city|there }} {{unsubscribeUrl}}' })] },
    });
    await expect(apply({ attributes: [LANGUAGE] })).rejects.toThrow(
      "messages.templates[0].text: 'user.attributes.city' is no variable of recap",
    );
    const resources = createResources({ pool: database.pool, announce: async () => undefined, clock });
    const left = await resources.edit(0, WHO, async (draft) => {
      const ids = draft.catalog.attributes.map(({ id }) => id);
      return [...(await deleteUnreferred(draft, 'attribute', ids)).values()];
    });
    const inUse = 'In use by the settings of messages: change or delete them first';
    expect(left.result).toEqual([inUse, inUse]);
  });
});

test('the template of a user is that of the locale, else of its language, else the one without a locale', () => {
  const settings = settingsOf({
    localeAttribute: 'language',
    templates: [
      template(),
      template({ locale: 'de', subject: 'de' }),
      template({ locale: 'pt-BR', subject: 'pt-BR' }),
      template({ locale: 'pt', subject: 'pt' }),
    ],
  });
  const subjectFor = (language: unknown, changes: Partial<MessageSettings> = {}): string | undefined =>
    templateFor({ ...settings, ...changes }, 'recap', { user: { attributes: { language } } })?.subject;
  expect(['de', 'de-AT', 'DE_ch', ' de ', 'pt_br', 'pt-PT', 'pt-BR-x'].map((one) => subjectFor(one))).toEqual([
    'de',
    'de',
    'de',
    'de',
    'pt-BR',
    'pt',
    'pt-BR',
  ]);
  for (const unknown of ['fr', '', 'd', undefined, null, 3, '-'.repeat(500)])
    expect(subjectFor(unknown)).toBe('Your week');
  expect(subjectFor('de', { localeAttribute: null })).toBe('Your week');
  expect(templateFor(settings, 'reactivation', { user: { attributes: { language: 'de' } } })).toBeNull();
  expect(templateFor(settings, 'recap', {})?.subject).toBe('Your week');
});
