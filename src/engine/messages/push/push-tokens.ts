import { ECDH } from 'node:crypto';
import { parsedJson } from '../../../json.ts';
import { targetProblem } from '../../../catalog/rules/webhook.ts';
import { textAt } from './push-result.ts';
import type { PushCredentials } from './push-sender.ts';

/** A browser's subscription. */
export interface Subscription {
  endpoint: URL;
  /** The browser's public key, a point of the curve P-256. */
  key: Buffer;
  authSecret: Buffer;
}

/** Lengths of tokens differ and may change, so the limits are wide. */
const LONGEST = 4_096;
const APNS_TOKEN = /^(?:[\da-f]{2}){16,200}$/i;
const FCM_TOKEN = /^[\w:%.-]{1,4096}$/;
const EXPO_TOKEN = /^(?:Expo(?:nent)?PushToken\[[\w:-]{1,300}\]|[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})$/i;

/** Why a text cannot be a token of a device, as text that follows its name; `null` if it can. Tokens come from end users. */
export function tokenProblem(
  provider: PushCredentials['provider'],
  token: string,
  options: { allowPrivate: boolean },
): string | null {
  if (provider === 'apns')
    return APNS_TOKEN.test(token) ? null : 'must be a device token of APNs in hexadecimal digits';
  if (provider === 'fcm') return FCM_TOKEN.test(token) ? null : 'must be a registration token of FCM';
  if (provider === 'expo') return EXPO_TOKEN.test(token) ? null : 'must be a push token of Expo';
  const subscription = subscriptionOf(token, options);
  return typeof subscription === 'string' ? subscription : null;
}

const KEY_BYTES = 65;
const UNCOMPRESSED = 4;
const AUTH_BYTES = 16;

/** Parses a token of Web Push. Returns the subscription, or why the token is invalid, as text that follows its name. */
export function subscriptionOf(token: string, { allowPrivate }: { allowPrivate: boolean }): Subscription | string {
  if (token.length > LONGEST) return `must have at most ${LONGEST} characters`;
  const json = parsedJson(token);
  const endpoint = textAt(json, 'endpoint');
  if (endpoint === null) return 'must be the JSON text of a subscription, with endpoint and keys';
  if (!URL.canParse(endpoint)) return 'must have a URL as endpoint';
  const url = new URL(endpoint);
  if (url.protocol !== 'https:') return 'must have an endpoint that begins with https://';
  const wrong = targetProblem(url, allowPrivate);
  if (wrong !== null) return `has an endpoint that ${wrong}`;
  const key = Buffer.from(textAt(json, 'keys', 'p256dh') ?? '', 'base64url');
  if (key.length !== KEY_BYTES || !isPoint(key)) return 'must have a key of the curve P-256 as keys.p256dh';
  const authSecret = Buffer.from(textAt(json, 'keys', 'auth') ?? '', 'base64url');
  if (authSecret.length !== AUTH_BYTES) return `must have ${AUTH_BYTES} bytes as keys.auth`;
  return { endpoint: url, key, authSecret };
}

/** Whether a key is an uncompressed point of the curve; with another, encryption fails. */
function isPoint(key: Buffer): boolean {
  if (key[0] !== UNCOMPRESSED) return false;
  try {
    ECDH.convertKey(key, 'prime256v1');
    return true;
  } catch {
    return false;
  }
}
