import { type Static, Type } from 'typebox';
import { AttributeValue, INSTEAD_OF_NULL, LocalDate, Nullable, TextUpTo } from './schemas.ts';

/** A map of strings. Unlike a record with a key pattern, it accepts keys with line breaks. */
export const StringMap = Type.Unsafe<Record<string, string>>({
  type: 'object',
  additionalProperties: { type: 'string' },
});

/** Clients and proxies remove the path segments `.` and `..` from URLs, so no request could address such users. */
export const USER_ID_PATTERN = '^(?!\\.{1,2}$)';
export const UserId = Type.String({ minLength: 1, maxLength: 255, pattern: USER_ID_PATTERN });

/** Limits for requests, in UTF-8 bytes or items. Stored users may exceed them. */
export const LIMITS = { nameBytes: 1_024, emailBytes: 320, tzBytes: 255, tokens: 20, tokenBytes: 1_024 };
const MOST_ATTRIBUTES = 100;

/** Text, `@` and text without whitespace or control characters; an empty string clears the address. */
export const EMAIL_PATTERN = '^([^\\s\\p{Cc}@]+@[^\\s\\p{Cc}@]+)?$';

/** Attributes of a user or an event in a request. */
export const SentAttributes = Type.Unsafe<Record<string, string>>({
  type: 'object',
  maxProperties: MOST_ATTRIBUTES,
  additionalProperties: AttributeValue,
});

/** A calendar day; a date-time is cut to its UTC day. */
const SignUpDate = Type.String({
  maxLength: 40,
  pattern: '^\\d{4}-\\d{2}-\\d{2}([Tt]\\d{2}:\\d{2}(:\\d{2}(\\.\\d+)?)?([Zz]|[+-]\\d{2}:\\d{2})?)?$',
});

/** Other resources have names, too, so their common example would be wrong. */
const NAMED = { examples: ['Ada'] };

const userFields = {
  email: Type.Optional(TextUpTo(LIMITS.emailBytes, { pattern: EMAIL_PATTERN })),
  name: Type.Optional(TextUpTo(LIMITS.nameBytes, NAMED)),
  tz: Type.Optional(Nullable(TextUpTo(LIMITS.tzBytes))),
  signUpDate: Type.Optional(Nullable(SignUpDate)),
  deviceTokens: Type.Optional(Nullable(Type.Array(TextUpTo(LIMITS.tokenBytes), { maxItems: LIMITS.tokens }))),
  subscribeToEmails: Type.Optional(Type.Boolean()),
  attributes: Type.Optional(SentAttributes),
};

/**
 * User fields to set. Fields in the request replace stored ones; others stay. `null` means "not sent", even where the
 * contract allows it. `''` clears a name, email address or time zone; `[]` clears the device tokens.
 */
export const UpdatedUser = Type.Object(userFields);
export type UpdatedUser = Static<typeof UpdatedUser>;

export const UpsertedUser = Type.Object({ id: UserId, ...userFields });
export type UpsertedUser = Static<typeof UpsertedUser>;

export const User = Type.Object({
  id: Type.String(),
  email: Type.Union([Type.String(), Type.Null()]),
  name: Type.Union([Type.String(), Type.Null()], NAMED),
  tz: Type.Union([Type.String(), Type.Null()]),
  signUpDate: Nullable(LocalDate),
  deviceTokens: Type.Optional(Nullable(Type.Array(Type.String()), { [INSTEAD_OF_NULL]: [] })),
  subscribeToEmails: Type.Boolean(),
  attributes: StringMap,
  control: Type.Boolean(),
  created: Type.String({ format: 'date-time' }),
  updated: Type.String({ format: 'date-time' }),
});
export type User = Static<typeof User>;

/** `pendingLeaderboards`: boards that still rank the user in the previous group, until the next event. */
export const ChangedUser = Type.Object({
  ...User.properties,
  pendingLeaderboards: Type.Optional(Type.Array(Type.String())),
});
export type ChangedUser = Static<typeof ChangedUser>;

/** Maximum number of pairs if the parameter is repeated. */
const MAX_PAIRS = 100;

/**
 * The `userAttributes` query parameter. If it occurs once, it holds comma-separated `key:value` pairs. If it is repeated (or
 * named `userAttributes[]`), each occurrence is one pair, and values may contain commas.
 */
export const AttributeFilter = Type.Unsafe<string | string[]>({
  type: ['string', 'array'],
  items: { type: 'string' },
  maxItems: MAX_PAIRS,
  examples: ['plan:pro', ['city:Washington, DC']],
});
export type AttributeFilter = Static<typeof AttributeFilter>;

/**
 * The name of a leaderboard group: the values of the breakdown attributes, each prefixed with its length in bytes, e.g.
 * `2:de,3:web`; `''` without a breakdown.
 */
export const groupName = (values: string[]): string =>
  values.map((value) => `${Buffer.byteLength(value)}:${value}`).join(',');

export function groupValues(group: string): string[] {
  const bytes = Buffer.from(group);
  const values: string[] = [];
  for (let at = 0; at < bytes.length;) {
    const colon = bytes.indexOf(':', at);
    const end = colon + 1 + Number(bytes.toString('utf8', at, colon));
    values.push(bytes.toString('utf8', colon + 1, end));
    at = end + 1;
  }
  return values;
}

/** A user of a tenant. */
export interface NamedUser {
  tenantNo: number;
  userId: string;
}
