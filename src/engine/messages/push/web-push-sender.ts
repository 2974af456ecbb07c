import ece from 'http_ece';
import { createECDH, type KeyObject } from 'node:crypto';
import { parsedJson } from '../../../json.ts';
import { signedJwt } from './jwt.ts';
import { vapidKey } from './push-credentials.ts';
import { ProviderHttp, type ProviderHttpOptions } from '../provider-http.ts';
import { reasonOf } from '../email-sender.ts';
import { domainOf, EndpointHosts } from './endpoint-hosts.ts';
import { failed, later, SENT, shortKey, textAt, tooLong } from './push-result.ts';
import type { PushMessage, PushResult, PushSender, WebPushCredentials } from './push-sender.ts';
import { type Subscription, subscriptionOf } from './push-tokens.ts';
import type { Answer } from '../../webhooks/guarded-post.ts';

interface WebPushOptions extends ProviderHttpOptions {
  now: () => number;
}

/** Push services take at least 4,096 bytes (RFC 8030). */
const MOST_BYTES = 4_096;
/** Of the encryption: header, padding delimiter and tag (RFC 8188, 8291). */
const OVERHEAD_BYTES = 86 + 1 + 16;
/** RFC 8030: a topic has at most 32 characters. */
const TOPIC_LENGTH = 32;
const TOO_MANY = 429;

/**
 * Sends by Web Push (RFC 8030, 8291, 8292) to the servers that browsers' subscriptions name. End users choose these servers, so requests are guarded
 * like webhooks, and no answer says anything about other users: `concernsServer` is always false. Throws `BadCredentials`.
 */
export function createWebPushSender(credentials: WebPushCredentials, options: WebPushOptions): PushSender {
  const { now, ...httpOptions } = options;
  const vapid = createVapid(credentials, now);
  const http = new ProviderHttp(httpOptions);
  const hosts = new EndpointHosts();

  async function send(token: string, message: PushMessage): Promise<PushResult> {
    const subscription = subscriptionOf(token, httpOptions);
    if (typeof subscription === 'string') return failed('token_gone', `the token ${subscription}`);
    const content = contentOf(message);
    const bytes = content.length + OVERHEAD_BYTES;
    if (bytes > MOST_BYTES) return tooLong(bytes, MOST_BYTES);
    const { endpoint } = subscription;
    const attempt = await hosts.enter(domainOf(endpoint), message.id);
    if ('reason' in attempt)
      return later(reasonOf(attempt.reason), { concernsServer: false, retryAfterMs: attempt.retryAfterMs });
    const answered = await http.post(endpoint, {
      headers: {
        'Content-Type': 'application/octet-stream',
        'Content-Encoding': 'aes128gcm',
        Authorization: vapid.authorization(endpoint.origin),
        TTL: String(message.ttlSeconds),
        ...(message.collapseKey !== null && { Topic: shortKey(message.collapseKey, TOPIC_LENGTH) }),
      },
      body: encrypted(content, subscription),
    });
    hosts.leave(attempt, answered.status !== null);
    if (answered.status !== null) return resultOf({ ...answered, endpoint });
    const { reason, handedOver, isRefused } = answered;
    if (isRefused) return failed('refused', reason);
    return handedOver ? failed('unknown', reason) : later(reason, { concernsServer: false });
  }

  return {
    send,
    pauseMs: (token) => {
      const endpoint = textAt(parsedJson(token), 'endpoint') ?? '';
      return URL.canParse(endpoint) ? hosts.skippedMs(domainOf(new URL(endpoint))) : null;
    },
    cutOff: () => http.cutOff(),
    close: () => http.close(),
  };
}

/** What the app's service worker gets. `tag` is for the notification, so that it replaces an older one. */
const contentOf = ({ id, title, body, url, collapseKey: tag, data }: PushMessage): Buffer =>
  Buffer.from(JSON.stringify({ id, title, body, url, tag, data: { ...data } }));

function encrypted(content: Buffer, { key, authSecret }: Subscription): Buffer {
  const privateKey = createECDH('prime256v1');
  privateKey.generateKeys();
  return ece.encrypt(content, { version: 'aes128gcm', dh: key, privateKey, authSecret });
}

interface WebPushAnswer extends Answer {
  endpoint: URL;
}

function resultOf({ status, answer, retryAfterMs, endpoint }: WebPushAnswer): PushResult {
  if (status >= 200 && status < 300) return SENT;
  // The path identifies the user's browser. An endpoint may consist of a host only.
  const hidden = endpoint.pathname.length > 1 ? [endpoint.href, endpoint.pathname] : [];
  const reason = reasonOf(`${endpoint.host} answered ${status}: ${answer}`, hidden);
  if (status === 404 || status === 410) return failed('token_gone', reason);
  if (status === TOO_MANY || status >= 500) return later(reason, { concernsServer: false, retryAfterMs });
  return failed('refused', reason);
}

/** Push services accept a token for a day; some refuse new ones that come too often. */
const VALID_MS = 12 * 3_600_000;
const REUSED_MS = 3_600_000;
/** There are a handful of push services; end users can invent more. */
const MOST_ORIGINS = 100;

/** The identification of the sender (RFC 8292). */
function createVapid(credentials: WebPushCredentials, now: () => number) {
  const tokens = new Map<string, { token: string; atMs: number }>();
  const key: KeyObject = vapidKey(credentials);

  /** The header for a push service. */
  function authorization(origin: string): string {
    const { publicKey, subject } = credentials;
    const nowMs = now();
    let cached = tokens.get(origin);
    if (cached === undefined || nowMs >= cached.atMs + REUSED_MS) {
      const exp = Math.floor((nowMs + VALID_MS) / 1_000);
      cached = { token: signedJwt(key, { aud: origin, exp, sub: subject }), atMs: nowMs };
      if (tokens.size >= MOST_ORIGINS) tokens.clear();
      tokens.set(origin, cached);
    }
    return `vapid t=${cached.token}, k=${publicKey}`;
  }

  return { authorization };
}
