import { createHash } from 'node:crypto';
import type { Unanswered } from '../provider-http.ts';
import type { PushOutcome, PushResult } from './push-sender.ts';

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
  const inner = at(value, ...path);
  return typeof inner === 'string' ? inner : null;
}

/** A collapse key of at most `most` letters, digits, `-` and `_`: the key itself or its hash. */
export const shortKey = (key: string, most: number): string =>
  key.length <= most && /^[\w-]+$/.test(key)
    ? key
    : createHash('sha256').update(key).digest('base64url').slice(0, most);

/** The result of an attempt without an answer, at a provider that serves all devices. */
export const unanswered = ({ reason, handedOver }: Unanswered): PushResult =>
  handedOver ? { ...failed('unknown', reason), concernsServer: true } : later(reason, { concernsServer: true });
