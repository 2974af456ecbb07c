import type { PushProvider } from '../../../domain/notifications/device-tokens.ts';
import type { PushCredentialFields } from '../../../domain/notifications/push-channel.ts';
import { AppError } from '../../../errors.ts';
import { createVapidKeys, fcmAccount, problemOfCredentials } from './push-credentials.ts';
import type { PushCredentials } from './push-sender.ts';

type FieldName = keyof PushCredentialFields;

/** The fields of each provider's credentials. */
const FIELDS: Readonly<Record<PushProvider, readonly FieldName[]>> = {
  fcm: ['serviceAccount'],
  apns: ['privateKey', 'keyId', 'teamId', 'topic', 'environment'],
  expo: ['accessToken'],
  web_push: ['publicKey', 'privateKey', 'subject'],
};

/**
 * The credentials of a request. Throws 422 for fields that are missing, of another provider or cannot work.
 * @param stored the channel's present ones, whose pair of VAPID keys stays if none is sent; `null` for none
 */
export function credentialsOf(
  provider: PushProvider,
  sent: PushCredentialFields,
  stored: PushCredentials | null,
): PushCredentials {
  for (const name of Object.keys(sent) as FieldName[])
    if (!FIELDS[provider].includes(name))
      throw new AppError('unprocessable', `credentials.${name} does not belong to ${provider}`);
  const credentials = ofProvider(provider, sent, stored);
  const problem = problemOfCredentials(credentials);
  if (problem !== null) throw new AppError('unprocessable', `credentials.${problem.field} ${problem.text}`);
  return credentials;
}

function ofProvider(
  provider: PushProvider,
  sent: PushCredentialFields,
  stored: PushCredentials | null,
): PushCredentials {
  const need = (name: Exclude<FieldName, 'environment'>): string => {
    const value = sent[name];
    if (value === undefined) throw new AppError('unprocessable', `credentials.${name} is required for ${provider}`);
    return value;
  };
  switch (provider) {
    case 'fcm':
      return { provider, serviceAccount: need('serviceAccount') };
    case 'apns':
      return {
        provider,
        privateKey: need('privateKey'),
        keyId: need('keyId'),
        teamId: need('teamId'),
        topic: need('topic'),
        environment: sent.environment ?? 'production',
      };
    case 'expo':
      return { provider, accessToken: sent.accessToken ?? null };
    case 'web_push': {
      const subject = need('subject');
      const isWithKeys = sent.publicKey !== undefined || sent.privateKey !== undefined;
      if (isWithKeys) return { provider, publicKey: need('publicKey'), privateKey: need('privateKey'), subject };
      if (stored?.provider === 'web_push') return { ...stored, subject };
      return { provider, ...createVapidKeys(), subject };
    }
  }
}

/** What may be seen of credentials. They must have no problem. */
export function shownOf(credentials: PushCredentials): Record<string, string> {
  switch (credentials.provider) {
    case 'fcm': {
      const { projectId, clientEmail } = fcmAccount(credentials);
      return { projectId, clientEmail };
    }
    case 'apns': {
      const { keyId, teamId, topic, environment } = credentials;
      return { keyId, teamId, topic, environment };
    }
    case 'expo':
      return {};
    case 'web_push': {
      const { publicKey, subject } = credentials;
      return { publicKey, subject };
    }
  }
}
