import { parsedJson } from '../../../json.ts';
import { GoogleAccess } from './google-access.ts';
import { fcmAccount } from './push-credentials.ts';
import { ProviderHttp, type ProviderHttpOptions } from '../provider-http.ts';
import { reasonOf } from '../email-sender.ts';
import { at, failed, later, SENT, shortKey, textAt, tooLong, unanswered } from './push-result.ts';
import type { FcmCredentials, PushMessage, PushResult, PushSender } from './push-sender.ts';
import { tokenProblem } from './push-tokens.ts';
import type { Answer } from '../../webhooks/guarded-post.ts';

interface FcmOptions extends ProviderHttpOptions {
  /** Of the service that takes messages. */
  baseUrl: string;
  /** Of the service that issues access tokens. */
  tokenBaseUrl: string;
  now: () => number;
}

/** Of the texts and values of a message. */
const MOST_BYTES = 4_096;
/** Four weeks. */
const MOST_TTL_SECONDS = 2_419_200;
/** The limit of APNs, to which FCM passes the key on. */
const COLLAPSE_BYTES = 64;

/** Sends by FCM's HTTP v1 API. Throws `BadCredentials`. */
export function createFcmSender(credentials: FcmCredentials, options: FcmOptions): PushSender {
  const { baseUrl, tokenBaseUrl, now, ...httpOptions } = options;
  const account = fcmAccount(credentials);
  const http = new ProviderHttp(httpOptions);
  const access = new GoogleAccess({ account, http, tokenUrl: new URL('/token', tokenBaseUrl), now });
  const url = new URL(`/v1/projects/${account.projectId}/messages:send`, baseUrl);
  let hasSent = false;

  async function send(token: string, message: PushMessage): Promise<PushResult> {
    const wrong = tokenProblem('fcm', token, httpOptions);
    if (wrong !== null) return failed('token_gone', `the token ${wrong}`);
    const { fields, bytes } = fcmMessage(token, message, now());
    if (bytes > MOST_BYTES) return tooLong(bytes, MOST_BYTES);
    const granted = await access.token();
    if (typeof granted !== 'string') return granted;
    const answered = await http.post(url, {
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${granted}` },
      body: JSON.stringify({ message: fields }),
    });
    if (answered.status === null) return unanswered(answered);
    if (answered.status === 200) {
      hasSent = true;
      return SENT;
    }
    if (answered.status === 401) access.refused(granted);
    return resultOf({ ...answered, hidden: [token, granted], hasSent });
  }

  return { send, cutOff: () => http.cutOff(), close: () => http.close() };
}

function fcmMessage(token: string, message: PushMessage, nowMs: number): { fields: object; bytes: number } {
  const { title, body, url, collapseKey } = message;
  const ttlSeconds = Math.min(message.ttlSeconds, MOST_TTL_SECONDS);
  const data = { ...message.data, ...(url !== null && { url }) };
  const key = collapseKey === null ? null : shortKey(collapseKey, COLLAPSE_BYTES);
  const content = { notification: { title, body }, ...(Object.keys(data).length > 0 && { data }) };
  const fields = {
    token,
    ...content,
    android: { ttl: `${ttlSeconds}s`, ...(key !== null && { collapse_key: key, notification: { tag: key } }) },
    apns: {
      headers: {
        'apns-expiration': String(Math.floor(nowMs / 1_000) + ttlSeconds),
        ...(key !== null && { 'apns-collapse-id': key }),
      },
      payload: { aps: { sound: 'default' } },
    },
    webpush: {
      headers: { TTL: String(ttlSeconds) },
      ...(url?.startsWith('https://') === true && { fcm_options: { link: url } }),
    },
  };
  return { fields, bytes: Buffer.byteLength(JSON.stringify(content)) };
}

interface FcmAnswer extends Answer {
  hidden: string[];
  hasSent: boolean;
}

/** What an answer other than 200 means: https://firebase.google.com/docs/reference/fcm/rest/v1/ErrorCode */
function resultOf({ status, answer, retryAfterMs, hidden, hasSent }: FcmAnswer): PushResult {
  const error = at(parsedJson(answer), 'error');
  const code = fcmCode(error) ?? textAt(error, 'status') ?? '';
  const text = textAt(error, 'message') ?? '';
  const reason = reasonOf(`FCM answered ${status} ${code}: ${text}`, hidden);
  if (status === 404 && code === 'UNREGISTERED') return failed('token_gone', reason);
  // Of another project's app. Before the first message that FCM took, the channel could name the wrong project.
  if (code === 'SENDER_ID_MISMATCH') return failed(hasSent ? 'token_gone' : 'refused', reason);
  if (status === 400) return failed(isBadToken(error, text) ? 'token_gone' : 'refused', reason);
  if (status === 413) return failed('refused', reason);
  return later(reason, { concernsServer: true, retryAfterMs });
}

/** The code of FCM itself, among the details of the general one. */
function fcmCode(error: unknown): string | null {
  const details = at(error, 'details');
  if (!Array.isArray(details)) return null;
  const own = details.find((detail) => textAt(detail, '@type')?.endsWith('google.firebase.fcm.v1.FcmError') === true);
  return textAt(own, 'errorCode');
}

/** `INVALID_ARGUMENT` can be about the token or about the message. Google documents these answers as about the token. */
function isBadToken(error: unknown, text: string): boolean {
  if (text === 'The registration token is not a valid FCM registration token') return true;
  const details = at(error, 'details');
  if (!Array.isArray(details)) return false;
  const fields = details.flatMap((detail) => at(detail, 'fieldViolations') ?? []);
  return fields.length > 0 && fields.every((violation) => textAt(violation, 'field') === 'message.token');
}
