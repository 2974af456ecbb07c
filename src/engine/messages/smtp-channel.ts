import type { ChannelRow } from '../../postgres/notifications/message-channels.ts';
import { openedSecrets, type Sealer } from './sealed-secrets.ts';
import type { SmtpChannel } from './smtp-sender.ts';

const contextOf = (tenantNo: number): string => `password of the message channel of tenant ${tenantNo}`;

export const sealedPassword = (sealer: Sealer, tenantNo: number, password: string): Buffer =>
  sealer.seal(password, contextOf(tenantNo));

/** The channel with its password. Throws if the password cannot be decrypted. `sealer`: `null` without `SECRETS_KEY`. */
export function smtpChannelOf(row: ChannelRow, sealer: Sealer | null): SmtpChannel {
  const { host, port, security, username, senderAddress, senderName, replyTo } = row;
  return { host, port, security, username, password: openedPassword(row, sealer), senderAddress, senderName, replyTo };
}

/** The secrets of a channel as text; `null` if it has none. Throws if they cannot be decrypted. */
export const openedPassword = ({ tenantNo, password }: ChannelRow, sealer: Sealer | null): string | null =>
  password === null ? null : openedSecrets(sealer, password, contextOf(tenantNo));
