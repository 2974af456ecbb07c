/** How a tenant's e-mails are sent, and the log of them, on the wire. */
import { type Static, Type } from 'typebox';
import { Nullable, Uuid } from '../schemas.ts';
import { UserId } from '../user.ts';
import { MESSAGE_KINDS } from './message-variables.ts';

const DateTime = Type.String({ format: 'date-time' });
/** A local part and a domain, without spaces, quotes, brackets and control characters. Longer ones have no server. */
const ADDRESS = `^[^\\s@"<>(),:;\\\\[\\]\\u0000-\\u001f]{1,64}@[^\\s@"<>(),:;\\\\[\\]\\u0000-\\u001f]{1,253}$`;
export const EmailAddress = Type.String({ maxLength: 254, pattern: ADDRESS });

/** The fields of a channel that are read and written. */
const FIELDS = {
  enabled: Type.Boolean(),
  /** A name or an address. */
  host: Type.String({ minLength: 1, maxLength: 253, pattern: '^[A-Za-z0-9._:-]+$' }),
  port: Type.Integer({ minimum: 1, maximum: 65_535 }),
  security: Type.Enum(['tls', 'starttls', 'none']),
  username: Nullable(Type.String({ minLength: 1, maxLength: 255 })),
  senderAddress: EmailAddress,
  senderName: Nullable(Type.String({ minLength: 1, maxLength: 100, pattern: '^[^\\u0000-\\u001f\\u007f]+$' })),
  replyTo: Nullable(EmailAddress),
  /** E-mails a second. */
  pace: Type.Number({ minimum: 0.01, maximum: 100 }),
};

/** A channel as it is shown: without its password. */
export const MessageChannel = Type.Object({
  ...FIELDS,
  hasPassword: Type.Boolean(),
  created: DateTime,
  updated: DateTime,
});
export type MessageChannel = Static<typeof MessageChannel>;

export const CHANNEL_DEFAULTS = { enabled: true, username: null, senderName: null, replyTo: null, pace: 5 } as const;

/** A channel as it is set, as a whole. `password`: the stored one stays if it is omitted. */
export const SentMessageChannel = Type.Object({
  enabled: Type.Optional(Type.Boolean({ default: CHANNEL_DEFAULTS.enabled })),
  host: FIELDS.host,
  port: FIELDS.port,
  security: FIELDS.security,
  username: Type.Optional(FIELDS.username),
  password: Type.Optional(Nullable(Type.String({ minLength: 1, maxLength: 1_000 }))),
  senderAddress: FIELDS.senderAddress,
  senderName: Type.Optional(FIELDS.senderName),
  replyTo: Type.Optional(FIELDS.replyTo),
  pace: Type.Optional(Type.Number({ minimum: 0.01, maximum: 100, default: CHANNEL_DEFAULTS.pace })),
});
export type SentMessageChannel = Static<typeof SentMessageChannel>;

/** Clients may send back the answer to a read. */
export const KnownChannelFields = Type.Object({ ...SentMessageChannel.properties, ...MessageChannel.properties });

export const MessageTest = Type.Object({ to: EmailAddress });

/** How a test e-mail ended: see `SendOutcome`. */
export const MessageTestResult = Type.Object({
  outcome: Type.Enum(['sent', 'later', 'refused', 'bad_address', 'unknown']),
  reason: Nullable(Type.String()),
});

export const MESSAGE_STATUSES = ['waiting', 'sending', 'sent', 'failed', 'dropped', 'unknown'] as const;
export type MessageStatus = (typeof MESSAGE_STATUSES)[number];

/** An e-mail of the log. Its address and content are not kept. */
export const Message = Type.Object({
  id: Uuid,
  userId: UserId,
  kind: Type.Enum([...MESSAGE_KINDS]),
  status: Type.Enum([...MESSAGE_STATUSES]),
  tries: Type.Integer(),
  reason: Nullable(Type.String()),
  /** When it fell due. */
  at: DateTime,
  nextTry: Nullable(DateTime),
  finished: Nullable(DateTime),
});
export type Message = Static<typeof Message>;

/** A page of the log, newest first. `nextCursor` is `null` on the last page. */
export const Messages = Type.Object({ messages: Type.Array(Message), nextCursor: Nullable(Type.String()) });
export type Messages = Static<typeof Messages>;

export const MessageQuery = Type.Object({
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 10 }),
  cursor: Type.Optional(Type.String({ pattern: '^\\d{1,15}\\.[\\da-f-]{36}$' })),
  status: Type.Optional(Type.Enum([...MESSAGE_STATUSES])),
  kind: Type.Optional(Type.Enum([...MESSAGE_KINDS])),
  userId: Type.Optional(UserId),
});
export type MessageQuery = Static<typeof MessageQuery>;

/** An address that gets no e-mails, because a mail server refused it for good. */
export const SuppressedAddress = Type.Object({
  address: Type.String(),
  userId: UserId,
  reason: Type.String(),
  at: DateTime,
});
export type SuppressedAddress = Static<typeof SuppressedAddress>;

export const SuppressedAddresses = Type.Object({
  addresses: Type.Array(SuppressedAddress),
  nextCursor: Nullable(Type.String()),
});

export const SuppressionQuery = Type.Object({
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 10 }),
  cursor: Type.Optional(Type.String({ minLength: 1, maxLength: 254 })),
});
