/** A template that is being edited. */
// oxlint-disable-next-line no-restricted-imports -- the rules of templates, as the API checks them
import { type MessageTemplate, templateProblems } from '../../../../src/domain/notifications/message-template.ts';
import { Problem } from '../../api/answer.ts';
import { applySettings, readSettings, sameLocale, type Settings, type Template } from './queries.ts';
import type { Kind } from './words.ts';

export type Draft = MessageTemplate;
export type Part = keyof Draft;

export interface Place {
  kind: Kind;
  /** `undefined`: for all users without a language of their own. */
  locale: string | undefined;
}

export const templateAt = ({ templates }: Settings, { kind, locale }: Place): Template | undefined =>
  templates.find((template) => template.kind === kind && sameLocale(template.locale, locale));

export const draftOf = ({ subject, html, text }: Draft): Draft => ({ subject, html, text });

export const isSame = (one: Draft | undefined, other: Draft | undefined): boolean =>
  one?.subject === other?.subject && one?.html === other?.html && one?.text === other?.text;

/** The problems of a draft by part, as sentences. */
export function problemsOf(draft: Draft, kind: Kind, attributeKeys: readonly string[]): Partial<Record<Part, string>> {
  const problems: Partial<Record<Part, string>> = {};
  for (const { field, text } of templateProblems(draft, { kind, attributeKeys: new Set(attributeKeys) })) {
    const sentence = `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
    problems[field] = problems[field] === undefined ? sentence : `${problems[field]} ${sentence}`;
  }
  return problems;
}

/** The templates with one that is new, changed or, as `null`, left out. */
export function templatesWith(settings: Settings, place: Place, draft: Draft | null): Template[] {
  const { kind, locale } = place;
  const stored = templateAt(settings, place);
  const changed: Template[] =
    draft === null ? [] : [{ kind, ...(locale !== undefined && { locale: stored?.locale ?? locale }), ...draft }];
  if (stored === undefined) return [...settings.templates, ...changed];
  return settings.templates.flatMap((template) => (template === stored ? changed : [template]));
}

/**
 * Stores a template, or deletes it if `draft` is `null`. The list of templates is applied as a whole, so it is read again; a
 * template that somebody else changed since `before` was read is refused.
 */
export async function saveTemplate(place: Place, draft: Draft | null, before: Draft | undefined): Promise<void> {
  const present = await readSettings();
  if (!isSame(templateAt(present, place), before))
    throw new Problem(
      409,
      'Somebody else changed this template since you opened it. Copy your texts, and load the page again.',
    );
  await applySettings({ templates: templatesWith(present, place, draft) });
}
