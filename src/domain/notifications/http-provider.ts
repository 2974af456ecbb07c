/** Mail providers that take e-mails as JSON over HTTP, on the wire. */
import { type Static, Type } from 'typebox';
import { isOneOf, POINTER_PATTERN } from '../json-pointer.ts';
import { Nullable } from '../schemas.ts';

const HEADER_NAME = "^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$";
const HeaderValue = Type.String({
  maxLength: 2_000,
  pattern: '^[\\u0021-\\u007e]([\\u0020-\\u007e]*[\\u0021-\\u007e])?$',
});

/** How an attempt can end; see `SendOutcome`. */
export const SEND_OUTCOMES = ['sent', 'later', 'refused', 'bad_address', 'unknown'] as const;

const AnswerRule = Type.Object({
  statuses: Type.Array(Type.Integer({ minimum: 200, maximum: 599 }), {
    minItems: 1,
    maxItems: 20,
    description: 'Statuses of answers to which the rule applies.',
    examples: [[422]],
  }),
  field: Type.Optional(
    Nullable(Type.String({ maxLength: 200, pattern: POINTER_PATTERN }), {
      description: 'JSON Pointer to a field of the answer that must have one of `values`; null: the status suffices.',
      examples: ['/error/code'],
    }),
  ),
  values: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 100 }), {
      maxItems: 20,
      description: 'Values of `field`. Capital letters do not matter.',
      examples: [['invalid_recipient']],
    }),
  ),
  outcome: Type.Enum([...SEND_OUTCOMES], { description: 'What such an answer means.' }),
});
export type AnswerRule = Static<typeof AnswerRule>;

const FIELDS = {
  url: Type.String({
    minLength: 1,
    maxLength: 1_000,
    description: 'Address to which an e-mail is posted, with https.',
    examples: ['https://api.example.com/v1/send'],
  }),
  headers: Type.Record(Type.String({ pattern: HEADER_NAME }), HeaderValue, {
    maxProperties: 20,
    description: 'Further headers of each request, which everybody who sees the channel may read.',
    examples: [{ 'X-Stream': 'engagement' }],
  }),
  body: Type.Record(Type.String(), Type.Unknown(), {
    description: 'JSON of a request. Texts that are exactly a placeholder, such as `{{to}}`, are replaced.',
    examples: [{ to: '{{to}}', from: '{{from}}', subject: '{{subject}}', html: '{{html}}', text: '{{text}}' }],
  }),
  answers: Type.Array(AnswerRule, {
    maxItems: 20,
    description: 'What answers mean; the first rule that fits counts. Without one, the status decides.',
  }),
};

export const HttpProvider = Type.Object({
  ...FIELDS,
  secretHeaders: Type.Record(Type.String({ pattern: HEADER_NAME }), Type.Null(), {
    description: 'Names of the headers with secrets. The values are stored encrypted and never shown.',
    examples: [{ Authorization: null }],
  }),
});

export const SentHttpProvider = Type.Object({
  url: FIELDS.url,
  headers: Type.Optional(FIELDS.headers),
  secretHeaders: Type.Optional(
    Type.Record(Type.String({ pattern: HEADER_NAME }), Type.Union([HeaderValue, Type.Null()]), {
      maxProperties: 20,
      description:
        'Headers with secrets. They are stored encrypted and never shown. Null for a value: the stored one stays, unless `url` ' +
        'changes. Omitted: all stay.',
      examples: [{ Authorization: 'Bearer correct-horse-battery-staple' }],
    }),
  ),
  body: FIELDS.body,
  answers: Type.Optional(FIELDS.answers),
});
export type SentHttpProvider = Static<typeof SentHttpProvider>;

/** A provider as it is stored, besides the values of its secret headers. */
export interface StoredProvider {
  url: string;
  headers: Record<string, string>;
  secretHeaders: string[];
  body: Record<string, unknown>;
  answers: AnswerRule[];
}

/** What stands in for a placeholder; `null` if the e-mail does not have it. */
export const PLACEHOLDERS = [
  'from',
  'fromAddress',
  'fromName',
  'to',
  'replyTo',
  'subject',
  'html',
  'text',
  'id',
  'messageId',
  'unsubscribeUrl',
  'listUnsubscribe',
  'listUnsubscribePost',
] as const;
export type PlaceholderValues = Readonly<Record<(typeof PLACEHOLDERS)[number], string | null>>;

const DEEPEST = 10;
const LONGEST_BODY = 20_000;

