/** The choice of a template by the locale of its reader. */
import { comparableLocale, type MessageKind } from './message-variables.ts';

/** The value of the user's attribute with the locale, which may be anything. `payload`: the notification's, with the user. */
export function localeOfUser(
  { localeAttribute }: { localeAttribute: string | null },
  payload: Readonly<Record<string, unknown>>,
): unknown {
  const { attributes } = (payload.user ?? {}) as { attributes?: Readonly<Record<string, unknown>> };
  return localeAttribute === null ? undefined : attributes?.[localeAttribute];
}

/**
 * The template of a kind: of the first locale that has one, else of a shorter one (`pt` for `pt-BR`), else the one without a
 * locale. `null` if there is none.
 * @param locales most important first; what is not a locale is skipped
 */
export function localTemplate<T extends { kind: MessageKind; locale?: string }>(
  templates: readonly T[],
  kind: MessageKind,
  locales: readonly unknown[],
): T | null {
  const ofKind = templates.filter((template) => template.kind === kind);
  for (const value of locales) {
    const parts = typeof value === 'string' && value.length <= 255 ? comparableLocale(value).split('-') : [];
    for (let length = parts.length; length > 0; length -= 1) {
      const locale = parts.slice(0, length).join('-');
      const match = ofKind.find(
        (template) => template.locale !== undefined && comparableLocale(template.locale) === locale,
      );
      if (match !== undefined) return match;
    }
  }
  return ofKind.find(({ locale }) => locale === undefined) ?? null;
}
