import { createPublicKey, generateKeyPairSync, type KeyObject, verify } from 'node:crypto';
import { v7 as uuid } from 'uuid';
import type { PushMessage, PushResult } from '../../../../src/engine/messages/push/push-sender.ts';
import type { Answer } from '../../webhooks/receiver.ts';

export const message = (changes: Partial<PushMessage> = {}): PushMessage => ({
  id: uuid(),
  title: 'Zoë, keep your streak',
  body: 'It ends today. 🔥',
  url: 'https://app.example.com/streak',
  ttlSeconds: 3_600,
  collapseKey: 'streak_reminder',
  data: { kind: 'streak_reminder' },
  ...changes,
});

export const SENT: PushResult = { outcome: 'sent', reason: null, concernsServer: false, retryAfterMs: null };

/** An answer with JSON. */
export const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): Answer =>
  (_request, response) => {
    response.writeHead(status, { 'Content-Type': 'application/json', ...headers });
    response.end(JSON.stringify(body));
  };

/** The header and the claims of a token whose signature is valid. */
export function verifiedJwt(token: string, key: KeyObject): { header: unknown; claims: Record<string, unknown> } {
  const [header, claims, signature] = token.split('.') as [string, string, string];
  const isValid = verify(
    'sha256',
    Buffer.from(`${header}.${claims}`),
    { key, dsaEncoding: 'ieee-p1363' },
    Buffer.from(signature, 'base64url'),
  );
  if (!isValid) throw new Error('the signature is not valid');
  const parsed = (part: string): unknown => JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));
  return { header: parsed(header), claims: parsed(claims) as Record<string, unknown> };
}

const pemOf = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }).toString();

/** A key of APNs and its public half. */
export function ecKey(namedCurve = 'P-256'): { pem: string; publicKey: KeyObject } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve });
  return { pem: pemOf(privateKey), publicKey };
}

/** The key of a service account and its public half. */
export function rsaKey(modulusLength = 2_048): { pem: string; publicKey: KeyObject } {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength });
  return { pem: pemOf(privateKey), publicKey };
}

/** The public key that a VAPID header names. */
export function vapidPublicKey(base64url: string): KeyObject {
  const bytes = Buffer.from(base64url, 'base64url');
  const [x, y] = [bytes.subarray(1, 33).toString('base64url'), bytes.subarray(33).toString('base64url')];
  return createPublicKey({ format: 'jwk', key: { kty: 'EC', crv: 'P-256', x, y } });
}
