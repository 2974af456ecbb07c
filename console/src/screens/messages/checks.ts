// oxlint-disable-next-line no-restricted-imports -- types of the API that it does not name
import type { MessageChannel, MessageReadiness } from '../../../../src/domain/notifications/message-channel.ts';
// oxlint-disable-next-line no-restricted-imports -- likewise
import type { MessageSettings as Settings } from '../../../../src/domain/notifications/message-settings.ts';
import { counted } from '../../ui/format.ts';
import { adviceOn, channelName, KIND_NAMES, kindName, type Message, providerAdviceOn } from './words.ts';

/** Something without which e-mails are not sent, or are late. */
export interface Check {
  /** `missing`: nothing is sent. `warn`: some are not sent, or later. */
  state: 'missing' | 'warn';
  text: string;
  /** What to do. */
  advice: string;
  /** Where it can be done in the console. */
  to: '/messages' | '/messages/channel' | '/messages/push' | '/messages/push-channels' | null;
}

/** A channel that keeps failing, as `GET /v1/attention` says. */
export interface FailingChannel {
  channel: string;
  count: number;
  reason: string | null;
}

interface Known {
  channel: Pick<MessageChannel, 'enabled'> | null;
  readiness: MessageReadiness;
  settings: Settings;
  /** E-mails that wait, the newest first. */
  waiting: readonly Message[];
  /** Channels of all media. */
  failing?: readonly FailingChannel[];
}

interface PushKnown extends Pick<Known, 'settings' | 'readiness' | 'waiting' | 'failing'> {
  channels: readonly { provider: string; enabled: boolean }[];
}

/** What keeps e-mails from being sent, in the order in which it is mended. */
export function checksOf({ channel, readiness, settings, waiting, failing = [] }: Known): Check[] {
  const isFailing = failing.some((one) => one.channel === 'email');
  return [
    ...channelChecks(channel),
    ...installationChecks(readiness),
    ...templateChecks(settings.templates, EMAIL_TEXTS),
    ...quietChecks(settings),
    ...failing.map(failingCheck),
    ...(channel?.enabled === true && !isFailing ? failureChecks(waiting) : []),
  ];
}

/** The same for push notifications. */
export function pushChecksOf({ channels, readiness, settings, waiting, failing = [] }: PushKnown): Check[] {
  const isEnabled = channels.some(({ enabled }) => enabled);
  const place = { to: '/messages/push-channels' } as const;
  return [
    ...(channels.length === 0
      ? [
          {
            ...place,
            state: 'missing',
            text: 'There is no channel.',
            advice: 'Enter your access to a provider.',
          } as const,
        ]
      : isEnabled
        ? []
        : [{ ...place, state: 'missing', text: 'All channels are switched off.', advice: 'Switch one on.' } as const]),
    ...(readiness.hasSecretsKey ? [] : [withoutSecretsKey('missing', 'Credentials of providers are')]),
    ...templateChecks(settings.pushTemplates, PUSH_TEXTS),
    ...failing.map(failingCheck),
    ...(isEnabled && failing.length === 0 ? pushFailureChecks(waiting) : []),
  ];
}

function failingCheck({ channel, count, reason }: FailingChannel): Check {
  const isEmail = channel === 'email';
  return {
    state: 'warn',
    text: `${channelName(channel)}: the last ${counted(count, 'attempt')} failed: ${reason ?? 'no reason is known'}.`,
    advice: isEmail ? (adviceOn(reason) ?? 'Send a test under Channel.') : providerAdviceOn(reason),
    to: isEmail ? '/messages/channel' : '/messages/push-channels',
  };
}

const withoutSecretsKey = (state: Check['state'], secrets: string): Check => ({
  state,
  text: 'The installation has no SECRETS_KEY.',
  advice: `${secrets} encrypted with it. Ask your operator to set SECRETS_KEY for all frontends and workers.`,
  to: null,
});

const channelChecks = (channel: Known['channel']): Check[] =>
  channel === null
    ? [
        {
          state: 'missing',
          text: 'There is no mail server.',
          advice: 'Laurel sends through yours: enter its name and login.',
          to: '/messages/channel',
        },
      ]
    : channel.enabled
      ? []
      : [
          {
            state: 'missing',
            text: 'The channel is switched off.',
            advice: 'Switch it on when the templates are ready. Nothing falls due until then.',
            to: '/messages/channel',
          },
        ];

