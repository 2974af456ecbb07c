/** Chooses the texts of the page that links to unsubscribe lead to. */
import { localeOfUser, localTemplate } from '../../domain/notifications/local-template.ts';
import type { MessageSettings } from '../../domain/notifications/message-settings.ts';
import { comparableLocale, type MessageKind } from '../../domain/notifications/message-variables.ts';
import { textPage, type UnsubscribeTexts } from '../../domain/notifications/unsubscribe-page.ts';
import {
  builtInTexts,
  invalidLinkTexts,
  KNOWN_LANGUAGES,
  type KnownLanguage,
} from '../../domain/notifications/unsubscribe-texts.ts';

/** The language that a browser prefers, from its header `Accept-Language`; `''` if it sent none. */
export const preferredLanguage = (acceptLanguage: string): string => /^[^,;]*/.exec(acceptLanguage)![0].trim();

/**
 * The texts for a visitor: the tenant's in the user's locale, else in the browser's language, else those without a locale. A tenant
 * that has none of the kind gets the built-in ones, in English if they do not exist in either language. Pure.
 * @param visitor.payload `user`, if the user exists
 */
export function unsubscribeTextsFor(
  settings: MessageSettings,
  visitor: { kind: MessageKind; payload: Readonly<Record<string, unknown>>; language: string; appName: string },
): UnsubscribeTexts & { locale?: string } {
  const { kind, payload, language, appName } = visitor;
  const locales = [localeOfUser(settings, payload), language];
  const known = knownLanguage(locales);
  return (
    localTemplate(settings.unsubscribePages, kind, locales) ?? { locale: known, ...builtInTexts(known, kind, appName) }
  );
}

const knownLanguage = (locales: readonly unknown[]): KnownLanguage => {
  const languages = locales.map((locale) => (typeof locale === 'string' ? comparableLocale(locale).split('-')[0] : ''));
  const known = languages.map((language) => KNOWN_LANGUAGES.find((one) => one === language));
  return known.find((language) => language !== undefined) ?? 'en';
};

/** The HTML for a link that nobody signed. */
export function invalidLinkPage(language: string): string {
  const known = knownLanguage([language]);
  return textPage(known, invalidLinkTexts(known));
}
