/**
 * The HTML of message templates. Administrators write it, and users' values are inserted, so it is a small part of HTML: no
 * active elements, and variables only between tags and in the quoted attributes below. A link begins with a literal
 * `https://` and host, or is a variable that is a whole URL.
 */
import { URL_VARIABLES } from './message-variables.ts';

/**
 * A tag; quoted attribute values may contain `>`. Takes linear time although a match may begin at each `<`: a quote is a
 * permutation of the three states (outside quotes, in either kind of quote), so two beginnings never reach the same state, and
 * one that is outside of quotes ends at the next `<`. At most two can therefore go on beyond it.
 */
export const TAG = /<(?:[^"'<>]|"[^"]*"|'[^']*')*>/g;
export const TAG_NAME = /^<\/?([a-z][a-z0-9]*)(?=[\s/>])/i;
export const ATTRIBUTE = /\s([^\s"'<>/=]+)\s*=\s*("[^"]*"|'[^']*')/g;
const WHOLE_VARIABLE = /^\{\{([^{}|]*)\}\}$/;
/** The host ends before the first variable. */
const HTTPS_HOST = /^https:\/\/[a-z0-9.-]+(?::\d+)?(?:[/?#]|$)/i;

const REFUSED = new Set(
  'script style iframe frame frameset object embed applet form input button select textarea base meta link svg math template noscript video audio source portal'.split(
    ' ',
  ),
);
const LINKS = new Set(['href', 'src']);
/** Attributes besides links in which variables are allowed. */
const TEXTS = new Set(['alt', 'title']);
/** Attributes that would be a link, or code. */
const REFUSED_ATTRIBUTE = /^(on|xml|xlink|formaction$|action$|srcset$|background$|poster$|ping$|srcdoc$|data$|cite$)/;

/** A name of the template in a message, quoted. */
export const shown = (name: string): string => (name.length <= 60 ? `'${name}'` : `'${name.slice(0, 60)}…'`);

const hasVariable = (text: string): boolean => text.includes('{{');

function attributeProblem(name: string, value: string): string | null {
  if (REFUSED_ATTRIBUTE.test(name)) return `must not have the attribute ${shown(name)}`;
  if (name === 'style' && /url|expression|import|\\/i.test(value)) return 'must not load anything in a style';
  if (!LINKS.has(name)) {
    return hasVariable(value) && !TEXTS.has(name) ? `must not have a variable in the attribute ${shown(name)}` : null;
  }
  const variable = WHOLE_VARIABLE.exec(value)?.[1]?.trim();
  if (variable !== undefined) {
    return URL_VARIABLES.has(variable) ? null : `${shown(variable)} is not a URL and cannot be a whole '${name}'`;
  }
  return HTTPS_HOST.test(value) ? null : `'${name}' must begin with https:// and a host without variables`;
}

function tagProblems(tag: string): string[] {
  const name = TAG_NAME.exec(tag)?.[1]?.toLowerCase();
  if (name === undefined) return ['must not have comments, declarations or malformed tags'];
  if (REFUSED.has(name)) return [`must not have the element '${name}'`];
  const problems = [...tag.matchAll(ATTRIBUTE)].flatMap(
    ([, attribute = '', value = '']) => attributeProblem(attribute.toLowerCase(), value.slice(1, -1)) ?? [],
  );
  // What is left are the name and attributes without a value.
  const rest = tag.replaceAll(ATTRIBUTE, '');
  if (/["'={]/.test(rest)) problems.push(`must quote the attributes of ${shown(name)} and separate them by spaces`);
  return problems;
}

/** The problems of a template's HTML. */
export function htmlProblems(html: string): string[] {
  const problems = [...new Set(html.match(TAG))].flatMap(tagProblems);
  if (html.replaceAll(TAG, '').includes('<')) problems.push("has a '<' that begins no tag; write '&lt;'");
  return [...new Set(problems)];
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

export const escapeHtml = (text: string): string => text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character]!);

/** Unpaired surrogates have no encoding. */
const encoded = (value: string): string =>
  escapeHtml(encodeURIComponent(value.replaceAll(/\p{Surrogate}/gu, '\uFFFD')));

const httpsUrl = (value: string): string =>
  URL.canParse(value) && new URL(value).protocol === 'https:' ? escapeHtml(new URL(value).href) : '';

type Replace = (source: string, insert: (value: string) => string) => string;

/** The HTML with each value escaped for its place. `replace` replaces the variables of a part. */
export function rendersHtml(html: string, replace: Replace): string {
  let rendered = '';
  let end = 0;
  for (const { 0: tag, index } of html.matchAll(TAG)) {
    rendered += replace(html.slice(end, index), escapeHtml);
    rendered += hasVariable(tag) ? renderedTag(tag, replace) : tag;
    end = index + tag.length;
  }
  return rendered + replace(html.slice(end), escapeHtml);
}

const renderedTag = (tag: string, replace: Replace): string =>
  tag.replaceAll(ATTRIBUTE, (whole: string, name: string, quoted: string) => {
    if (!hasVariable(quoted)) return whole;
    const value = quoted.slice(1, -1);
    const isLink = LINKS.has(name.toLowerCase());
    const insert = !isLink ? escapeHtml : WHOLE_VARIABLE.test(value) ? httpsUrl : encoded;
    return ` ${name}="${replace(value, insert)}"`;
  });
