import { createHash } from 'node:crypto';
import type { PushOutcome, PushResult } from './push-sender.ts';

const REASON_LENGTH = 300;

/** A text for administrators and the log: one line, without control characters and without the `hidden` texts. */
export function reasonOf(text: string, hidden: readonly string[] = []): string {
  let shown = text;
  for (const secret of hidden) if (secret !== '') shown = shown.replaceAll(secret, '…');
  return shown
    .replaceAll(/[\s\p{Cc}\uFFFD]+/gu, ' ')
    .trim()
    .slice(0, REASON_LENGTH);
}

export const SENT: PushResult = { outcome: 'sent', reason: null, concernsServer: false, retryAfterMs: null };

/** An attempt that failed for a reason of this message or device. */
export const failed = (outcome: Exclude<PushOutcome, 'sent'>, reason: string): PushResult => ({
  outcome,
  reason,
  concernsServer: false,
  retryAfterMs: null,
});

/** An attempt that should be repeated. */
export const later = (
  reason: string,
  { concernsServer, retryAfterMs = null }: { concernsServer: boolean; retryAfterMs?: number | null },
): PushResult => ({ outcome: 'later', reason, concernsServer, retryAfterMs });

export const tooLong = (bytes: number, most: number): PushResult =>
  failed('refused', `the message has ${bytes} bytes; at most ${most} are possible`);

/** The value of an answer; `undefined` if it is no JSON. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** The value at a path of objects and arrays; `undefined` if there is none. */
export function at(value: unknown, ...path: (string | number)[]): unknown {
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<string | number, unknown>)[key];
  }
  return value;
}

/** A text at a path; `null` if there is none. */
export function textAt(value: unknown, ...path: (string | number)[]): string | null {
  const found = at(value, ...path);
  return typeof found === 'string' ? found : null;
}

/** A collapse key of at most `most` letters, digits, `-` and `_`: the key itself or its hash. */
export const shortKey = (key: string, most: number): string =>
  key.length <= most && /^[\w-]+$/.test(key)
    ? key
    : createHash('sha256').update(key).digest('base64url').slice(0, most);
