import { invalidCall, LaurelError } from './errors.ts';
import type { Messages } from './generated.ts';

/** The content of a webhook, told apart by its `type`. */
export type Message = Messages[keyof Messages];

/** A verified webhook. */
export interface Webhook {
  /** The same on every attempt: skip a message that you have already processed. */
  id: string;
  /** When this attempt began. */
  sentAt: Date;
  /** Increases with every message about a user to this webhook. */
  sequence: number;
  message: Message;
}

type HeaderValue = string | readonly string[] | undefined;

export interface WebhookRequest {
  /** The body as it arrived. JSON that was parsed and written again is another text. */
  body: string | Uint8Array<ArrayBuffer>;
  /** The headers: of the Fetch API, or an object. */
  headers: Headers | Readonly<Record<string, HeaderValue>>;
  /** The webhook's secret (`whsec_…`), or several. */
  secret: string | readonly string[];
  /** Oldest attempt that is accepted, in seconds. Default: 300. */
  toleranceSeconds?: number;
}

const fromBase64 = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(text), (character) => character.charCodeAt(0));

const isHeaders = (headers: WebhookRequest['headers']): headers is Headers => typeof headers.get === 'function';

function header(headers: WebhookRequest['headers'], name: string): string {
  if (isHeaders(headers)) return headers.get(name) ?? '';
  const named = Object.keys(headers).find((one) => one.toLowerCase() === name);
  return String((named === undefined ? undefined : headers[named]) ?? '');
}

function fromSecret(secret: string): Uint8Array<ArrayBuffer> {
  try {
    return fromBase64(secret.replace(/^whsec_/, ''));
  } catch {
    throw invalidCall("secret: a webhook's secret is whsec_ and Base64.");
  }
}

/** Whether one of the signatures (`v1,…`, separated by spaces) is of this text. `crypto.subtle` compares in constant time. */
async function isSigned(text: Uint8Array<ArrayBuffer>, signatures: string, secret: string): Promise<boolean> {
  const { subtle } = globalThis.crypto;
  const key = await subtle.importKey('raw', fromSecret(secret), { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
  for (const signature of signatures.split(' ')) {
    if (!/^v1,[A-Za-z\d+/]+=*$/.test(signature)) continue;
    if (await subtle.verify('HMAC', key, fromBase64(signature.slice(3)), text)) return true;
  }
  return false;
}

/**
 * Verifies a webhook of Laurel and returns its message. Rejects with the code `invalid_signature` if no signature is valid, or
 * the attempt is older than the tolerance; with `invalid_call` if the body is parsed or the secret is missing. Runs where `crypto.subtle` exists: Node, browsers, edge runtimes.
 */
export async function verifyWebhook(request: WebhookRequest): Promise<Webhook> {
  const { body, headers, secret, toleranceSeconds = 300 } = request;
  const invalid = (message: string): LaurelError => new LaurelError('invalid_signature', message);
  if (!secret) throw invalidCall("secret: the webhook's secret is missing.");
  if (typeof body !== 'string' && !ArrayBuffer.isView(body))
    throw invalidCall('body: pass the text or the bytes as they arrived, not what was parsed from them.');
  const id = header(headers, 'webhook-id');
  const timestamp = header(headers, 'webhook-timestamp');
  const sentMs = Number(timestamp) * 1_000;
  if (id === '' || timestamp === '') throw invalid('The headers webhook-id and webhook-timestamp are missing.');
  if (!(Math.abs(Date.now() - sentMs) <= toleranceSeconds * 1_000))
    throw invalid('The header webhook-timestamp is too far from the present.');
  const encoder = new TextEncoder();
  const content = typeof body === 'string' ? encoder.encode(body) : body;
  const start = encoder.encode(`${id}.${timestamp}.`);
  const text = new Uint8Array(start.length + content.length);
  text.set(start);
  text.set(content, start.length);
  const signatures = header(headers, 'webhook-signature');
  for (const one of typeof secret === 'string' ? [secret] : secret) {
    if (!(await isSigned(text, signatures, one))) continue;
    const message = JSON.parse(new TextDecoder().decode(content)) as Message;
    return { id, sentAt: new Date(sentMs), sequence: Number(header(headers, 'webhook-sequence')), message };
  }
  throw invalid('No signature is of this body and secret.');
}
