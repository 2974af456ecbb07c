import { createHmac } from 'node:crypto';

const PREFIX = 'whsec_';

const hmac = (key: string | Buffer, text: string): string => createHmac('sha256', key).update(text).digest('base64');

/** What is signed: `timestamp` in seconds. */
export interface Signed {
  id: string;
  timestamp: number;
  payload: string;
}

/** Base64 HMAC-SHA256 of the raw body, with the secret's whole text. */
export const bodySignature = (secret: string, payload: string): string => hmac(secret, payload);

/**
 * The header `webhook-signature` of Standard Webhooks 1.0, https://www.standardwebhooks.com: one entry for each secret, with the
 * bytes that its Base64 stands for.
 */
export function standardSignature(secrets: readonly string[], { id, timestamp, payload }: Signed): string {
  const text = `${id}.${timestamp}.${payload}`;
  return secrets.map((secret) => `v1,${hmac(Buffer.from(secret.slice(PREFIX.length), 'base64'), text)}`).join(' ');
}