const placeholderIn = (text: string): keyof PlaceholderValues | null => {
  const name = /^\{\{(\w+)\}\}$/.exec(text)?.[1];
  return PLACEHOLDERS.find((each) => each === name) ?? null;
};

/** Why a body is no template, with the place as a JSON Pointer; `null` if it is one. */
export function bodyProblem(body: Record<string, unknown>): string | null {
  if (JSON.stringify(body).length > LONGEST_BODY) return `must have at most ${LONGEST_BODY} characters`;
  const used = new Set<string>();
  const problemOf = (value: unknown, at: string, depth: number): string | null => {
    if (typeof value === 'string' && value.includes('{{')) {
      const name = placeholderIn(value);
      if (name === null) return `must have at ${at} exactly one placeholder, of ${PLACEHOLDERS.join(', ')}`;
      used.add(name);
    }
    if (typeof value !== 'object' || value === null) return null;
    if (depth > DEEPEST) return `must not be deeper than ${DEEPEST} levels`;
    for (const [key, each] of Object.entries(value)) {
      const problem = problemOf(each, `${at}/${key}`, depth + 1);
      if (problem !== null) return problem;
    }
    return null;
  };
  const problem = problemOf(body, '', 1);
  if (problem !== null) return problem;
  const missing = ['to', 'subject'].find((name) => !used.has(name));
  if (missing !== undefined) return `must contain {{${missing}}}`;
  return used.has('html') || used.has('text') ? null : 'must contain {{html}} or {{text}}';
}

const LEFT_OUT = Symbol('a placeholder without a value');

/**
 * The body of a request. A field whose placeholder has no value is left out; an object in a list that lacks one is left out as a
 * whole, so that no header without a value remains.
 */
export function filledBody(body: Record<string, unknown>, values: PlaceholderValues): unknown {
  const filled = (value: unknown): unknown => {
    if (typeof value === 'string') {
      const name = placeholderIn(value);
      return name === null ? value : (values[name] ?? LEFT_OUT);
    }
    if (Array.isArray(value)) return value.map(filled).filter((each) => each !== LEFT_OUT && !lacksOne(each));
    if (typeof value !== 'object' || value === null) return value;
    const fields = Object.entries(value).map(([key, each]) => [key, filled(each)] as const);
    const kept = Object.fromEntries(fields.filter(([, each]) => each !== LEFT_OUT));
    if (fields.length > Object.keys(kept).length) incomplete.add(kept);
    return kept;
  };
  const incomplete = new WeakSet<object>();
  const lacksOne = (value: unknown): boolean => typeof value === 'object' && value !== null && incomplete.has(value);
  return filled(body);
}

const NAME = new RegExp(HEADER_NAME, 'u');
/** Headers that the sender or the connection sets. */
const OWN_HEADERS =
  /^(host|content-.*|transfer-encoding|connection|keep-alive|expect|upgrade|te|trailer|proxy-.*|user-agent)$/i;
const SECRET_HEADER = /auth|cookie|token|secret|password|api-?key/i;

/** Why headers may not be set, as text with their field; `null` if they may. */
export function headerProblem({ headers = {}, secretHeaders = {} }: SentHttpProvider): string | null {
  const names = [...Object.keys(headers), ...Object.keys(secretHeaders)];
  const wrong = names.find((name) => !NAME.test(name));
  if (wrong !== undefined)
    return `http.headers and http.secretHeaders must not have ${JSON.stringify(wrong)}, which is no name of a header`;
  const own = names.find((name) => OWN_HEADERS.test(name));
  if (own !== undefined) return `http.headers must not have ${own}, which Laurel sets`;
  const secret = Object.keys(headers).find((name) => SECRET_HEADER.test(name));
  if (secret !== undefined) return `http.headers must not have ${secret}, which belongs into http.secretHeaders`;
  const lower = names.map((name) => name.toLowerCase());
  const twice = names.find((name, at) => lower.indexOf(name.toLowerCase()) !== at);
  return twice === undefined ? null : `http.secretHeaders must not have ${twice} twice`;
}

/** The rule that fits an answer; `undefined` if none does. `answer`: parsed JSON, or `undefined`. */
export const ruleFor = (rules: readonly AnswerRule[], status: number, answer: unknown): AnswerRule | undefined =>
  rules.find(
    ({ statuses, field, values }) =>
      statuses.includes(status) && (typeof field !== 'string' || isOneOf(answer, field, values ?? [])),
  );
