import { invalidCall } from './errors.ts';

/**
 * A key that no other call has: the time, and 96 random bits. `crypto.randomUUID` exists only on secure pages, and React
 * Native has no `crypto` at all; there the bits come from `Math.random`.
 */
export function newIdempotencyKey(): string {
  const bytes = new Uint8Array(12);
  if (globalThis.crypto?.getRandomValues) globalThis.crypto.getRandomValues(bytes);
  else for (let at = 0; at < bytes.length; at += 1) bytes[at] = Math.random() * 256;
  const random = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return `${Date.now().toString(36)}-${random}`;
}

/** The key. Throws `invalid_call` if a header cannot carry it: other characters are lost on the way, and two keys become one. */
export function validKey(key: string): string {
  if (!/^[\x20-\x7e]{1,255}$/.test(key)) throw invalidCall('idempotencyKey: use 1 to 255 ASCII characters.');
  return key;
}
