import { createHash } from 'node:crypto';
import { systemClock } from '../../../clock.ts';
import type { ResolveName } from '../../webhooks/guarded-agent.ts';
import { ApnsSender } from './apns-sender.ts';
import { createExpoSender } from './expo-sender.ts';
import { createFcmSender } from './fcm-sender.ts';
import { reasonOf } from '../email-sender.ts';
import { failed } from './push-result.ts';
import type { PushCredentials, PushMessage, PushResult, PushSender } from './push-sender.ts';
import { createWebPushSender } from './web-push-sender.ts';

/** Where the providers are. */
const PROVIDERS = {
  fcm: 'https://fcm.googleapis.com',
  google: 'https://oauth2.googleapis.com',
  expo: 'https://exp.host',
  apnsProduction: 'https://api.push.apple.com',
  apnsSandbox: 'https://api.sandbox.push.apple.com',
} as const;

export interface PushSenderOptions {
  /** Whether Web Push may go to private, loopback and link-local addresses. */
  allowPrivate: boolean;
  /** Longest time of a request; default: 30 s, for Web Push 10 s. FCM now and then needs a second one, for an access token. */
  attemptMs?: number;
  /** Other addresses of providers, for tests. */
  baseUrls?: Partial<Record<keyof typeof PROVIDERS, string>>;
  /** Default: the system's name servers, as for webhooks. */
  resolve?: ResolveName;
  /** Certificate authorities instead of the system's, for tests. */
  ca?: string;
  /** Default: the system's clock. Providers check the times in tokens. */
  now?: () => number;
}

const ATTEMPT_MS = 30_000;
/** End users choose the servers of Web Push, so a silent one may not hold up others for long. */
const WEB_PUSH_MS = 10_000;

/** A sender for a channel. It connects when it sends. Throws if the credentials cannot be used, see `problemOfCredentials`. */
export function createPushSender(credentials: PushCredentials, options: PushSenderOptions): PushSender {
  const sender = senderOf(credentials, options);
  return {
    async send(token: string, message: PushMessage): Promise<PushResult> {
      const ttlSeconds = Math.max(0, Math.floor(message.ttlSeconds));
      try {
        return await sender.send(token, { ...message, ttlSeconds });
      } catch (error) {
        // Nothing that a provider answers leads here. One message with an unforeseen content must not stop the others.
        return failed('refused', reasonOf(`the message could not be prepared: ${(error as Error).message}`, [token]));
      }
    },
    ...(sender.pauseMs && { pauseMs: (token) => sender.pauseMs!(token) }),
    ...(sender.receipts && { receipts: (tickets) => sender.receipts!(tickets) }),
    cutOff: () => sender.cutOff(),
    close: () => sender.close(),
  };
}

function senderOf(credentials: PushCredentials, options: PushSenderOptions): PushSender {
  const { baseUrls = {}, now = () => systemClock.now(), ...given } = options;
  const http = { attemptMs: credentials.provider === 'web_push' ? WEB_PUSH_MS : ATTEMPT_MS, ...given };
  const at = { ...PROVIDERS, ...baseUrls };
  switch (credentials.provider) {
    case 'fcm':
      return createFcmSender(credentials, { ...http, baseUrl: at.fcm, tokenBaseUrl: at.google, now });
    case 'apns': {
      const baseUrl = credentials.environment === 'production' ? at.apnsProduction : at.apnsSandbox;
      return new ApnsSender(credentials, { ...http, baseUrl, now });
    }
    case 'expo':
      return createExpoSender(credentials, { ...http, baseUrl: at.expo });
    case 'web_push':
      return createWebPushSender(credentials, { ...http, now });
  }
}

/** Senders that were not used for so long are closed. */
const KEPT_MS = 30 * 60_000;

/**
 * Senders of many channels. A sender stays open between uses of the same credentials, because providers want connections and access tokens to be
 * reused: APNs takes connections that come and go for an attack, and limits how often tokens change.
 */
export function createPushSenders(options: PushSenderOptions) {
  const senders = new Map<string, { sender: PushSender; usedMs: number }>();

  /** The sender for credentials. Do not close it. Throws if the credentials cannot be used. */
  function of(credentials: PushCredentials): PushSender {
    const nowMs = performance.now();
    for (const [key, { sender, usedMs }] of senders) {
      if (nowMs - usedMs <= KEPT_MS) continue;
      senders.delete(key);
      sender.close();
    }
    const key = createHash('sha256').update(JSON.stringify(credentials)).digest('base64');
    const sender = senders.get(key)?.sender ?? createPushSender(credentials, options);
    senders.set(key, { sender, usedMs: nowMs });
    return sender;
  }

  function close(): void {
    for (const { sender } of senders.values()) sender.close();
    senders.clear();
  }

  return { of, close };
}

export type PushSenders = ReturnType<typeof createPushSenders>;
