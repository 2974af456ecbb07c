import type { SendOutcome, SendResult } from '../email-sender.ts';

/** A push message to one device. */
export interface PushMessage {
  /** A UUID, unique. A provider that recognizes repeated messages gets it. */
  id: string;
  title: string;
  body: string;
  /** What a tap opens; `null` opens the app. */
  url: string | null;
  /** After this many seconds the message is worthless, and providers do not deliver it anymore. */
  ttlSeconds: number;
  /** On a device, a message replaces an older one with the same key; `null` for none. Long keys are hashed for providers that limit them. */
  collapseKey: string | null;
  /** Further values for the app. Its key `url` is replaced by `url`, if that is set. */
  data?: Record<string, string>;
}

/**
 * How an attempt ended, as for e-mails. `token_gone`: the device cannot be reached by this token anymore, or the token never was one.
 * `unknown`: the connection broke after the message was handed over, before the answer; sending again could send it twice.
 */
export type PushOutcome = Exclude<SendOutcome, 'bad_address'> | 'token_gone';

/** `reason` contains neither tokens nor secrets. `concernsServer`: messages to other devices would fail as well. */
export interface PushResult extends Omit<SendResult, 'outcome'> {
  outcome: PushOutcome;
  /** With `later`: the delay that the provider asked for; `null` if none. */
  retryAfterMs: number | null;
  /** With `sent`: under which ID the provider says later what became of the message. */
  ticket?: string;
}

/** What became of a message that a provider took. `token_gone`: as in `PushOutcome`. */
export interface PushReceipt {
  ticket: string;
  outcome: 'delivered' | 'failed' | 'token_gone';
  /** `null` if delivered. */
  reason: string | null;
}

/** Sends the messages of one channel. It keeps connections and access tokens, so keep it while its credentials stay the same. */
export interface PushSender {
  /** Tries once, for a limited time. Never rejects. */
  send(token: string, message: PushMessage): Promise<PushResult>;
  /** For how long an attempt would be pointless (ms); `null` or absent if it would not. */
  pauseMs?(token: string): number | null;
  /**
   * What became of messages, by the tickets of up to `MOST_TICKETS`; those of which the provider does not know yet are missing. Absent if the
   * provider has no tickets. Rejects with a reason if it did not answer.
   */
  receipts?(tickets: readonly string[]): Promise<PushReceipt[]>;
  /** Ends the attempts in progress, each with the result that it has so far. */
  cutOff(): void;
  /** Closes all connections. Attempts in progress fail. */
  close(): void;
}

/** A service account of Google's with the right to send messages. */
export interface FcmCredentials {
  provider: 'fcm';
  /** The key file: JSON text with `project_id`, `client_email` and `private_key`. */
  serviceAccount: string;
}

export interface ApnsCredentials {
  provider: 'apns';
  /** The `.p8` file: PEM text with a key of the curve P-256. */
  privateKey: string;
  keyId: string;
  teamId: string;
  /** The app's bundle ID. */
  topic: string;
  environment: 'production' | 'sandbox';
}

export interface ExpoCredentials {
  provider: 'expo';
  /** `null` if the project does not require one. */
  accessToken: string | null;
}

/** A VAPID key pair (RFC 8292) in unpadded base64url, as apps get the public key. */
export interface WebPushCredentials {
  provider: 'web_push';
  publicKey: string;
  privateKey: string;
  /** Whom push services may contact: a `mailto:` or `https:` URL. */
  subject: string;
}

export type PushCredentials = FcmCredentials | ApnsCredentials | ExpoCredentials | WebPushCredentials;
