import { expect, test } from 'vitest';
import {
  DEFAULT_MESSAGE_SETTINGS,
  type KindUnsubscribePage,
} from '../../../src/domain/notifications/message-settings.ts';
import { MESSAGE_KINDS } from '../../../src/domain/notifications/message-variables.ts';
import { renderUnsubscribePage } from '../../../src/domain/notifications/unsubscribe-page.ts';
import { KNOWN_LANGUAGES, builtInTexts } from '../../../src/domain/notifications/unsubscribe-texts.ts';
import {
  invalidLinkPage,
  preferredLanguage,
  unsubscribeTextsFor,
} from '../../../src/engine/messages/unsubscribe-pages.ts';

const own = (locale?: string): KindUnsubscribePage => ({
  kind: 'recap',
  ...(locale !== undefined && { locale }),
  title: `Title ${locale}`,
  question: 'Really?',
  button: 'Yes',
  doneTitle: 'Done',
  done: 'Bye',
});

test.each<[own: (string | undefined)[], user: unknown, browser: string, title: string]>([
  // Built-in texts
  [[], undefined, '', 'Unsubscribe'],
  [[], 'de-AT', 'fr', 'Abbestellen'],
  [[], 'xx', 'fr-CA', 'Se désabonner'],
  [[], 'en', 'fr', 'Unsubscribe'],
  [[], 7, 'constructor', 'Unsubscribe'],
  // The tenant's texts
  [['de', 'pt-BR', undefined], 'de_at', 'pt-BR', 'Title de'],
  [['de', 'pt-BR', undefined], 'fr', 'pt-BR', 'Title pt-BR'],
  [['de', 'pt-BR', undefined], 'fr', 'fr', 'Title undefined'],
  // Texts in one language only leave the others to the built-in ones.
  [['de'], 'fr', '', 'Se désabonner'],
])('of the pages %j, a user with %j and a browser with %j gets %j', (locales, user, language, title) => {
  const settings = { ...DEFAULT_MESSAGE_SETTINGS, localeAttribute: 'locale', unsubscribePages: locales.map(own) };
  const payload = { user: { attributes: { locale: user } } };
  expect(unsubscribeTextsFor(settings, { kind: 'recap', payload, language, appName: 'App' }).title).toBe(title);
});

test('a page of another kind is not shown, and the attribute counts only if the settings name it', () => {
  const settings = { ...DEFAULT_MESSAGE_SETTINGS, unsubscribePages: [own()] };
  const payload = { user: { attributes: { locale: 'de' } } };
  const of = (kind: 'recap' | 'reactivation') =>
    unsubscribeTextsFor(settings, { kind, payload, language: '', appName: 'App' }).title;
  expect([of('recap'), of('reactivation')]).toEqual(['Title undefined', 'Unsubscribe']);
});

test('built-in texts name the app and the kind in every language', () => {
  for (const language of KNOWN_LANGUAGES) {
    const pages = MESSAGE_KINDS.map((kind) => builtInTexts(language, kind, "$& 'App' {kind}"));
    expect(new Set(pages.map(({ question }) => question)).size).toBe(MESSAGE_KINDS.length);
    expect(new Set(pages.map(({ done }) => done)).size).toBe(MESSAGE_KINDS.length);
    for (const { question, done } of pages)
      for (const text of [question, done]) expect(text.replace("$& 'App' {kind}", '')).not.toMatch(/[{}]/);
  }
});

test('every text and the language are escaped', () => {
  const evil = `"><script>alert('&')</script>`;
  const texts = { title: evil, question: evil, button: evil, doneTitle: evil, done: evil, locale: evil };
  const { question, done } = renderUnsubscribePage(texts);
  expect(question.match(/&quot;&gt;&lt;script&gt;alert\(&#39;&amp;&#39;\)&lt;\/script&gt;/g)).toHaveLength(5);
  expect(done.match(/&quot;&gt;&lt;script&gt;/g)).toHaveLength(4);
  expect(`${question}${done}`).not.toContain('<script');
});

test('the language of a browser is the first of its list', () => {
  expect(['de-CH,de;q=0.9,en;q=0.8', ' fr ; q=1', '', '*', ';'].map(preferredLanguage)).toEqual([
    'de-CH',
    'fr',
    '',
    '*',
    '',
  ]);
  expect(invalidLinkPage('pl-PL')).toContain('<html lang="pl">');
  expect(invalidLinkPage('"<')).toContain('This link is not valid');
});
