import type { SEND_OUTCOMES } from '../../domain/notifications/http-provider.ts';

export interface Email {
  /** Unique; the `Message-ID` is made from it. */
  id: string;
  to: string;
  subject: string;
  text: string;
  html: string;
  /** `null` for a test, which has no link. */
  unsubscribeUrl: string | null;
}

/**
 * How an attempt ended. `sent`: the server took responsibility. `later`: it certainly did not, and may when asked again.
 * `refused`: it never will. `bad_address`: it refused the recipient for good. `unknown`: the connection broke after the
 * content was handed over, before the answer; sending again could send it twice.
 */
export type SendOutcome = (typeof SEND_OUTCOMES)[number];

export interface SendResult {
  outcome: SendOutcome;
  /** For administrators: the server's answer, or what went wrong; `null` if sent. */
  reason: string | null;
  /** Whether other e-mails would fail as well: the server cannot be reached, or refuses the login or the sender. */
  concernsServer: boolean;
  /** For how long the server wants no further e-mail (ms); `null` or absent if it does not say. */
  retryAfterMs?: number | null;
}

/** Sends the e-mails of one channel. */
export interface EmailSender {
  /** Tries once, for a limited time. Never rejects. */
  send(email: Email): Promise<SendResult>;
  /** Ends the attempts in progress, each with the result that it has so far. */
  cutOff(): void;
  /** Closes idle connections. */
  close(): void;
}

export const CUT_OFF = 'the process ended';
export const TOO_LONG = 'the attempt took too long';
/** Longest silence of a server, and longest time of an attempt as a whole. */
export const TIMEOUT_MS = 30_000;
export const ATTEMPT_MS = 60_000;

/** A header line has at most 998 characters. A user's ID of hundreds of emoji exceeds that; the link is then only in the content. */
const LONGEST_HEADER_URL = 950;

const REASON_LENGTH = 300;

/** A text for administrators and the log: one line, without control characters and without the `hidden` texts. */
export function reasonOf(text: string, hidden: readonly string[] = []): string {
  let shown = text;
  for (const secret of hidden) if (secret !== '') shown = shown.replaceAll(secret, '…');
  return shown
    .replaceAll(/[\s\p{Cc}\uFFFD]+/gu, ' ')
    .trim()
    .slice(0, REASON_LENGTH);
}

export const messageIdOf = (id: string, senderAddress: string): string => `<${id}@${senderAddress.split('@').at(-1)}>`;

/** The value of `List-Unsubscribe`; `null` without one. */
export const listUnsubscribeOf = ({ unsubscribeUrl }: Email): string | null =>
  unsubscribeUrl !== null && unsubscribeUrl.length <= LONGEST_HEADER_URL ? `<${unsubscribeUrl}>` : null;

export const LIST_UNSUBSCRIBE_POST = 'List-Unsubscribe=One-Click';