function installationChecks({ publicUrl, hasSecretsKey, opensPassword }: MessageReadiness): Check[] {
  const checks: Check[] = [];
  if (publicUrl === null)
    checks.push({
      state: 'missing',
      text: 'The installation has no PUBLIC_URL.',
      advice:
        'Each e-mail needs a link to unsubscribe, which leads there. Ask your operator to set PUBLIC_URL for all frontends and workers.',
      to: null,
    });
  if (!hasSecretsKey)
    checks.push(withoutSecretsKey(opensPassword === null ? 'warn' : 'missing', 'Passwords of mail servers are'));
  else if (opensPassword === false)
    checks.push({
      state: 'missing',
      text: 'The stored password cannot be decrypted.',
      advice: 'SECRETS_KEY was changed. Enter the password of the mail server again.',
      to: '/messages/channel',
    });
  return checks;
}

const EMAIL_TEXTS = {
  none: 'Write one for each kind of e-mail that users should get.',
  some: 'E-mails of these kinds are not sent.',
  to: '/messages',
} as const;
const PUSH_TEXTS = {
  none: 'Write one for each kind of push notification that users should get.',
  some: 'Push notifications of these kinds are not sent.',
  to: '/messages/push',
} as const;

function templateChecks(
  templates: readonly { kind: string }[],
  { none, some, to }: typeof EMAIL_TEXTS | typeof PUSH_TEXTS,
): Check[] {
  const missing = KIND_NAMES.filter((kind) => templates.every((template) => template.kind !== kind));
  if (missing.length === 0) return [];
  if (missing.length === KIND_NAMES.length)
    return [{ state: 'missing', text: 'There are no templates.', advice: none, to }];
  return [{ state: 'warn', text: `Without a template: ${missing.map(kindName).join(', ')}.`, advice: some, to }];
}

function failureChecks(waiting: readonly Message[]): Check[] {
  const failing = waiting.filter(({ tries }) => tries > 0);
  const [latest] = failing;
  if (latest === undefined) return [];
  const advice = adviceOn(latest.reason);
  return [
    {
      state: 'warn',
      text: `${counted(failing.length, 'e-mail')} failed and will be tried again: ${latest.reason ?? 'no reason is known'}.`,
      advice: advice ?? 'Send a test under Channel to see whether the mail server works now.',
      to: '/messages/channel',
    },
  ];
}

function pushFailureChecks(waiting: readonly Message[]): Check[] {
  const failing = waiting.filter(({ tries }) => tries > 0);
  if (failing.length === 0) return [];
  const { reason } = failing[0]!;
  return [
    {
      state: 'warn',
      text: `${counted(failing.length, 'push notification')} failed and will be tried again: ${reason ?? 'no reason is known'}.`,
      advice: providerAdviceOn(reason),
      to: '/messages/push-channels',
    },
  ];
}

const minuteOf = (time: string): number => Number(time.slice(0, 2)) * 60 + Number(time.slice(3));
const DAY_MINUTES = 1_440;
/** Daily reminders are due at this minute, and are dropped if they are later by more. */
const REMINDER = { minute: 20 * 60, latest: 4 * 60 };

/** Whether the quiet hours keep daily reminders from being sent. */
function quietChecks({ quietHours, templates }: Settings): Check[] {
  if (quietHours === null || !templates.some(({ kind }) => kind === 'streak_reminder')) return [];
  const from = minuteOf(quietHours.from);
  const length = (minuteOf(quietHours.to) - from + DAY_MINUTES) % DAY_MINUTES;
  const since = (REMINDER.minute - from + DAY_MINUTES) % DAY_MINUTES;
  if (since >= length || length - since <= REMINDER.latest) return [];
  return [
    {
      state: 'warn',
      text: 'Daily streak reminders are not sent.',
      advice:
        'They fall due at 20:00, within the quiet hours, and are too late after them. Begin the quiet hours later.',
      to: '/messages',
    },
  ];
}
