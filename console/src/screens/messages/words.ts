/** Kinds, statuses and failures of e-mails in plain words. Unknown ones are shown by their names in the API. */
// oxlint-disable-next-line no-restricted-imports -- types of the API that it does not name
import type { Message } from '../../../../src/domain/notifications/message-channel.ts';
// oxlint-disable-next-line no-restricted-imports -- likewise
import type { MessageKind as Kind } from '../../../../src/domain/notifications/message-variables.ts';

export type { Kind, Message };
/** How a message reaches the user. */
export type Medium = Message['medium'];

interface KindWords {
  name: string;
  /** What it is for. */
  about: string;
  /** When it is sent, in the user's time zone. */
  when: string;
}

export const KINDS: Readonly<Record<Kind, KindWords>> = {
  streak_reminder: {
    name: 'Streak reminder',
    about: 'Saves a streak that would otherwise end.',
    when: 'At 20:00 for daily streaks, on Friday at 09:00 for weekly ones, and on the 25th at 09:00 for monthly ones.',
  },
  achievement_completed: {
    name: 'Achievement completed',
    about: 'Congratulates on an achievement.',
    when: 'Between 17:00 and 21:00, after the achievement was completed.',
  },
  reactivation: {
    name: 'Reactivation',
    about: 'Brings back users who stay away.',
    when: 'At 10:00 on the 3rd, 5th, 7th, 14th and 30th day without an event.',
  },
  recap: {
    name: 'Recap',
    about: 'Looks back at the last week or month of active users.',
    when: 'On Monday at 09:00, or on the 1st at 09:00 if recaps are monthly.',
  },
};

export const KIND_NAMES = Object.keys(KINDS) as readonly Kind[];

export const kindName = (kind: string): string => (KINDS as Record<string, KindWords | undefined>)[kind]?.name ?? kind;

interface StatusWords {
  text: string;
  tone: 'plain' | 'good' | 'warn' | 'bad';
  /** An explanation of the word. */
  meaning: string;
}

export const STATUSES: Readonly<Record<string, StatusWords>> = {
  waiting: { text: 'waiting', tone: 'warn', meaning: 'It is sent later.' },
  sending: { text: 'sending', tone: 'warn', meaning: 'An attempt is running.' },
  sent: { text: 'sent', tone: 'good', meaning: 'The mail server took it. Whether it arrived is not known.' },
  delivered: { text: 'delivered', tone: 'good', meaning: 'The provider reports that it arrived.' },
  opened: { text: 'opened', tone: 'good', meaning: 'The user opened it.' },
  clicked: { text: 'clicked', tone: 'good', meaning: 'The user followed a link in it.' },
  unsubscribed: { text: 'unsubscribed', tone: 'warn', meaning: 'The user unsubscribed from this kind by its link.' },
  bounced: { text: 'bounced', tone: 'bad', meaning: 'The provider reports that it did not arrive.' },
  complained: {
    text: 'complaint',
    tone: 'bad',
    meaning: 'The recipient calls it spam. The user gets no further e-mails.',
  },
  failed: { text: 'failed', tone: 'bad', meaning: 'The mail server refused it for good, or all attempts failed.' },
  dropped: { text: 'not sent', tone: 'plain', meaning: 'It was not to be sent any longer.' },
  unknown: { text: 'unknown', tone: 'warn', meaning: 'It may have been sent. It is not sent again.' },
  withheld: { text: 'withheld', tone: 'plain', meaning: 'The user is in the control group and gets no messages.' },
};

export const statusWords = (status: string): StatusWords =>
  STATUSES[status] ?? { text: status, tone: 'plain', meaning: '' };

/** What to do about an answer of a mail server or provider; the first pattern that matches counts. */
const ADVICE: readonly (readonly [RegExp, string])[] = [
  [/address is not public/i, 'Laurel sends only to mail servers with a public address.'],
  [/ENOTFOUND|EAI_AGAIN|getaddrinfo|query[A-Z]/, 'There is no mail server of this name. Check the name under Channel.'],
  [
    /certificate|self.signed|altnames|SSL|wrong version number|\bTLS\b|STARTTLS/i,
    'The encryption failed. Port 465 usually needs TLS, and port 587 STARTTLS; the name must be that of the certificate.',
  ],
  [
    /^5(?:30|34|35|38)\b|authenticat|invalid login|credentials/i,
    'The mail server refused the login. Check the user name and enter the password again. Some providers need a password of its own for apps.',
  ],
  [
    /ECONN|ETIMEDOUT|EHOST|timeout|timed out|greeting|took too long|connection (?:was )?closed/i,
    'The mail server does not answer. Check its name and port, and whether it accepts connections from Laurel.',
  ],
  [
    /sender|relay|not (?:allowed|authori[sz]ed|verified)|^5\d\d[ -]5\.7/i,
    'The mail server does not accept the sender. Allow the sender’s address, or its domain, at your provider.',
  ],
];

