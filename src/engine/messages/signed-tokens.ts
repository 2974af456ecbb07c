import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';

/** A user's ID has at most 255 characters. */
export const LONGEST_TOKEN = 2_048;

/**
 * Tokens for URLs: JSON that anybody can read and only the installation can sign, with HMAC-SHA256. `key`: at least 32 random bytes.
 * `purpose`: tokens of others are not valid.
 */
export function createSignedTokens(key: Buffer, purpose: string) {
  if (key.length < 32) throw new RangeError('The key for links needs at least 32 bytes');
  const derived = Buffer.from(hkdfSync('sha256', key, '', purpose, 32));
  const signed = (content: string): Buffer => createHmac('sha256', derived).update(content).digest();
  return {
    sign(value: unknown): string {
      const content = Buffer.from(JSON.stringify(value)).toString('base64url');
      return `${content}.${signed(content).toString('base64url')}`;
    },
    /** The content of a token; `null` if nobody signed it. */
    read(token: string): unknown {
      const [content = '', signature = '', ...more] = token.length > LONGEST_TOKEN ? [] : token.split('.');
      const bytes = Buffer.from(signature, 'base64url');
      const expected = signed(content);
      if (more.length > 0 || bytes.length !== expected.length || !timingSafeEqual(bytes, expected)) return null;
      return JSON.parse(Buffer.from(content, 'base64url').toString()) as unknown;
    },
  };
}

export type SignedTokens = ReturnType<typeof createSignedTokens>;
