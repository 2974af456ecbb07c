// Checks that a delivery is Laurel's. Needs nothing but Node.
import { createHmac, timingSafeEqual } from 'node:crypto';

/** A try that began longer ago than this, or lies further ahead, is refused: somebody may be sending it again. */
const TOLERANCE_S = 5 * 60;

const hmac = (key, text) => createHmac('sha256', key).update(text).digest('base64');

/** Compares without saying, by how long it takes, how much is equal. */
function equal(one, other) {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/**
 * Whether a delivery carries a valid signature by Standard Webhooks 1.0. The way to prefer: it covers the ID and the time too.
 * @param {{ secret: string, headers: Record<string, string | string[] | undefined>, body: string, nowMs?: number }} delivery
 *   `secret`: as Laurel shows it, `whsec_…`; `headers`: names in lower case; `body`: as it was received, before it is parsed
 */
export function isFromLaurel({ secret, headers, body, nowMs = Date.now() }) {
  const id = headers['webhook-id'];
  const timestamp = headers['webhook-timestamp'];
  const signatures = String(headers['webhook-signature'] ?? '').split(' ');
  if (typeof id !== 'string' || typeof timestamp !== 'string' || !/^\d+$/.test(timestamp)) return false;
  if (Math.abs(nowMs / 1000 - Number(timestamp)) > TOLERANCE_S) return false;
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const expected = `v1,${hmac(key, `${id}.${timestamp}.${body}`)}`;
  // Several: after a rotation the previous secret signs too.
  return signatures.some((signature) => equal(signature, expected));
}

/**
 * Whether a delivery carries a valid signature of the body alone, in `X-Laurel-Signature` or the header that the webhook names.
 * Simpler, but anyone who saw a delivery can send it again.
 */
export function hasBodySignature({ secret, headers, body, header = 'x-laurel-signature' }) {
  const expected = hmac(secret, body);
  return [headers[header], headers[`${header}-previous`]].some(
    (sent) => typeof sent === 'string' && equal(sent, expected),
  );
}
