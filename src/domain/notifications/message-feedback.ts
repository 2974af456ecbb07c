/** What a mail provider reports about e-mails after it took them, on the wire. */
import { type Static, Type } from 'typebox';
import { isOneOf, POINTER_PATTERN, valueAt } from '../json-pointer.ts';
import { Nullable } from '../schemas.ts';
import { ADDRESS_PATTERN } from './message-channel.ts';

const Pointer = (description: string, example: string) =>
  Type.String({ maxLength: 200, pattern: POINTER_PATTERN, description, examples: [example] });
const Values = (description: string, examples: string[]) =>
  Type.Array(Type.String({ minLength: 1, maxLength: 100 }), { maxItems: 20, description, examples: [examples] });

/** Where a provider's reports have which field. Pointers of fields begin at an entry of the list. */
export const FeedbackFormat = Type.Object({
  entries: Pointer('JSON Pointer to the list of reports, or to the only report; empty: the whole body.', '/events'),
  type: Pointer('JSON Pointer to the type of a report.', '/event'),
  delivered: Values('Types of reports that an e-mail arrived.', ['delivered']),
  bounced: Values('Types of reports that an e-mail did not arrive.', ['bounce', 'dropped']),
  complained: Values('Types of reports that the recipient calls the e-mail spam.', ['spam_report']),
  permanent: Nullable(
    Type.Object({
      field: Pointer('JSON Pointer to the field that distinguishes a bounce for good from one for now.', '/severity'),
      values: Values('Its values that mean for good.', ['permanent']),
    }),
    { description: 'Which bounces are for good and suppress the address; null: none.' },
  ),
  messageId: Nullable(Pointer('JSON Pointer to the `Message-ID`, or to the ID in the log of e-mails.', '/smtp-id'), {
    description: 'JSON Pointer to the `Message-ID`, or to the ID in the log of e-mails; null: reports have none.',
  }),
  address: Nullable(Pointer('JSON Pointer to the recipient.', '/email'), {
    description: 'JSON Pointer to the address of the recipient; null: reports have none.',
  }),
  reason: Nullable(Pointer('JSON Pointer to the reason.', '/reason'), {
    description: 'JSON Pointer to the mail server’s answer; null: reports have none.',
  }),
  at: Nullable(Pointer('JSON Pointer to the time.', '/timestamp'), {
    description: 'JSON Pointer to the time, in RFC 3339, seconds or milliseconds; null: reports have none.',
  }),
});
export type FeedbackFormat = Static<typeof FeedbackFormat>;

/** The shape for providers whose reports a small program of one's own translates. */
export const NEUTRAL_FORMAT: FeedbackFormat = {
  entries: '',
  type: '/type',
  delivered: ['delivered'],
  bounced: ['bounced'],
  complained: ['complained'],
  permanent: { field: '/permanent', values: ['true'] },
  messageId: '/messageId',
  address: '/address',
  reason: '/reason',
  at: '/at',
};

const DateTime = (description: string) => Type.String({ format: 'date-time', description });

export const MessageFeedback = Type.Object({
  format: Type.Object(FeedbackFormat.properties, { description: 'Where the provider’s reports have which field.' }),
  created: DateTime('When the address was created.'),
  updated: DateTime('When the format or the address was last changed.'),
  received: Nullable(Type.String({ format: 'date-time' }), { description: 'When a report last came; null: never.' }),
});
export type MessageFeedback = Static<typeof MessageFeedback>;

/** The answer to a change, which alone shows the address. */
export const MessageFeedbackAddress = Type.Object({
  ...MessageFeedback.properties,
  url: Type.String({
    description: 'The address that the provider calls. Everyone who knows it can report bounces.',
    examples: ['https://app.example.com/v1/messages/feedback/WzAsIjhm.Yk3v'],
  }),
});

export const SentMessageFeedback = Type.Object({
  format: Type.Optional({
    ...MessageFeedback.properties.format,
    description: 'Where the provider’s reports have which field; by default as in the documentation, or unchanged.',
  }),
  rotate: Type.Optional(
    Type.Boolean({ description: 'Whether to replace the address. The old one ends at once.', default: false }),
  ),
});
export type SentMessageFeedback = Static<typeof SentMessageFeedback>;

export const KnownFeedbackFields = Type.Object({
  ...SentMessageFeedback.properties,
  ...MessageFeedbackAddress.properties,
});

