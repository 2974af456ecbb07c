import type { PushChannelRow } from '../../../postgres/notifications/push-channels.ts';
import { openedSecrets, type Sealer } from '../sealed-secrets.ts';
import type { PushCredentials } from './push-sender.ts';

type Owner = Pick<PushChannelRow, 'tenantNo' | 'provider'>;

const contextOf = ({ tenantNo, provider }: Owner): string =>
  `credentials of the push channel ${provider} of tenant ${tenantNo}`;

export const sealedCredentials = (sealer: Sealer, tenantNo: number, credentials: PushCredentials): Buffer =>
  sealer.seal(JSON.stringify(credentials), contextOf({ tenantNo, provider: credentials.provider }));

/** A channel's credentials. Throws if they cannot be decrypted. `sealer`: `null` without `SECRETS_KEY`. */
export const openedCredentials = (row: Owner & Pick<PushChannelRow, 'credentials'>, sealer: Sealer | null) =>
  JSON.parse(openedSecrets(sealer, row.credentials, contextOf(row))) as PushCredentials;
