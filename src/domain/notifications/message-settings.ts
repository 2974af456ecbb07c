/** A tenant's settings of the e-mails and push notifications that Laurel sends itself: the section `messages` of the configuration document. */
import { type Static, Type } from 'typebox';
import { defaultsOf, field, objectOf } from '../fields/field.ts';
import { Nullable } from '../schemas.ts';
import { UserId } from '../user.ts';
import { localeOfUser, localTemplate } from './local-template.ts';
import { attributesIn, type MessageTemplate, MOST_TEMPLATE, templateProblems } from './message-template.ts';
import { comparableLocale, LOCALE_PATTERN, MESSAGE_KINDS, type MessageKind } from './message-variables.ts';
import { attributesInPush, PushTemplate, pushTemplateProblems } from './push-template.ts';
import type { QuietHours } from './quiet-hours.ts';
import { unsubscribeProblems, UnsubscribeTexts } from './unsubscribe-page.ts';

/** Limits of a tenant's templates: their number, and the characters of all (UTF-16 units). Every process holds them. */
export const MOST_TEMPLATES = 100;
export const MOST_CHARACTERS = 500_000;

const MinuteOfDay = Type.String({ pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$', examples: ['22:00'] });

const source = (name: keyof MessageTemplate, description: string) =>
  Type.String({ description, maxLength: MOST_TEMPLATE[name] });

export const KindTemplate = Type.Object({
  kind: Type.Enum([...MESSAGE_KINDS], { description: 'The kind of e-mail, as in the users’ preferences.' }),
  locale: Type.Optional(
    Type.String({
      pattern: LOCALE_PATTERN,
      description:
        'The users’ locale, such as `de` or `pt-BR`. Absent: for users without a template of their own locale.',
      examples: ['de'],
    }),
  ),
  subject: source('subject', 'The subject, one line with variables.'),
  html: source('html', 'The HTML with variables.'),
  text: source('text', 'The text for readers without HTML, with variables.'),
});
export type KindTemplate = Static<typeof KindTemplate>;

/** `kind` and `locale`: as for e-mails. */
export const KindPushTemplate = Type.Object({
  kind: Type.Enum([...MESSAGE_KINDS], { description: 'The kind of push notification, as in the users’ preferences.' }),
  locale: KindTemplate.properties.locale,
  ...PushTemplate.properties,
});
export type KindPushTemplate = Static<typeof KindPushTemplate>;

export const KindUnsubscribePage = Type.Object({
  kind: Type.Enum([...MESSAGE_KINDS], { description: 'The kind of e-mail that the page ends.' }),
  locale: Type.Optional(
    Type.String({
      pattern: LOCALE_PATTERN,
      description: 'The locale of the user or of the browser, such as `de` or `pt-BR`. Absent: for all others.',
      examples: ['de'],
    }),
  ),
  ...UnsubscribeTexts.properties,
});
export type KindUnsubscribePage = Static<typeof KindUnsubscribePage>;

const Draft = Type.Pick(KindTemplate, ['subject', 'html', 'text']);

export const MessagePreviewRequest = Type.Object({
  userId: UserId,
  kind: KindTemplate.properties.kind,
  template: Type.Optional(Draft),
});
export type MessagePreviewRequest = Static<typeof MessagePreviewRequest>;

/** `locale`: that of the template; `null` for the one without a locale, and for the request's template. */
export const MessagePreview = Type.Object({ locale: Nullable(Type.String()), ...Draft.properties });
export type MessagePreview = Static<typeof MessagePreview>;

export const PushPreviewRequest = Type.Object({
  userId: UserId,
  kind: KindPushTemplate.properties.kind,
  template: Type.Optional(PushTemplate),
});
export type PushPreviewRequest = Static<typeof PushPreviewRequest>;

/** `locale`: as for e-mails. */
export const PushPreview = Type.Object({
  locale: Nullable(Type.String()),
  title: Type.String({ description: 'The title.' }),
  body: Type.String({ description: 'The text.' }),
  url: Nullable(Type.String(), { description: 'What a tap opens; null: the app.' }),
});
export type PushPreview = Static<typeof PushPreview>;

export const UnsubscribePreviewRequest = Type.Object({
  userId: UserId,
  kind: KindUnsubscribePage.properties.kind,
  page: Type.Optional(UnsubscribeTexts),
});
export type UnsubscribePreviewRequest = Static<typeof UnsubscribePreviewRequest>;

/** `locale`: as for e-mails; of a built-in text, its language. */
export const UnsubscribePreview = Type.Object({
  locale: Nullable(Type.String()),
  question: Type.String({ description: 'The HTML of the page that asks.' }),
  done: Type.String({ description: 'The HTML of the page after the button was pressed.' }),
});
export type UnsubscribePreview = Static<typeof UnsubscribePreview>;

const MESSAGES = {
  templates: field(Type.Array(KindTemplate, { maxItems: MOST_TEMPLATES }), {
    label: 'Templates',
    description: 'The templates, by kind and locale. Laurel sends no e-mails of a kind without a template.',
    default: [],
  }),
  pushTemplates: field(Type.Array(KindPushTemplate, { maxItems: MOST_TEMPLATES }), {
    label: 'Push templates',
    description:
      'The templates of push notifications, by kind and locale. Laurel sends none of a kind without a template.',
    default: [],
  }),
  unsubscribePages: field(Type.Array(KindUnsubscribePage, { maxItems: MOST_TEMPLATES }), {
    label: 'Pages to unsubscribe',
    description:
      'Texts of the page that links to unsubscribe lead to, by kind and locale. A kind without a fitting page has built-in texts.',
    default: [],
  }),
  localeAttribute: field(Type.String({ minLength: 1, maxLength: 255 }), {
    label: 'Attribute with the locale',
    description:
      'Key of the user attribute whose value is the user’s locale; null: templates with a locale are not used.',
    clearable: true,
    default: null,
    example: 'locale',
  }),
  quietHours: field(
    Type.Object({
      from: { ...MinuteOfDay, description: 'When they begin, `HH:MM`.' },
      to: { ...MinuteOfDay, description: 'When they end, `HH:MM`; may be on the next day.' },
    }),
    {
      label: 'Quiet hours',
      description:
        'Hours of the day, in the user’s time zone, in which no e-mail and no push notification is sent; null: none.',
      clearable: true,
      default: null,
    },
  ),
  emailsPerDay: field(Type.Integer({ minimum: 1, maximum: 100 }), {
    label: 'E-mails a day',
    description: 'The most e-mails that a user gets on a local day.',
    default: 3,
  }),
  pushesPerDay: field(Type.Integer({ minimum: 1, maximum: 100 }), {
    label: 'Push notifications a day',
    description: 'The most push notifications that a user gets on a local day, each on all devices.',
    default: 3,
  }),
  trackOpens: field(Type.Boolean(), {
    label: 'Record opens',
    description:
      'Whether it is recorded when a user opens a message: e-mails get an invisible picture, and apps report push notifications.',
    default: false,
  }),
  trackClicks: field(Type.Boolean(), {
    label: 'Record clicks',
    description: 'Whether it is recorded when a user follows a link in an e-mail: links lead through PUBLIC_URL.',
    default: false,
  }),
} as const;

export const MessageSettings = objectOf(MESSAGES);
export type MessageSettings = Static<typeof MessageSettings>;

export const DEFAULT_MESSAGE_SETTINGS: MessageSettings = {
  ...defaultsOf(MESSAGES),
  templates: [],
  pushTemplates: [],
  unsubscribePages: [],
};

const minuteOf = (time: string): number => Number(time.slice(0, 2)) * 60 + Number(time.slice(3));

/** The quiet hours in minutes; `null` if there are none. */
export const quietHoursOf = ({ quietHours }: MessageSettings): QuietHours | null =>
  quietHours === null ? null : { from: minuteOf(quietHours.from), to: minuteOf(quietHours.to) };

/** The template of an e-mail for a user; see `localTemplate`. */
export const templateFor = (
  settings: MessageSettings,
  kind: MessageKind,
  payload: Readonly<Record<string, unknown>>,
): KindTemplate | null => localTemplate(settings.templates, kind, [localeOfUser(settings, payload)]);

/** The template of a push notification for a user; see `localTemplate`. */
export const pushTemplateFor = (
  settings: MessageSettings,
  kind: MessageKind,
  payload: Readonly<Record<string, unknown>>,
): KindPushTemplate | null => localTemplate(settings.pushTemplates, kind, [localeOfUser(settings, payload)]);

/** Whether a template has a user attribute as a variable, or the locale is in it. */
export const namesAttribute = ({ templates, pushTemplates, localeAttribute }: MessageSettings, key: string): boolean =>
  localeAttribute === key ||
  templates.some((template) => attributesIn(template).has(key)) ||
  pushTemplates.some((template) => attributesInPush(template).has(key));

/** The kinds among some templates. */
export const kindsOf = (templates: readonly { kind: MessageKind }[]): ReadonlySet<MessageKind> =>
  new Set(templates.map(({ kind }) => kind));

/** A violated rule. `field`: its path in the settings, such as `templates[2].html`. */
export interface MessageProblem {
  field: string;
  text: string;
}

/** The problems of settings. `attributeKeys`: keys of the tenant's user attributes. O(characters of the templates). */
export function messageProblems(
  { templates, pushTemplates, unsubscribePages, localeAttribute, quietHours }: MessageSettings,
  attributeKeys: ReadonlySet<string>,
): MessageProblem[] {
  const characters = templates.reduce(
    (sum, { subject, text, html }) => sum + subject.length + text.length + html.length,
    0,
  );
  if (characters > MOST_CHARACTERS) {
    const most = MOST_CHARACTERS.toLocaleString('en-US');
    return [{ field: 'templates', text: `have ${characters} characters, and may have ${most} in all` }];
  }
  const problems: MessageProblem[] = [];
  if (localeAttribute !== null && !attributeKeys.has(localeAttribute))
    problems.push({ field: 'localeAttribute', text: `there is no user attribute '${localeAttribute}'` });
  if (quietHours !== null && quietHours.from === quietHours.to)
    problems.push({ field: 'quietHours.to', text: "must differ from 'from'" });
  for (const [index, { kind, locale: _, ...template }] of templates.entries())
    for (const { field: name, text } of templateProblems(template, { kind, attributeKeys }))
      problems.push({ field: `templates[${index}].${name}`, text });
  for (const [index, { kind, locale: _, ...template }] of pushTemplates.entries())
    for (const { field: name, text } of pushTemplateProblems(template, { kind, attributeKeys }))
      problems.push({ field: `pushTemplates[${index}].${name}`, text });
  for (const [index, { kind: _, locale: __, ...texts }] of unsubscribePages.entries())
    for (const { field: name, text } of unsubscribeProblems(texts))
      problems.push({ field: `unsubscribePages[${index}].${name}`, text });
  problems.push(...localeProblems('templates', templates, localeAttribute));
  problems.push(...localeProblems('pushTemplates', pushTemplates, localeAttribute));
  problems.push(...repeatedLocales('unsubscribePages', unsubscribePages, 'page'));
  return problems;
}

/** The problems of the kinds and locales of some templates: each pair once, and each kind without a locale. */
function localeProblems(
  list: string,
  templates: readonly { kind: MessageKind; locale?: string }[],
  localeAttribute: string | null,
): MessageProblem[] {
  const problems = repeatedLocales(list, templates, 'template');
  const general = new Set(templates.flatMap(({ kind, locale }) => (locale === undefined ? [kind] : [])));
  for (const [index, { kind, locale }] of templates.entries()) {
    const add = (text: string): number => problems.push({ field: `${list}[${index}].locale`, text });
    if (!general.has(kind)) add(`${kind} also needs a template without a locale, for other users`);
    if (locale !== undefined && localeAttribute === null)
      add('needs localeAttribute, the user attribute with the locale');
  }
  return problems;
}

/** A problem for each pair of kind and locale that an earlier item has. `noun`: what the items are. */
function repeatedLocales(
  list: string,
  items: readonly { kind: MessageKind; locale?: string }[],
  noun: string,
): MessageProblem[] {
  const seen = new Set<string>();
  return items.flatMap(({ kind, locale }, index) => {
    const name = `${kind} ${locale === undefined ? '' : comparableLocale(locale)}`;
    if (seen.has(name))
      return [{ field: `${list}[${index}].locale`, text: `${kind} has another ${noun} for this locale` }];
    seen.add(name);
    return [];
  });
}
