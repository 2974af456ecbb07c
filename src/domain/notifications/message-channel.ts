/** How a tenant's e-mails are sent, and the log of them, on the wire. */
import { type Static, Type } from 'typebox';
import { Nullable } from '../schemas.ts';
import { HttpProvider, SEND_OUTCOMES, SentHttpProvider } from './http-provider.ts';
import { UserId } from '../user.ts';
import { MESSAGE_KINDS } from './message-variables.ts';
import { MEDIA } from './medium.ts';

const DateTime = (description: string) => Type.String({ format: 'date-time', description });

/** A local part and a domain, without spaces, quotes, brackets and control characters. */
export const ADDRESS_PATTERN = `^[^\\s@"<>(),:;\\\\[\\]\\u0000-\\u001f]{1,64}@[^\\s@"<>(),:;\\\\[\\]\\u0000-\\u001f]{1,253}$`;
const Address = (description: string) =>
  Type.String({ maxLength: 254, pattern: ADDRESS_PATTERN, description, examples: ['hello@example.com'] });

/** The fields of a channel that are read and written. */
const FIELDS = {
  enabled: Type.Boolean({ description: 'Whether e-mails are sent. They do not fall due while it is false.' }),
  host: Type.String({
    minLength: 1,
    maxLength: 253,
    pattern: '^[A-Za-z0-9._:-]+$',
    description: 'Name or address of the mail server.',
    examples: ['smtp.example.com'],
  }),
  port: Type.Integer({ minimum: 1, maximum: 65_535, description: 'Port of the mail server.', examples: [587] }),
  security: Type.Enum(['tls', 'starttls', 'none'], {
    description:
      '`tls`: encrypted from the start (usually port 465). `starttls`: encrypted before the login (usually 587), and refused if ' +
      'the server cannot. `none`: not encrypted, without a login.',
  }),
  username: Nullable(Type.String({ minLength: 1, maxLength: 255 }), {
    description: 'Name for the login; null: no login.',
    examples: ['laurel'],
  }),
  senderAddress: Address('Address of the sender. The mail server must allow it.'),
  senderName: Nullable(Type.String({ minLength: 1, maxLength: 100, pattern: '^[^\\u0000-\\u001f\\u007f]+$' }), {
    description: 'Name of the sender, as recipients see it; null: only the address.',
    examples: ['Study App'],
  }),
  replyTo: Nullable(Type.String({ maxLength: 254, pattern: ADDRESS_PATTERN }), {
    description: 'Address for replies; null: that of the sender.',
    examples: ['help@example.com'],
  }),
  pace: Type.Number({ minimum: 0.01, maximum: 100, description: 'Most e-mails a second.', examples: [5] }),
};

const Transport = Type.Enum(['smtp', 'http'], {
  description: 'Whether e-mails are handed to a mail server, or posted to a provider.',
});

/** A channel as it is shown: without its password. */
export const MessageChannel = Type.Object({
  ...FIELDS,
  transport: Transport,
  http: Nullable(HttpProvider, {
    description: 'The provider to which e-mails are posted; null: `transport` is `smtp`.',
  }),
  hasPassword: Type.Boolean({ description: 'Whether a password is stored.' }),
  created: DateTime('When the channel was created.'),
  updated: DateTime('When the channel was last changed.'),
});
export type MessageChannel = Static<typeof MessageChannel>;

export const CHANNEL_DEFAULTS = { enabled: true, username: null, senderName: null, replyTo: null, pace: 5 } as const;

/** A channel as it is set, as a whole. `password`: the stored one stays if it is omitted. */
export const SentMessageChannel = Type.Object({
  enabled: Type.Optional({ ...FIELDS.enabled, default: CHANNEL_DEFAULTS.enabled }),
  transport: Type.Optional({ ...Transport, default: 'smtp' }),
  host: Type.Optional(FIELDS.host),
  port: Type.Optional(FIELDS.port),
  security: Type.Optional(FIELDS.security),
  http: Type.Optional(
    Nullable(SentHttpProvider, {
      description: 'The provider to which e-mails are posted; required if `transport` is `http`.',
    }),
  ),
  username: Type.Optional(FIELDS.username),
  password: Type.Optional(
    Nullable(Type.String({ minLength: 1, maxLength: 1_000 }), {
      description:
        'Password for the login. It is stored encrypted and never shown. Omitted: the stored one stays; then host, port, security ' +
        'and username must stay, too.',
      examples: ['correct-horse-battery-staple'],
    }),
  ),
  senderAddress: FIELDS.senderAddress,
  senderName: Type.Optional(FIELDS.senderName),
  replyTo: Type.Optional(FIELDS.replyTo),
  pace: Type.Optional({ ...FIELDS.pace, default: CHANNEL_DEFAULTS.pace }),
});
export type SentMessageChannel = Static<typeof SentMessageChannel>;

/** Clients may send back the answer to a read. */
export const KnownChannelFields = Type.Object({ ...SentMessageChannel.properties, ...MessageChannel.properties });

/** What the installation has for sending e-mails. */
export const MessageReadiness = Type.Object({
  publicUrl: Nullable(Type.String(), {
    description: 'PUBLIC_URL, the beginning of the links to unsubscribe; null: it is not set, and no e-mails are sent.',
    examples: ['https://app.example.com'],
  }),
  hasSecretsKey: Type.Boolean({ description: 'Whether SECRETS_KEY is set, so that a password can be stored.' }),
  opensPassword: Nullable(Type.Boolean(), {
    description: 'Whether the stored password of the channel can be decrypted; null: none is stored.',
    examples: [true],
  }),
});
export type MessageReadiness = Static<typeof MessageReadiness>;

