import { type Static, Type } from 'typebox';
import { Nullable } from '../schemas.ts';
import { LIMITS, UserId } from '../user.ts';
import { PUSH_PROVIDERS } from './device-tokens.ts';

const DateTime = (description: string) => Type.String({ format: 'date-time', description });
const Provider = Type.Enum([...PUSH_PROVIDERS], {
  description: '`fcm`, `apns`, `expo`, or `web_push` (VAPID).',
});

const text = (maxLength: number, description: string, examples: string[] = []) =>
  Type.Optional(Type.String({ minLength: 1, maxLength, description, ...(examples.length > 0 && { examples }) }));

/** The credentials of all providers. Each provider takes those of its own; see `CREDENTIAL_FIELDS`. */
const PushCredentialFields = Type.Object({
  serviceAccount: text(10_000, 'fcm: the JSON text of the service account’s key file. Secret.'),
  privateKey: text(10_000, 'apns: the text of the `.p8` file. web_push: the private VAPID key in base64url. Secret.'),
  keyId: text(10, 'apns: ID of the key.', ['ABC123DEFG']),
  teamId: text(10, 'apns: ID of the team.', ['DEF123GHIJ']),
  topic: text(200, 'apns: the app’s bundle ID.', ['com.example.app']),
  environment: Type.Optional(
    Type.Enum(['production', 'sandbox'], { description: 'apns: where the tokens are from; `production` by default.' }),
  ),
  accessToken: text(1_000, 'expo: the access token, if the project requires one. Secret.'),
  publicKey: text(200, 'web_push: the public VAPID key in base64url.'),
  subject: text(300, 'web_push: whom push services may contact, a `mailto:` or `https:` URL.', [
    'mailto:help@example.com',
  ]),
});
export type PushCredentialFields = Static<typeof PushCredentialFields>;

/** A channel as it is shown: without secrets. */
export const PushChannel = Type.Object({
  provider: Provider,
  enabled: Type.Boolean({ description: 'Whether push notifications are sent to the provider’s devices.' }),
  pace: Type.Number({ minimum: 1, maximum: 500, description: 'Most messages to devices a second.', examples: [50] }),
  credentials: Type.Object(
    {
      projectId: text(100, 'fcm: ID of the project.'),
      clientEmail: text(320, 'fcm: the service account.'),
      keyId: PushCredentialFields.properties.keyId,
      teamId: PushCredentialFields.properties.teamId,
      topic: PushCredentialFields.properties.topic,
      environment: PushCredentialFields.properties.environment,
      publicKey: PushCredentialFields.properties.publicKey,
      subject: PushCredentialFields.properties.subject,
    },
    { description: 'What may be seen of the credentials.' },
  ),
  created: DateTime('When the channel was created.'),
  updated: DateTime('When the channel was last changed.'),
});
export type PushChannel = Static<typeof PushChannel>;

export const PushChannels = Type.Object({
  channels: Type.Array(PushChannel, { description: 'Channels by provider.' }),
});

export const PUSH_CHANNEL_DEFAULTS = { enabled: true, pace: 50 } as const;

/** A channel as it is set, as a whole. `credentials`: the stored ones stay if they are omitted. */
export const SentPushChannel = Type.Object({
  enabled: Type.Optional({ ...PushChannel.properties.enabled, default: PUSH_CHANNEL_DEFAULTS.enabled }),
  pace: Type.Optional({ ...PushChannel.properties.pace, default: PUSH_CHANNEL_DEFAULTS.pace }),
  credentials: Type.Optional({
    ...PushCredentialFields,
    description:
      'The provider’s credentials, all together. They are stored encrypted, and secrets are never shown. Omitted: the stored ones ' +
      'stay. Web Push: without `publicKey` and `privateKey`, a pair is created when the channel is, and stays afterwards.',
  }),
});
export type SentPushChannel = Static<typeof SentPushChannel>;

export const PushChannelParams = Type.Object({ provider: Provider });

/** Either a device or a user. */
export const PushTest = Type.Object({
  token: Type.Optional(
    Type.String({ minLength: 1, maxLength: LIMITS.tokenBytes, description: 'Token of the device that gets the test.' }),
  ),
  userId: Type.Optional(UserId),
});
export type PushTest = Static<typeof PushTest>;

/** How a test ended on each device. */
export const PushTestResults = Type.Object({
  devices: Type.Array(
    Type.Object({
      outcome: Type.Enum(['sent', 'later', 'refused', 'token_gone', 'unknown'], {
        description:
          '`sent`: the provider took it. `later`: not now, for a reason that may pass or that an administrator can correct. ' +
          '`refused`: it never will. `token_gone`: it no longer knows the token. `unknown`: the connection broke before its answer.',
      }),
      reason: Nullable(Type.String(), { description: 'The provider’s answer, or what went wrong; null: sent.' }),
    }),
    { description: 'A result for each device.' },
  ),
});
export type PushTestResults = Static<typeof PushTestResults>;

export const WebPushKey = Type.Object({
  publicKey: Nullable(Type.String(), {
    description:
      'The public VAPID key in base64url: the `applicationServerKey` of a subscription; null: the tenant sends no Web Push.',
  }),
});
