// Checks that a delivery is Laurel's. Needs nothing but Node.
import { createHmac, timingSafeEqual } from 'node:crypto';

/** Refuses an attempt that began longer ago than this, or is further ahead: it may be a replay. */
const TOLERANCE_S = 5 * 60;

const hmac = (key, text) => createHmac('sha256', key).update(text).digest('base64');

/** Compares in constant time. */
function equal(one, other) {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/**
 * Whether a delivery carries a valid signature by Standard Webhooks 1.0. Preferred: it also covers the ID and the time.
 * @param {{ secret: string, headers: Record<string, string | string[] | undefined>, body: string, nowMs?: number }} delivery
 *   `secret`: as Laurel shows it, `whsec_…`; `headers`: names in lower case; `body`: the received bytes, before parsing
 */
export function isFromLaurel({ secret, headers, body, nowMs = Date.now() }) {
  const id = headers['webhook-id'];
  const timestamp = headers['webhook-timestamp'];
  const signatures = String(headers['webhook-signature'] ?? '').split(' ');
  if (typeof id !== 'string' || typeof timestamp !== 'string' || !/^\d+$/.test(timestamp)) return false;
  if (Math.abs(nowMs / 1000 - Number(timestamp)) > TOLERANCE_S) return false;
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const expected = `v1,${hmac(key, `${id}.${timestamp}.${body}`)}`;
  // There are several after a rotation: the previous secret also signs.
  return signatures.some((signature) => equal(signature, expected));
}

/**
 * Whether a delivery carries a valid signature of the body alone, in `X-Laurel-Signature` or the webhook's own header.
 * Simpler, but anyone who saw a delivery can send it again.
 */
export function hasBodySignature({ secret, headers, body, header = 'x-laurel-signature' }) {
  const expected = hmac(secret, body);
  return [headers[header], headers[`${header}-previous`]].some(
    (sent) => typeof sent === 'string' && equal(sent, expected),
  );
}
