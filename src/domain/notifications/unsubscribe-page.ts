/** The page that links to unsubscribe lead to: its texts, and its HTML. Texts have no variables and no HTML. */
import { type Static, Type } from 'typebox';
import { escapeHtml } from './message-html.ts';

const text = (maxLength: number, description: string) => Type.String({ maxLength, description });

export const UnsubscribeTexts = Type.Object({
  title: text(150, 'The heading of the page that asks, such as `Unsubscribe`.'),
  question: text(1_000, 'What the page asks, above the button.'),
  button: text(100, 'The label of the button.'),
  doneTitle: text(150, 'The heading after the button was pressed.'),
  done: text(1_000, 'What the page says after the button was pressed.'),
});
export type UnsubscribeTexts = Static<typeof UnsubscribeTexts>;

/** The problems of a page's texts, by field. Their lengths are the schema's. */
export const unsubscribeProblems = (texts: UnsubscribeTexts): { field: keyof UnsubscribeTexts; text: string }[] =>
  (Object.keys(UnsubscribeTexts.properties) as (keyof UnsubscribeTexts)[]).flatMap((field) => {
    if (texts[field].trim() === '') return [{ field, text: 'must not be empty' }];
    return /\{\{|\}\}/.test(texts[field]) ? [{ field, text: 'must not have variables' }] : [];
  });

/** The HTML of a page of which the texts are known. It loads and runs nothing. `form`: HTML below the text. */
export const textPage = (
  locale: string | undefined,
  { title, text, form = '' }: { title: string; text: string; form?: string },
): string => `<!DOCTYPE html>
<html${locale === undefined ? '' : ` lang="${escapeHtml(locale)}"`}>
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark"><title>${escapeHtml(title)}</title></head>
<body dir="auto"><h1>${escapeHtml(title)}</h1><p>${escapeHtml(text)}</p>${form}</body>
</html>
`;

/** Both states of the page, as HTML. */
export interface RenderedUnsubscribePage {
  question: string;
  done: string;
}

export const renderUnsubscribePage = (texts: UnsubscribeTexts & { locale?: string }): RenderedUnsubscribePage => ({
  question: textPage(texts.locale, {
    title: texts.title,
    text: texts.question,
    form: `<form method="post"><button type="submit" name="List-Unsubscribe" value="One-Click">${escapeHtml(texts.button)}</button></form>`,
  }),
  done: textPage(texts.locale, { title: texts.doneTitle, text: texts.done }),
});