const Count = (description: string) => Type.Integer({ description });
/** What became of the reports of a request. */
export const FeedbackCounts = Type.Object({
  delivered: Count('E-mails that arrived.'),
  bounced: Count('E-mails that did not arrive.'),
  complained: Count('Complaints.'),
  repeated: Count('Reports that change nothing, because they or a weightier one came before.'),
  unknown: Count('Reports about an e-mail or address that the tenant does not have.'),
  ignored: Count('Reports of other types.'),
  invalid: Count('Reports without a readable e-mail or address.'),
});
export type FeedbackCounts = Static<typeof FeedbackCounts>;

export const FeedbackParams = Type.Object({ token: Type.String({ minLength: 1, maxLength: 300 }) });

/** Reports in the tenant's format. */
export const SentReports = Type.Union([Type.Array(Type.Unknown()), Type.Record(Type.String(), Type.Unknown())], {
  description: 'A report or a list of reports, in the tenant’s format.',
});

/** Types by weight: a later report changes an e-mail's status only if it weighs more. */
export const WEIGHTS = { bouncedForNow: 1, delivered: 2, bounced: 3, complained: 4 } as const;
export type Weight = (typeof WEIGHTS)[keyof typeof WEIGHTS];

/** The status in the log that stands for a weight. */
export const FEEDBACK_STATUSES = ['bounced', 'delivered', 'bounced', 'complained'] as const;

export const MOST_REPORTS = 1_000;

export interface Report {
  weight: Weight;
  /** ID of the e-mail; `null` if only the address is known. */
  id: string | null;
  /** In lower case. */
  address: string | null;
  reason: string | null;
  /** Epoch ms; `null` if unknown. */
  atMs: number | null;
}

/** The entries of a body; `null` if the format finds no list or object, or more than `MOST_REPORTS`. */
export function reportEntries(body: unknown, { entries }: FeedbackFormat): unknown[] | null {
  const inner = valueAt(body, entries);
  const list = Array.isArray(inner) ? (inner as unknown[]) : [inner];
  return typeof inner === 'object' && inner !== null && list.length <= MOST_REPORTS ? list : null;
}

/** Reads a provider's report. */
export function readReport(entry: unknown, format: FeedbackFormat): Report | 'ignored' | 'invalid' {
  const weight = weightOf(entry, format);
  if (weight === null) return 'ignored';
  const text = (pointer: string | null): string | null =>
    pointer === null ? null : firstText(valueAt(entry, pointer));
  const id = MESSAGE_ID.exec(text(format.messageId) ?? '')?.[1]?.toLowerCase() ?? null;
  const address = addressIn(text(format.address));
  if (id === null && address === null) return text(format.messageId) === null ? 'invalid' : UNKNOWN(weight);
  const at = format.at === null ? undefined : valueAt(entry, format.at);
  return { weight, id, address, reason: text(format.reason), atMs: timeOf(at) };
}

/** A report about an e-mail that something else sent through the same provider. */
const UNKNOWN = (weight: Weight): Report => ({ weight, id: null, address: null, reason: null, atMs: null });

function weightOf(entry: unknown, format: FeedbackFormat): Weight | null {
  if (isOneOf(entry, format.type, format.complained)) return WEIGHTS.complained;
  if (isOneOf(entry, format.type, format.delivered)) return WEIGHTS.delivered;
  if (!isOneOf(entry, format.type, format.bounced)) return null;
  const { permanent } = format;
  return permanent !== null && isOneOf(entry, permanent.field, permanent.values)
    ? WEIGHTS.bounced
    : WEIGHTS.bouncedForNow;
}

const MESSAGE_ID = /^\s*<?([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})(?:@|>|\s*$)/i;
const ADDRESS = new RegExp(ADDRESS_PATTERN, 'u');

/** Providers often report a list of recipients with one entry. */
function firstText(value: unknown): string | null {
  const first: unknown = Array.isArray(value) ? value[0] : value;
  return typeof first === 'string' && first !== '' ? first : null;
}

function addressIn(text: string | null): string | null {
  const address = (/<([^<>]*)>\s*$/.exec(text ?? '')?.[1] ?? text ?? '').trim().toLowerCase();
  return address.length <= 254 && ADDRESS.test(address) ? address : null;
}

/** Seconds have at most 11 digits until the year 5138. */
const FIRST_MS = 100_000_000_000;

function timeOf(at: unknown): number | null {
  const asNumber =
    typeof at === 'number' || (typeof at === 'string' && /^\d{1,17}(\.\d+)?$/.test(at)) ? Number(at) : null;
  const ms = asNumber === null ? Date.parse(String(at)) : asNumber < FIRST_MS ? asNumber * 1_000 : asNumber;
  return Number.isFinite(ms) && ms > 0 && ms < 8.64e15 ? Math.round(ms) : null;
}
