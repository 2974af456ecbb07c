import { expoToken } from './push-credentials.ts';
import { PushHttp, type PushHttpOptions, unanswered } from './push-http.ts';
import { at, failed, jsonOf, later, reasonOf, SENT, textAt, tooLong } from './push-result.ts';
import type { ExpoCredentials, PushMessage, PushResult, PushSender } from './push-sender.ts';
import { tokenProblem } from './push-tokens.ts';

interface ExpoOptions extends PushHttpOptions {
  baseUrl: string;
}

/** Of the texts and values of a message. */
const MOST_BYTES = 4_096;
const OK = 200;
const TOO_LARGE = 413;

/**
 * Sends by Expo's push service. `sent` means that Expo took the message, and `sent` it remains if APNs or FCM refuse it later: its receipts, which
 * say so, are not fetched. Expo answers a later message to a token that is gone with `DeviceNotRegistered`, so tokens are removed, one message late.
 * The collapse key has no counterpart. Throws `BadCredentials`.
 */
export function createExpoSender(credentials: ExpoCredentials, options: ExpoOptions): PushSender {
  const { baseUrl, ...httpOptions } = options;
  const accessToken = expoToken(credentials);
  const http = new PushHttp(httpOptions);
  const url = new URL('/--/api/v2/push/send', baseUrl);

  async function send(token: string, message: PushMessage): Promise<PushResult> {
    const wrong = tokenProblem('expo', token, httpOptions);
    if (wrong !== null) return failed('token_gone', `the token ${wrong}`);
    const { title, body, ttlSeconds: ttl } = message;
    const data = { ...message.data, ...(message.url !== null && { url: message.url }) };
    const bytes = Buffer.byteLength(JSON.stringify({ title, body, data }));
    if (bytes > MOST_BYTES) return tooLong(bytes, MOST_BYTES);
    const answered = await http.post(url, {
      headers: {
        'Content-Type': 'application/json',
        Accept: 'application/json',
        ...(accessToken !== null && { Authorization: `Bearer ${accessToken}` }),
      },
      body: JSON.stringify({ to: token, title, body, ttl, sound: 'default', data }),
    });
    if (answered.status === null) return unanswered(answered);
    return resultOf({ ...answered, hidden: [token, accessToken ?? ''] });
  }

  return { send, cutOff: () => http.cutOff(), close: () => http.close() };
}

interface ExpoAnswer {
  status: number;
  answer: string;
  retryAfterMs: number | null;
  hidden: string[];
}

/** What an answer means: https://docs.expo.dev/push-notifications/sending-notifications/#errors */
function resultOf({ status, answer, retryAfterMs, hidden }: ExpoAnswer): PushResult {
  const json = jsonOf(answer);
  const data = at(json, 'data');
  const ticket: unknown = Array.isArray(data) ? data[0] : data;
  if (status === OK && textAt(ticket, 'status') === 'ok') return SENT;
  if (status === OK && textAt(ticket, 'status') === 'error') return ofTicket(ticket, hidden);
  const code = textAt(json, 'errors', 0, 'code') ?? '';
  const text = textAt(json, 'errors', 0, 'message') ?? '';
  const reason = reasonOf(`Expo answered ${status} ${code}: ${text}`, hidden);
  // It answered, but not whether it took the message.
  if (status === OK && code === '') return { ...failed('unknown', reason), concernsServer: true };
  const isOfMessage = (status === 400 && code !== 'UNAUTHORIZED') || status === TOO_LARGE;
  return isOfMessage ? failed('refused', reason) : later(reason, { concernsServer: true, retryAfterMs });
}

function ofTicket(ticket: unknown, hidden: string[]): PushResult {
  const error = textAt(ticket, 'details', 'error') ?? '';
  const reason = reasonOf(`Expo answered ${error}: ${textAt(ticket, 'message') ?? ''}`, hidden);
  switch (error) {
    case 'DeviceNotRegistered':
      return failed('token_gone', reason);
    case 'MessageRateExceeded':
      return later(reason, { concernsServer: false });
    case 'InvalidCredentials':
    case 'MismatchSenderId':
      return later(reason, { concernsServer: true });
    default:
      return failed('refused', reason);
  }
}
