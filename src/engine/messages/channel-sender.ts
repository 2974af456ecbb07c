import type { ChannelRow } from '../../postgres/notifications/message-channels.ts';
import type { EmailSender } from './email-sender.ts';
import { createHttpSender } from './http-sender.ts';
import type { ProviderHttpOptions } from './provider-http.ts';
import type { Sealer } from './sealed-secrets.ts';
import { openedPassword, smtpChannelOf } from './smtp-channel.ts';
import { createSmtpSender } from './smtp-sender.ts';

/** The sender of a channel's transport. Throws if its secrets cannot be decrypted. `sealer`: `null` without `SECRETS_KEY`. */
export function createEmailSender(row: ChannelRow, sealer: Sealer | null, options: ProviderHttpOptions): EmailSender {
  if (row.http === null) return createSmtpSender(smtpChannelOf(row, sealer), options);
  const { http, senderAddress, senderName, replyTo } = row;
  const secretHeaders = secretsOf(row, sealer);
  return createHttpSender({ ...http, secretHeaders, senderAddress, senderName, replyTo }, options);
}

/** The values of a channel's secret headers. Throws if they cannot be decrypted. */
export function secretsOf(row: ChannelRow, sealer: Sealer | null): Record<string, string> {
  const secrets = openedPassword(row, sealer);
  return secrets === null ? {} : (JSON.parse(secrets) as Record<string, string>);
}
