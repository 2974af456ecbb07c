import { parsedJson } from '../../../json.ts';
import { expoToken } from './push-credentials.ts';
import { ProviderHttp, type ProviderHttpOptions } from '../provider-http.ts';
import { reasonOf } from '../email-sender.ts';
import { at, failed, later, SENT, textAt, tooLong, unanswered } from './push-result.ts';
import type { ExpoCredentials, PushMessage, PushReceipt, PushResult, PushSender } from './push-sender.ts';
import { tokenProblem } from './push-tokens.ts';
import type { Answer } from '../../webhooks/guarded-post.ts';

interface ExpoOptions extends ProviderHttpOptions {
  baseUrl: string;
}

/** Of the texts and values of a message. */
const MOST_BYTES = 4_096;
const OK = 200;
const TOO_LARGE = 413;

/** Of an answer with 1,000 receipts, most of which have errors. */
const RECEIPTS_BYTES = 1_048_576;
const RECEIPTS_MS = 10_000;
const LONGEST_TICKET = 100;

/**
 * Sends by Expo's push service. `sent` means that Expo took the message; what APNs or FCM said is in receipts. The collapse key has no counterpart.
 * Throws `BadCredentials`.
 */
export function createExpoSender(credentials: ExpoCredentials, options: ExpoOptions): PushSender {
  const { baseUrl, ...httpOptions } = options;
  const accessToken = expoToken(credentials);
  const http = new ProviderHttp(httpOptions);
  const receiptsHttp = new ProviderHttp({
    ...httpOptions,
    attemptMs: Math.min(httpOptions.attemptMs ?? RECEIPTS_MS, RECEIPTS_MS),
    keptBytes: RECEIPTS_BYTES,
  });
  const url = new URL('/--/api/v2/push/send', baseUrl);
  const receiptsUrl = new URL('/--/api/v2/push/getReceipts', baseUrl);
  const headers = {
    'Content-Type': 'application/json',
    Accept: 'application/json',
    ...(accessToken !== null && { Authorization: `Bearer ${accessToken}` }),
  };

  async function send(token: string, message: PushMessage): Promise<PushResult> {
    const wrong = tokenProblem('expo', token, httpOptions);
    if (wrong !== null) return failed('token_gone', `the token ${wrong}`);
    const { title, body, ttlSeconds: ttl } = message;
    const data = { ...message.data, ...(message.url !== null && { url: message.url }) };
    const bytes = Buffer.byteLength(JSON.stringify({ title, body, data }));
    if (bytes > MOST_BYTES) return tooLong(bytes, MOST_BYTES);
    const answered = await http.post(url, {
      headers,
      body: JSON.stringify({ to: token, title, body, ttl, sound: 'default', data }),
    });
    if (answered.status === null) return unanswered(answered);
    return resultOf({ ...answered, hidden: [token, accessToken ?? ''] });
  }

  async function receipts(tickets: readonly string[]): Promise<PushReceipt[]> {
    const answered = await receiptsHttp.post(receiptsUrl, { headers, body: JSON.stringify({ ids: tickets }) });
    if (answered.status === null) throw new Error(answered.reason);
    const { status, answer } = answered;
    const data = at(parsedJson(answer), 'data');
    if (status !== OK || typeof data !== 'object' || data === null)
      throw new Error(reasonOf(`Expo answered ${status}: ${answer}`, [accessToken ?? '']));
    return tickets.flatMap((ticket) => receiptOf(ticket, at(data, ticket)) ?? []);
  }

  return {
    send,
    receipts,
    cutOff: () => {
      http.cutOff();
      receiptsHttp.cutOff();
    },
    close: () => {
      http.close();
      receiptsHttp.close();
    },
  };
}

/** `null` for what is no receipt. */
function receiptOf(ticket: string, receipt: unknown): PushReceipt | null {
  const status = textAt(receipt, 'status');
  if (status === 'ok') return { ticket, outcome: 'delivered', reason: null };
  if (status !== 'error') return null;
  const error = textAt(receipt, 'details', 'error') ?? '';
  const token = /Expo(?:nent)?PushToken\[[^\]]*\]/.exec(textAt(receipt, 'message') ?? '')?.[0];
  return {
    ticket,
    outcome: error === 'DeviceNotRegistered' ? 'token_gone' : 'failed',
    reason: reasonOf(`Expo reported ${error}: ${textAt(receipt, 'message') ?? ''}`, [token ?? '']),
  };
}

interface ExpoAnswer extends Answer {
  hidden: string[];
}

/** What an answer means: https://docs.expo.dev/push-notifications/sending-notifications/#errors */
function resultOf({ status, answer, retryAfterMs, hidden }: ExpoAnswer): PushResult {
  const json = parsedJson(answer);
  const data = at(json, 'data');
  const ticket: unknown = Array.isArray(data) ? data[0] : data;
  if (status === OK && textAt(ticket, 'status') === 'ok') {
    const id = textAt(ticket, 'id') ?? '';
    return id === '' || id.length > LONGEST_TICKET ? SENT : { ...SENT, ticket: id };
  }
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
