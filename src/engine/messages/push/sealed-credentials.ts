import type { PushChannelRow } from '../../../postgres/notifications/push-channels.ts';
import type { Sealer } from '../sealed-secrets.ts';
import type { PushCredentials } from './push-sender.ts';

type Owner = Pick<PushChannelRow, 'tenantNo' | 'provider'>;

const contextOf = ({ tenantNo, provider }: Owner): string =>
  `credentials of the push channel ${provider} of tenant ${tenantNo}`;

export const sealedCredentials = (sealer: Sealer, tenantNo: number, credentials: PushCredentials): Buffer =>
  sealer.seal(JSON.stringify(credentials), contextOf({ tenantNo, provider: credentials.provider }));

/** A channel's credentials. Throws if they cannot be decrypted. `sealer`: `null` without `SECRETS_KEY`. */
export function openedCredentials(row: Owner & Pick<PushChannelRow, 'credentials'>, sealer: Sealer | null) {
  if (sealer === null) throw new Error('The credentials of a push channel are stored, but SECRETS_KEY is not set');
  try {
    return JSON.parse(sealer.open(row.credentials, contextOf(row))) as PushCredentials;
  } catch (error) {
    throw new Error('SECRETS_KEY is not the key with which the credentials were stored', { cause: error });
  }
}
