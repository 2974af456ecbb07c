/**
 * Templates of push notifications: title, body and link with the variables of e-mails, in plain text. Values come from end
 * users, so a link inserts them so that they can change neither its scheme nor its host.
 */
import { type Static, Type } from 'typebox';
import { shown } from './message-html.ts';
import { attributesOf, oneLine, unchanged, variableProblems, variableReplacer, VARIABLE } from './message-template.ts';
import type { MessageKind } from './message-variables.ts';

/** Limits of a template, in UTF-16 units. */
const MOST = { title: 150, body: 1_000, url: 500 } as const;
/** Limits of a rendered message, in UTF-8 bytes. Providers accept about 4,000 bytes in all. */
const MOST_BYTES = { title: 400, body: 1_600, url: 1_000 } as const;

export const PushTemplate = Type.Object({
  title: Type.String({ maxLength: MOST.title, description: 'The title, one line with variables.' }),
  body: Type.String({ maxLength: MOST.body, description: 'The text with variables.' }),
  url: Type.Optional(
    Type.String({
      maxLength: MOST.url,
      description:
        'What a tap opens, with variables: an `https://` link, or one of the app (`myapp://`). Absent: the app.',
      examples: ['https://app.example.com/streak'],
    }),
  ),
});
export type PushTemplate = Static<typeof PushTemplate>;

export interface PushTemplateProblem {
  field: keyof PushTemplate;
  text: string;
}

/** The host ends before the first variable. */
const HTTPS = /^https:\/\/[a-z0-9.-]+(?::\d+)?(?:[/?#]|$)/i;
/** A link of an app: its scheme is the app's own, which the operating system hands to it. */
const APP = /^([a-z][a-z0-9+.-]*):\/\/[^\s{}]*/i;
const REFUSED_SCHEMES = new Set('http ftp ws wss file data blob javascript vbscript about intent content'.split(' '));

const isLink = (url: string): boolean => {
  if (/\s/.test(url.replaceAll(VARIABLE, ''))) return false;
  const scheme = APP.exec(url)?.[1]?.toLowerCase();
  return HTTPS.test(url) || (scheme !== undefined && scheme !== 'https' && !REFUSED_SCHEMES.has(scheme));
};

/** The problems of a template, by field. `attributeKeys`: keys of the tenant's user attributes. */
export function pushTemplateProblems(
  template: PushTemplate,
  of: { kind: MessageKind; attributeKeys: ReadonlySet<string> },
): PushTemplateProblem[] {
  const problems: PushTemplateProblem[] = [];
  for (const field of ['title', 'body', 'url'] as const) {
    const source = template[field];
    if (source === undefined) continue;
    const add = (text: string): number => problems.push({ field, text });
    if (source.trim() === '') add('must not be empty');
    if (source.length > MOST[field]) add(`may have at most ${MOST[field]} characters`);
    for (const text of variableProblems(source, of)) add(text);
    // It would end e-mails, and users end push notifications in the app.
    if (/\{\{\s*unsubscribeUrl\b/.test(source)) add(`${shown('unsubscribeUrl')} is no variable of push notifications`);
  }
  if (/[\r\n]/.test(template.title)) problems.push({ field: 'title', text: 'must be one line' });
  if (template.url !== undefined && template.url.trim() !== '' && !isLink(template.url))
    problems.push({
      field: 'url',
      text: "must begin with https:// and a host without variables, or with the scheme of an app ('myapp://')",
    });
  return problems;
}

/** Keys of the user attributes that a template has as variables. */
export const attributesInPush = ({ title, body, url = '' }: PushTemplate): ReadonlySet<string> =>
  attributesOf([title, body, url]);

/** A push notification as a device shows it. `url`: `null` opens the app. */
export interface RenderedPush {
  title: string;
  body: string;
  url: string | null;
}

/** A message for a user. The template must have no problems. Long values are cut; a link that gets too long is left out. Pure. */
export function renderPush(template: PushTemplate, payload: Readonly<Record<string, unknown>>): RenderedPush {
  const replace = variableReplacer({ payload, unsubscribeUrl: '' });
  const url = template.url === undefined ? null : replace(template.url, encoded);
  return {
    title: cut(oneLine(replace(template.title, oneLine)), MOST_BYTES.title),
    body: cut(replace(template.body, unchanged).trim(), MOST_BYTES.body),
    url: url !== null && byteLength(url) <= MOST_BYTES.url ? url : null,
  };
}

/** Unpaired surrogates have no encoding. */
const encoded = (value: string): string => encodeURIComponent(value.replaceAll(/\p{Surrogate}/gu, '\uFFFD'));

const ENCODER = new TextEncoder();
/** Bytes in UTF-8. Browsers, which check templates too, have no `Buffer`. */
const byteLength = (text: string): number => ENCODER.encode(text).length;

/** The text, or its beginning and `…` if it has more bytes. */
function cut(text: string, mostBytes: number): string {
  if (byteLength(text) <= mostBytes) return text;
  let bytes = byteLength('…');
  let end = 0;
  for (const character of text) {
    bytes += byteLength(character);
    if (bytes > mostBytes) break;
    end += character.length;
  }
  return `${text.slice(0, end).trimEnd()}…`;
}
