/**
 * Templates of messages: subject, text and HTML with variables, `{{user.name}}` or `{{user.name|there}}`. A variable without
 * a value becomes its fallback. Values come from end users, so each part inserts them so that they stay text: a subject
 * cannot gain a header, HTML no element or attribute, and a link no other host.
 */
import { htmlProblems, rendersHtml, shown } from './message-html.ts';
import { attributeOf, isVariable, type MessageFigures, type MessageKind, valueOf } from './message-variables.ts';

export interface MessageTemplate {
  subject: string;
  text: string;
  html: string;
}

export interface TemplateProblem {
  field: keyof MessageTemplate;
  text: string;
}

/** Limits of a template, in UTF-16 units. */
export const MOST_TEMPLATE = { subject: 255, text: 20_000, html: 100_000 } as const;

/** A name, and a fallback after `|`, which has no braces. */
export const VARIABLE = /\{\{([^{}|]*)(?:\|([^{}]*))?\}\}/g;

/** Characters that end a line of a header, or have no place in text. */
// oxlint-disable-next-line no-control-regex -- they are removed
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029]/g;

export const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').replaceAll(CONTROL, '').trim();

/** The problems of a template, by field. `attributeKeys`: keys of the tenant's user attributes. */
export function templateProblems(
  template: MessageTemplate,
  of: { kind: MessageKind; attributeKeys: ReadonlySet<string> },
): TemplateProblem[] {
  const problems: TemplateProblem[] = [];
  for (const field of ['subject', 'text', 'html'] as const) {
    const source = template[field];
    const add = (text: string): number => problems.push({ field, text });
    if (source.trim() === '') add('must not be empty');
    if (source.length > MOST_TEMPLATE[field]) add(`may have at most ${MOST_TEMPLATE[field]} characters`);
    for (const text of variableProblems(source, of)) add(text);
  }
  if (/[\r\n]/.test(template.subject)) problems.push({ field: 'subject', text: 'must be one line' });
  if (!template.text.includes('{{unsubscribeUrl}}'))
    problems.push({ field: 'text', text: 'must contain {{unsubscribeUrl}}' });
  if (!template.html.includes('{{unsubscribeUrl}}'))
    problems.push({ field: 'html', text: 'must contain {{unsubscribeUrl}}' });
  return [...problems, ...htmlProblems(template.html).map((text) => ({ field: 'html' as const, text }))];
}

/** The problems of a source's variables. */
export function variableProblems(
  source: string,
  { kind, attributeKeys }: { kind: MessageKind; attributeKeys: ReadonlySet<string> },
): string[] {
  const unknown = [...source.matchAll(VARIABLE)].flatMap(([, name = '']) =>
    isVariable(name.trim(), kind, attributeKeys) ? [] : [`${shown(name.trim())} is no variable of ${kind}`],
  );
  const isOpen = /\{\{|\}\}/.test(source.replaceAll(VARIABLE, ''));
  return isOpen ? [...unknown, "has '{{' or '}}' that belongs to no variable"] : unknown;
}

/** Keys of the user attributes that a template has as variables. */
export const attributesIn = ({ subject, text, html }: MessageTemplate): ReadonlySet<string> =>
  attributesOf([subject, text, html]);

/** Keys of the user attributes that are variables of some sources. */
export const attributesOf = (sources: readonly string[]): ReadonlySet<string> =>
  new Set(
    sources.flatMap((source) =>
      [...source.matchAll(VARIABLE)].flatMap(([, name = '']) => attributeOf(name.trim()) ?? []),
    ),
  );

type Insert = (value: string) => string;

/**
 * Creates a function that replaces the variables of a source by what `insert` makes of each value. It does so once for each variable,
 * because a template may repeat a long value thousands of times.
 */
export function variableReplacer(figures: MessageFigures): (source: string, insert: Insert) => string {
  const inserted = new Map<Insert, Map<string, string>>();
  return (source, insert) => {
    let known = inserted.get(insert);
    if (known === undefined) inserted.set(insert, (known = new Map<string, string>()));
    return source.replaceAll(VARIABLE, (variable, name: string, fallback: string | undefined) => {
      let text = known.get(variable);
      if (text === undefined) {
        const value = valueOf(name.trim(), figures).replaceAll(CONTROL, '');
        text = insert(value === '' ? (fallback ?? '') : value);
        known.set(variable, text);
      }
      return text;
    });
  };
}

export const unchanged: Insert = (value) => value;

/** A message for a user. The template must have no problems. Pure. */
export function renderMessage(template: MessageTemplate, figures: MessageFigures): MessageTemplate {
  const replace = variableReplacer(figures);
  return {
    subject: oneLine(replace(template.subject, oneLine)),
    text: replace(template.text, unchanged),
    html: rendersHtml(template.html, replace),
  };
}
