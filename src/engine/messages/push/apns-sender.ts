import type { KeyObject } from 'node:crypto';
import { parsedJson } from '../../../json.ts';
import { systemClock } from '../../../clock.ts';
import { parseRetryAfter } from '../../webhooks/guarded-post.ts';
import { type ApnsAnswer, ApnsFailure, ApnsSession, type ApnsSessionOptions } from './apns-session.ts';
import { signedJwt } from './jwt.ts';
import { apnsKey } from './push-credentials.ts';
import { CUT_OFF, reasonOf, TOO_LONG } from '../email-sender.ts';
import { failed, later, SENT, shortKey, textAt, tooLong } from './push-result.ts';
import type { ApnsCredentials, PushMessage, PushResult, PushSender } from './push-sender.ts';
import { tokenProblem } from './push-tokens.ts';

interface ApnsOptions extends ApnsSessionOptions {
  baseUrl: string;
  attemptMs?: number | undefined;
  now: () => number;
}

const ATTEMPT_MS = 30_000;
const MOST_BYTES = 4_096;
const COLLAPSE_BYTES = 64;
/** APNs wants a new token after 20 to 60 minutes. */
const TOKEN_MS = 45 * 60_000;
/** How many connections one attempt may use: APNs can close each before it takes the message. */
const MOST_CONNECTIONS = 3;

/** Sends by APNs' HTTP/2 API with a key. */
export class ApnsSender implements PushSender {
  private readonly credentials: ApnsCredentials;
  private readonly options: ApnsOptions;
  private readonly key: KeyObject;
  private readonly attempts = new Set<AbortController>();
  private session: ApnsSession | null = null;
  private token: { text: string; atMs: number } | null = null;
  private hasSent = false;

  /** Throws `BadCredentials`. */
  constructor(credentials: ApnsCredentials, options: ApnsOptions) {
    this.key = apnsKey(credentials);
    this.credentials = credentials;
    this.options = options;
  }

  async send(token: string, message: PushMessage): Promise<PushResult> {
    const wrong = tokenProblem('apns', token, { allowPrivate: false });
    if (wrong !== null) return failed('token_gone', `the token ${wrong}`);
    const payload = payloadOf(message);
    if (payload.length > MOST_BYTES) return tooLong(payload.length, MOST_BYTES);
    const attempt = new AbortController();
    const timer = setTimeout(() => attempt.abort(TOO_LONG), this.options.attemptMs ?? ATTEMPT_MS);
    this.attempts.add(attempt);
    try {
      const answer = await this.request(token, { message, payload, signal: attempt.signal });
      return this.resultOf(answer, token);
    } catch (error) {
      if (!(error instanceof ApnsFailure)) throw error;
      const cause = attempt.signal.aborted ? String(attempt.signal.reason) : error.message;
      const reason = reasonOf(cause, [token]);
      return error.handedOver
        ? { ...failed('unknown', reason), concernsServer: true }
        : later(reason, { concernsServer: true });
    } finally {
      clearTimeout(timer);
      this.attempts.delete(attempt);
    }
  }

  cutOff(): void {
    for (const attempt of this.attempts) attempt.abort(CUT_OFF);
  }

  close(): void {
    this.session?.destroy();
    this.session = null;
  }

  /** Repeats a request that APNs did not process because it closed the connection. Rejects with `ApnsFailure`. */
  private async request(
    token: string,
    { message, payload, signal }: { message: PushMessage; payload: Buffer; signal: AbortSignal },
  ): Promise<ApnsAnswer> {
    for (let connection = 1; ; connection += 1) {
      const isKept = this.session?.isUsable === true;
      const session = isKept ? this.session! : this.openSession();
      let isReady = false;
      try {
        await untilAborted(session.ready(), signal);
        isReady = true;
        return await session.request(this.headers(token, message), payload, signal);
      } catch (error) {
        const mayRepeat = error instanceof ApnsFailure && !error.handedOver && (isKept || isReady);
        if (!mayRepeat || signal.aborted || connection === MOST_CONNECTIONS) throw error;
      }
    }
  }

  private openSession(): ApnsSession {
    this.session = new ApnsSession(this.options.baseUrl, this.options);
    return this.session;
  }

  private headers(token: string, { id, ttlSeconds, collapseKey }: PushMessage): Record<string, string> {
    return {
      ':method': 'POST',
      ':path': `/3/device/${token}`,
      authorization: `bearer ${this.authorization()}`,
      'apns-topic': this.credentials.topic,
      'apns-push-type': 'alert',
      'apns-priority': '10',
      'apns-id': id.toLowerCase(),
      'apns-expiration': String(Math.floor(this.options.now() / 1_000) + ttlSeconds),
      ...(collapseKey !== null && { 'apns-collapse-id': shortKey(collapseKey, COLLAPSE_BYTES) }),
    };
  }

  private authorization(): string {
    const nowMs = this.options.now();
    if (this.token === null || nowMs >= this.token.atMs + TOKEN_MS) {
      const { teamId, keyId } = this.credentials;
      const text = signedJwt(this.key, { iss: teamId, iat: Math.floor(nowMs / 1_000) }, { kid: keyId });
      this.token = { text, atMs: nowMs };
    }
    return this.token.text;
  }

  /** What an answer means: https://developer.apple.com/documentation/usernotifications/handling-notification-responses-from-apns */
  private resultOf({ status, answer, retryAfter }: ApnsAnswer, token: string): PushResult {
    if (status === 200) {
      this.hasSent = true;
      return SENT;
    }
    const code = textAt(parsedJson(answer), 'reason') ?? '';
    const reason = reasonOf(`APNs answered ${status} ${code}`, [token]);
    if (status === 410) return failed('token_gone', reason);
    // Of another app or environment, or invented. Before the first message that APNs took, the channel itself could be wrong.
    if (code === 'BadDeviceToken' || code === 'DeviceTokenNotForTopic')
      return failed(this.hasSent ? 'token_gone' : 'refused', reason);
    const retryAfterMs = parseRetryAfter(retryAfter, systemClock.now());
    if (code === 'TooManyRequests') return later(reason, { concernsServer: false, retryAfterMs });
    if (OF_THE_MESSAGE.has(status) && !OF_THE_CHANNEL.has(code)) return failed('refused', reason);
    return later(reason, { concernsServer: true, retryAfterMs });
  }
}

/** Statuses that concern one message only. */
const OF_THE_MESSAGE: ReadonlySet<number> = new Set([400, 404, 405, 413]);
/** Reasons of 400 that an administrator can correct. */
const OF_THE_CHANNEL: ReadonlySet<string> = new Set(['BadTopic', 'MissingTopic', 'TopicDisallowed', 'IdleTimeout']);

function payloadOf({ title, body, url, data }: PushMessage): Buffer {
  const aps = { alert: { title, body }, sound: 'default' };
  return Buffer.from(JSON.stringify({ ...data, ...(url !== null && { url }), aps }));
}

/** Waits for a promise, but not longer than until the attempt is cut off. */
function untilAborted(waiting: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(new ApnsFailure('cut off', false));
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    waiting.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
