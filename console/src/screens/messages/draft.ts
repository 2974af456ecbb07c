/** A template that is being edited. */
// oxlint-disable-next-line no-restricted-imports -- the rules of templates, as the API checks them
import { type MessageTemplate, templateProblems } from '../../../../src/domain/notifications/message-template.ts';
// oxlint-disable-next-line no-restricted-imports -- likewise
import { type PushTemplate, pushTemplateProblems } from '../../../../src/domain/notifications/push-template.ts';
import { Problem } from '../../api/answer.ts';
import { applySettings, readSettings, sameLocale, type Settings } from './queries.ts';
import type { Kind, Medium } from './words.ts';

const PARTS = { email: ['subject', 'html', 'text'], push: ['title', 'body', 'url'] } as const;

export type Part<M extends Medium = Medium> = (typeof PARTS)[M][number];

/** The texts by part; empty: none. */
export type Draft<M extends Medium = Medium> = Readonly<Record<Part<M>, string>>;

export interface Place<M extends Medium = Medium> {
  medium: M;
  kind: Kind;
  /** `undefined`: for all users without a language of their own. */
  locale: string | undefined;
}

type Texts = Readonly<Partial<Record<Part, string>>>;
/** A template of any medium. */
export type StoredTemplate = Texts & { kind: Kind; locale?: string };

const LISTS = { email: 'templates', push: 'pushTemplates' } as const;

export const templatesOf = (settings: Settings, medium: Medium): readonly StoredTemplate[] => settings[LISTS[medium]];

export const templateAt = (settings: Settings, { medium, kind, locale }: Place): StoredTemplate | undefined =>
  templatesOf(settings, medium).find((template) => template.kind === kind && sameLocale(template.locale, locale));

export const draftOf = <M extends Medium>(medium: M, template: Texts): Draft<M> =>
  Object.fromEntries(PARTS[medium].map((part) => [part, template[part] ?? ''])) as Draft<M>;

/** A draft as the API takes it: without a link that is empty. */
export const sentOf = (draft: Draft): MessageTemplate & PushTemplate =>
  Object.fromEntries(Object.entries(draft).filter(([part, text]) => part !== 'url' || text !== '')) as never;

export const isSame = (one: Draft | undefined, other: Draft | undefined): boolean =>
  JSON.stringify(one) === JSON.stringify(other);

/** The problems of a draft by part, as sentences. */
export function problemsOf(
  draft: Draft,
  { medium, kind }: Pick<Place, 'medium' | 'kind'>,
  attributeKeys: readonly string[],
): Partial<Record<Part, string>> {
  const of = { kind, attributeKeys: new Set(attributeKeys) };
  const sent = sentOf(draft);
  const found = medium === 'email' ? templateProblems(sent, of) : pushTemplateProblems(sent, of);
  const problems: Partial<Record<Part, string>> = {};
  for (const { field, text } of found) {
    const sentence = `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
    problems[field] = problems[field] === undefined ? sentence : `${problems[field]} ${sentence}`;
  }
  return problems;
}

/** The part of the settings with a template that is new, changed or, as `null`, left out. */
export function settingsWith(settings: Settings, place: Place, draft: Draft | null): Partial<Settings> {
  const { medium, kind, locale } = place;
  const stored = templateAt(settings, place);
  const changed: StoredTemplate[] =
    draft === null
      ? []
      : [{ kind, ...(locale !== undefined && { locale: stored?.locale ?? locale }), ...sentOf(draft) }];
  const before = templatesOf(settings, medium);
  const list =
    stored === undefined
      ? [...before, ...changed]
      : before.flatMap((template) => (template === stored ? changed : [template]));
  return { [LISTS[medium]]: list };
}

/**
 * Stores a template, or deletes it if `draft` is `null`. The list of templates is applied as a whole, so it is read again; a
 * template that somebody else changed since `before` was read is refused.
 */
export async function saveTemplate(place: Place, draft: Draft | null, before: Draft | undefined): Promise<void> {
  const present = await readSettings();
  const stored = templateAt(present, place);
  if (!isSame(stored && draftOf(place.medium, stored), before))
    throw new Problem(
      409,
      'Somebody else changed this template since you opened it. Copy your texts, and load the page again.',
    );
  await applySettings(settingsWith(present, place, draft));
}