/** The same for push providers. */
const PROVIDER_ADVICE: typeof ADVICE = [
  [/SECRETS_KEY/, 'SECRETS_KEY was changed. Enter the credentials again.'],
  [
    /\b40[013]\b|access token|UNAUTHORIZED|InvalidCredentials|SenderId|Topic|ProviderToken/i,
    'The provider refused the credentials. Check that they belong to this app, and enter them again.',
  ],
  [
    /ECONN|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|timeout|too long|socket/i,
    'The provider does not answer. Check the network of the workers.',
  ],
];

/** What to do about a failing push channel. */
export const providerAdviceOn = (reason: string | null): string =>
  PROVIDER_ADVICE.find(([pattern]) => pattern.test(reason ?? ''))?.[1] ?? 'Correct the channel if this happens again.';

/** What to do about a failure; `null` if its own text must do. */
export const adviceOn = (reason: string | null): string | null =>
  ADVICE.find(([pattern]) => pattern.test(reason ?? ''))?.[1] ?? null;

export const PROVIDERS: Readonly<Record<string, { name: string; about: string }>> = {
  fcm: { name: 'FCM', about: 'Android, and apps and browsers that are registered there.' },
  apns: { name: 'APNs', about: 'iPhones, iPads and Macs, without a service in between.' },
  expo: { name: 'Expo', about: 'Apps whose tokens come from Expo’s push service.' },
  web_push: { name: 'Web Push', about: 'Browsers, without a service in between.' },
};

/** `E-mails`, or the name of a push provider. */
export const channelName = (channel: string | null): string =>
  channel === 'email' ? 'E-mails' : (PROVIDERS[channel ?? '']?.name ?? channel ?? '');

/** The result of a test e-mail. `hasWorked`: the mail server took it. */
export interface TestWords {
  hasWorked: boolean;
  text: string;
  /** What to do next. */
  advice: string;
}

const OUTCOMES: Readonly<Record<string, Omit<TestWords, 'hasWorked'>>> = {
  sent: {
    text: 'The mail server took the test e-mail.',
    advice:
      'Look into the inbox, and into the spam folder. If it is spam, the sender’s domain lacks SPF, DKIM or DMARC.',
  },
  later: {
    text: 'The test e-mail was not sent.',
    advice: 'Laurel would try again later. Correct the channel if this happens again.',
  },
  refused: {
    text: 'The mail server refused the test e-mail.',
    advice: 'Ask your provider why it does not accept such an e-mail.',
  },
  bad_address: { text: 'The mail server refused the address.', advice: 'Check it for mistakes, or take another one.' },
  unknown: {
    text: 'The connection broke before the mail server answered.',
    advice: 'The test e-mail may still arrive. Try again if it does not.',
  },
};

export function testWords(outcome: string, reason: string | null): TestWords {
  const { text, advice } = OUTCOMES[outcome] ?? { text: outcome, advice: '' };
  return { hasWorked: outcome === 'sent', text, advice: adviceOn(reason) ?? advice };
}

const PUSH_OUTCOMES: typeof OUTCOMES = {
  sent: { text: 'The provider took it.', advice: 'It should appear on the device now.' },
  later: { text: 'It was not sent.', advice: '' },
  refused: {
    text: 'The provider refused it.',
    advice: 'The answer says why. The device may belong to another app, or to the other environment.',
  },
  token_gone: {
    text: 'The provider does not know this device any longer.',
    advice: 'Open the app on the device, so that it stores a new token.',
  },
  unknown: { text: 'The connection broke before the provider answered.', advice: 'It may still arrive.' },
};

/** The result of a test on a device. */
export function pushTestWords(outcome: string, reason: string | null): TestWords {
  const { text, advice } = PUSH_OUTCOMES[outcome] ?? { text: outcome, advice: '' };
  return { hasWorked: outcome === 'sent', text, advice: outcome === 'later' ? providerAdviceOn(reason) : advice };
}

/** Names of variables in plain words. */
export const VARIABLES: Readonly<Record<string, string>> = {
  'user.id': 'User’s ID',
  'user.name': 'User’s name',
  'user.tz': 'User’s time zone',
  unsubscribeUrl: 'Address to unsubscribe',
  'streak.length': 'Length of the streak',
  'streak.frequency': 'Daily, weekly or monthly',
  'streak.started': 'Streak began on',
  'streak.expires': 'Streak ends after',
  'streak.freezes': 'Freezes left',
  'achievement.name': 'Achievement',
  'achievement.description': 'Its description',
  'achievement.badgeUrl': 'Address of its badge',
  'reactivation.messageNumber': 'Number of the message',
  'reactivation.daysSinceLastActive': 'Days without an event',
  'recap.periodStart': 'First day of the period',
  'recap.periodEnd': 'Last day of the period',
};