export const MessageTest = Type.Object({ to: Address('Address that gets the test e-mail.') });

/** How a test e-mail ended: see `SendOutcome`. */
export const MessageTestResult = Type.Object({
  outcome: Type.Enum([...SEND_OUTCOMES], {
    description:
      '`sent`: the mail server took it. `later`: not now, for a reason that may pass or that an administrator can correct. `refused`: it ' +
      'never will. `bad_address`: it refused the address. `unknown`: the connection broke before its answer.',
  }),
  reason: Nullable(Type.String(), { description: 'The mail server’s answer, or what went wrong; null: sent.' }),
});
export type MessageTestResult = Static<typeof MessageTestResult>;

const MESSAGE_STATUSES = [
  'waiting',
  'sending',
  'sent',
  'delivered',
  'opened',
  'clicked',
  'unsubscribed',
  'bounced',
  'complained',
  'failed',
  'dropped',
  'unknown',
  'withheld',
] as const;
export type MessageStatus = (typeof MESSAGE_STATUSES)[number];
const Kind = (description: string) => Type.Enum([...MESSAGE_KINDS], { description });

/** An e-mail or push notification of the log. Its address or devices, and its content, are not kept. */
export const Message = Type.Object({
  id: Type.String({ format: 'uuid', description: 'ID of the message. That of an e-mail is part of its `Message-ID`.' }),
  userId: UserId,
  kind: Kind('Kind of the message.'),
  medium: Type.Enum([...MEDIA], { description: 'How it reaches the user.' }),
  status: Type.Enum([...MESSAGE_STATUSES], {
    description:
      '`waiting`: not sent yet. `sending`: an attempt is running. `sent`: the mail server took it, or a push provider for at least one ' +
      'device. `delivered`, `bounced`, `complained`: what the mail provider reported later. `opened`, `clicked`, `unsubscribed`: what the ' +
      'user did. `failed`: nobody ever will take it. `dropped`: it was not to be sent. `unknown`: it may have been sent; it is not sent ' +
      'again. `withheld`: the user is in the control group.',
  }),
  tries: Type.Integer({ description: 'Attempts so far.' }),
  reason: Nullable(Type.String(), {
    description: 'The last answer of the mail server or the push provider, or why it waits or ended; null: none.',
  }),
  at: DateTime('When it fell due.'),
  nextTry: Nullable(Type.String({ format: 'date-time' }), {
    description: 'Time of the next attempt; null: it does not wait.',
  }),
  finished: Nullable(Type.String({ format: 'date-time' }), {
    description: 'When it was sent, or why it was not was known; null: it waits, or an attempt is running.',
  }),
  reported: Nullable(Type.String({ format: 'date-time' }), {
    description: 'When it arrived, bounced or was complained about, as the provider reports; null: no report.',
  }),
  opened: Nullable(Type.String({ format: 'date-time' }), {
    description: 'When the user first opened it; null: not, or the tenant does not record opens.',
  }),
  clicked: Nullable(Type.String({ format: 'date-time' }), {
    description: 'When the user first followed a link in it; null: not, or the tenant does not record clicks.',
  }),
  unsubscribed: Nullable(Type.String({ format: 'date-time' }), {
    description: 'When the user unsubscribed by its link; null: not.',
  }),
});
export type Message = Static<typeof Message>;

/** A page of the log, newest first. `nextCursor` is `null` on the last page. */
export const Messages = Type.Object({
  messages: Type.Array(Message, { description: 'E-mails and push notifications, newest first.' }),
  nextCursor: Nullable(Type.String()),
});
export type Messages = Static<typeof Messages>;

const CURSOR = '1893456000000.01890a5d-ac96-774b-bcce-b302099a8057';

export const MessageQuery = Type.Object({
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 10 }),
  cursor: Type.Optional(Type.String({ pattern: '^\\d{1,15}\\.[\\da-f-]{36}$', examples: [CURSOR] })),
  status: Type.Optional(Type.Enum([...MESSAGE_STATUSES])),
  kind: Type.Optional(Type.Enum([...MESSAGE_KINDS])),
  medium: Type.Optional(Type.Enum([...MEDIA])),
  userId: Type.Optional(UserId),
});
export type MessageQuery = Static<typeof MessageQuery>;

/** An address that gets no e-mails, because it was refused or bounced for good, or its owner complained. */
const SuppressedAddress = Type.Object({
  address: Type.String({ description: 'The address, in lower case.', examples: ['ada@example.com'] }),
  userId: UserId,
  reason: Type.String({
    description: 'The mail server’s answer, or that of the provider’s report.',
    examples: ['550 5.1.1 No such user'],
  }),
  at: DateTime('When the mail server refused it, or the report came.'),
});
export type SuppressedAddress = Static<typeof SuppressedAddress>;

export const SuppressedAddresses = Type.Object({
  addresses: Type.Array(SuppressedAddress, { description: 'Addresses in alphabetical order.' }),
  nextCursor: Nullable(Type.String()),
});

export const SuppressionQuery = Type.Object({
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 10 }),
  cursor: Type.Optional(Type.String({ minLength: 1, maxLength: 254, examples: ['ada@example.com'] })),
});

export const SuppressedParams = Type.Object({ address: Address('The suppressed address.') });
