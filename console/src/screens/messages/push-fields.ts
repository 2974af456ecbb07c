/** The fields of push channels' forms, by provider. */
import type { Field, Values } from '../../resource/field.ts';
import type { PushChannel } from './queries.ts';

export type Provider = PushChannel['provider'];

const KEPT = 'Stored encrypted, and never shown. Leave it empty to keep the stored one.';
const NEW = 'Stored encrypted, and never shown again.';

const secret = (field: Pick<Field, 'name' | 'label'> & { hint: string }, isNew: boolean, required = true): Field => ({
  ...field,
  input: 'area',
  rows: 4,
  hint: `${field.hint} ${isNew ? NEW : KEPT}`,
  ...(required && isNew && { required: true }),
});

/** The fields of a provider's credentials. */
export function credentialFields(provider: Provider, isNew: boolean): Field[] {
  switch (provider) {
    case 'fcm':
      return [
        secret(
          {
            name: 'serviceAccount',
            label: 'Key file of the service account',
            hint: 'Paste the JSON text of the file. You download it from the project’s settings, in the part about service accounts.',
          },
          isNew,
        ),
      ];
    case 'apns':
      return [
        secret(
          {
            name: 'privateKey',
            label: 'Key',
            hint: 'Paste the text of the .p8 file. You download it once from the developer account, under keys. Enter it again to change the fields below.',
          },
          isNew,
        ),
        {
          name: 'keyId',
          label: 'ID of the key',
          input: 'text',
          hint: '10 characters, beside the key.',
          required: true,
        },
        {
          name: 'teamId',
          label: 'ID of the team',
          input: 'text',
          hint: '10 characters, of the account.',
          required: true,
        },
        {
          name: 'topic',
          label: 'Bundle ID of the app',
          input: 'text',
          hint: 'Such as com.example.app.',
          required: true,
        },
        {
          name: 'environment',
          label: 'Environment',
          input: 'choice',
          options: [
            { value: 'production', text: 'production: from the store, and test flights' },
            { value: 'sandbox', text: 'sandbox: installed by a developer' },
          ],
          initial: 'production',
          required: true,
        },
      ];
    case 'expo':
      return [
        {
          name: 'accessToken',
          label: 'Access token',
          input: 'secret',
          hint: `Only if the project requires one (enhanced push security). ${isNew ? NEW : KEPT}`,
        },
      ];
    case 'web_push':
      return [
        {
          name: 'subject',
          label: 'Contact',
          input: 'text',
          hint: 'How push services can reach you: mailto:you@example.com, or an address with https://.',
          required: true,
        },
        {
          name: 'publicKey',
          label: 'Public VAPID key',
          input: 'text',
          hint: isNew
            ? 'Leave both keys empty: Laurel creates them. Browsers that have subscribed elsewhere need theirs.'
            : 'Subscriptions belong to it: another one ends them all, and needs its private key.',
        },
        secret(
          { name: 'privateKey', label: 'Private VAPID key', hint: 'Only with a public key of your own.' },
          isNew,
          false,
        ),
      ];
  }
}

export const COMMON_FIELDS: readonly Field[] = [
  {
    name: 'enabled',
    label: 'Send push notifications',
    input: 'yes',
    hint: 'Off: devices of this provider get nothing.',
    initial: true,
  },
  {
    name: 'pace',
    label: 'Messages to devices a second',
    input: 'number',
    hint: 'The most that the provider allows, from 1 to 500.',
    initial: 50,
    required: true,
  },
];

/** The body of a request: credentials only if one of them changed, and then all that may be seen. */
export function sentChannel(provider: Provider, channel: PushChannel | null, sent: Values) {
  const { enabled = channel?.enabled, pace = channel?.pace, ...changed } = sent;
  const entered = Object.entries(changed).filter(([, value]) => value !== '' && value !== null);
  const isChanged = channel === null || entered.length > 0;
  const { projectId: _, clientEmail: __, publicKey, ...shown } = channel?.credentials ?? {};
  // Laurel keeps the pair of keys if none is sent.
  const pair = provider === 'web_push' && changed['privateKey'] && publicKey ? { publicKey } : {};
  return {
    enabled: enabled as boolean,
    pace: pace as number,
    ...(isChanged && { credentials: { ...shown, ...pair, ...Object.fromEntries(entered) } }),
  };
}
