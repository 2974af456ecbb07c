import type { Pool } from 'pg';
import { counted } from '../domain/words.ts';
import type { Env } from '../settings/env.ts';
import type { Finding } from './doctor-running.ts';

/** Whether this process could send the push notifications of the enabled channels. The database must be of this version. */
export async function pushFindings(pool: Pool, { secretsKey }: Pick<Env, 'secretsKey'>): Promise<Finding[]> {
  const { enabledPushChannels } = await import('../postgres/notifications/push-channels.ts');
  const { createSealer } = await import('../engine/messages/sealed-secrets.ts');
  const { openedCredentials } = await import('../engine/messages/push/sealed-credentials.ts');
  const check = 'Push notifications';
  const channels = await enabledPushChannels(pool);
  if (channels.length === 0) return [{ check, status: 'skipped', found: 'no channel is enabled' }];
  const sealer = secretsKey === null ? null : createSealer(secretsKey);
  const problems = problemsOf(channels, (channel) => openedCredentials(channel, sealer));
  return [channelFinding(check, channels.length, problems, 'credentials')];
}

/** Whether this process could send the e-mails of the enabled channels. The database must be of this version. */
export async function emailFindings(
  pool: Pool,
  { publicUrl, secretsKey }: Pick<Env, 'publicUrl' | 'secretsKey'>,
): Promise<Finding[]> {
  const { enabledChannels } = await import('../postgres/notifications/message-channels.ts');
  const { createSealer } = await import('../engine/messages/sealed-secrets.ts');
  const { smtpChannelOf } = await import('../engine/messages/smtp-channel.ts');
  const check = 'E-mails';
  const channels = await enabledChannels(pool);
  if (channels.length === 0) return [{ check, status: 'skipped', found: 'no channel is enabled' }];
  if (publicUrl === null)
    return [
      { check, status: 'warning', found: 'none are sent: PUBLIC_URL is not set', advice: 'Set it for all processes.' },
    ];
  const sealer = secretsKey === null ? null : createSealer(secretsKey);
  const problems = problemsOf(channels, (channel) => smtpChannelOf(channel, sealer));
  return [channelFinding(check, channels.length, problems, 'passwords')];
}

/** The messages of what `open` throws for each channel. */
const problemsOf = <C>(channels: readonly C[], open: (channel: C) => unknown): string[] =>
  channels.flatMap((channel) => {
    try {
      open(channel);
      return [];
    } catch (error) {
      return [(error as Error).message];
    }
  });

function channelFinding(check: string, channels: number, problems: readonly string[], secrets: string): Finding {
  if (problems.length === 0) return { check, status: 'ok', found: `${counted(channels, 'channel')} enabled` };
  return {
    check,
    status: 'warning',
    found: `${problems.length} of ${counted(channels, 'channel')} cannot send: ${problems[0]}`,
    advice: `Set SECRETS_KEY to the key of the other processes, or set the ${secrets} again.`,
  };
}
