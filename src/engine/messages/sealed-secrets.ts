import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { AppError } from '../../errors.ts';

const VERSION = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;

/**
 * Encrypts secrets for Postgres with a key that is not there: AES-256-GCM, as version, nonce, tag and cipher text. `key`: at least 32
 * random bytes. `context`: what a secret belongs to; it opens only with the same.
 */
export function createSealer(key: Buffer) {
  if (key.length < KEY_BYTES) throw new RangeError(`The key for secrets needs at least ${KEY_BYTES} bytes`);
  const derived = Buffer.from(hkdfSync('sha256', key, '', 'laurel sealed secrets', KEY_BYTES));
  return {
    seal(secret: string, context: string): Buffer {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', derived, nonce).setAAD(Buffer.from(context));
      const text = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
      return Buffer.concat([Buffer.of(VERSION), nonce, cipher.getAuthTag(), text]);
    },
    /** Throws if the key or the context is another one, or the bytes were changed. */
    open(sealed: Buffer, context: string): string {
      const text = 1 + NONCE_BYTES + TAG_BYTES;
      if (sealed[0] !== VERSION || sealed.length < text) throw new Error('This is no sealed secret');
      const decipher = createDecipheriv('aes-256-gcm', derived, sealed.subarray(1, 1 + NONCE_BYTES), {
        authTagLength: TAG_BYTES,
      });
      decipher.setAAD(Buffer.from(context)).setAuthTag(sealed.subarray(1 + NONCE_BYTES, text));
      return Buffer.concat([decipher.update(sealed.subarray(text)), decipher.final()]).toString('utf8');
    },
  };
}

export type Sealer = ReturnType<typeof createSealer>;

/** Opens the secrets of a channel. Throws if they cannot be decrypted. `sealer`: `null` without `SECRETS_KEY`. */
export function openedSecrets(sealer: Sealer | null, sealed: Buffer, context: string): string {
  if (sealer === null) throw new Error('The secrets of a channel are stored, but SECRETS_KEY is not set');
  try {
    return sealer.open(sealed, context);
  } catch (error) {
    throw new Error('SECRETS_KEY is not the key with which the secrets of a channel were stored', { cause: error });
  }
}

export const withoutKey = (): AppError =>
  new AppError('conflict', 'SECRETS_KEY is not set, so the secrets of a channel cannot be stored or read');
