import { createHash, randomBytes, randomInt } from 'node:crypto';

/** A key before it is stored. `key`, shown once, is `<prefix>.<body>`. */
export interface NewKey {
  prefix: string;
  key: string;
  /** The secret part of `key`. */
  body: string;
  /** SHA-256 of the body. */
  hash: Buffer;
}

const LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789';
const PREFIX_LETTERS = 8;
const BODY_BYTES = 32;

/** The stored hash of a key's secret part. A plain hash suffices, because the body has 256 random bits. */
export const keyHash = (body: string): Buffer => createHash('sha256').update(body).digest();

/** Creates a key. `kind` begins its readable part: `app_…` or `adm_…`. */
export function newKey(kind: 'app' | 'adm'): NewKey {
  const letters = Array.from({ length: PREFIX_LETTERS }, () => LETTERS[randomInt(LETTERS.length)]);
  const prefix = `${kind}_${letters.join('')}`;
  const body = randomBytes(BODY_BYTES).toString('base64url');
  return { prefix, key: `${prefix}.${body}`, body, hash: keyHash(body) };
}
