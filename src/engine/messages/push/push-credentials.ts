import { createECDH, createPrivateKey, type KeyObject } from 'node:crypto';
import { parsedJson } from '../../../json.ts';
import { problem, type Problem } from '../../../catalog/rules/problem.ts';
import { textAt } from './push-result.ts';
import type {
  ApnsCredentials,
  ExpoCredentials,
  FcmCredentials,
  PushCredentials,
  WebPushCredentials,
} from './push-sender.ts';

/** Credentials that cannot work. The message contains no secret. */
class BadCredentials extends Error {
  readonly problem: Problem;

  constructor(field: string, text: string) {
    super(`${field} ${text}`);
    this.name = 'BadCredentials';
    this.problem = problem(field, text);
  }
}

/** The first problem of credentials that can be detected without the provider; `null` without one. */
export function problemOfCredentials(credentials: PushCredentials): Problem | null {
  try {
    if (credentials.provider === 'fcm') fcmAccount(credentials);
    else if (credentials.provider === 'apns') apnsKey(credentials);
    else if (credentials.provider === 'expo') expoToken(credentials);
    else vapidKey(credentials);
    return null;
  } catch (error) {
    if (error instanceof BadCredentials) return error.problem;
    throw error;
  }
}

export interface FcmAccount {
  projectId: string;
  clientEmail: string;
  key: KeyObject;
}

const LEAST_RSA_BITS = 2_048;

/** The parts of a service account. Throws `BadCredentials`. */
export function fcmAccount({ serviceAccount }: FcmCredentials): FcmAccount {
  const account = parsedJson(serviceAccount);
  if (typeof account !== 'object' || account === null || Array.isArray(account))
    throw new BadCredentials('serviceAccount', 'must be the JSON text of a key file');
  const text = (name: string, pattern: RegExp, meaning: string): string => {
    const value = textAt(account, name);
    if (value === null) throw new BadCredentials(`serviceAccount.${name}`, 'is missing');
    if (!pattern.test(value)) throw new BadCredentials(`serviceAccount.${name}`, `must be ${meaning}`);
    return value;
  };
  const projectId = text('project_id', /^[a-z\d][a-z\d.:-]{0,99}$/, 'the ID of a project');
  const clientEmail = text('client_email', /^[^\s@]{1,200}@[a-z\d.-]{1,200}$/i, 'an e-mail address');
  const field = 'serviceAccount.private_key';
  const key = privateKeyOf(field, text('private_key', /./, 'PEM text'));
  if (key.asymmetricKeyType !== 'rsa') throw new BadCredentials(field, 'must be an RSA key');
  if ((key.asymmetricKeyDetails?.modulusLength ?? 0) < LEAST_RSA_BITS)
    throw new BadCredentials(field, `must have at least ${LEAST_RSA_BITS} bits`);
  return { projectId, clientEmail, key };
}

/** The key of an APNs channel. Throws `BadCredentials`. */
export function apnsKey({ privateKey, keyId, teamId, topic }: ApnsCredentials): KeyObject {
  if (!/^[A-Z\d]{10}$/.test(keyId)) throw new BadCredentials('keyId', 'must have 10 upper-case letters and digits');
  if (!/^[A-Z\d]{10}$/.test(teamId)) throw new BadCredentials('teamId', 'must have 10 upper-case letters and digits');
  if (!/^[\w.-]{1,200}$/.test(topic)) throw new BadCredentials('topic', "must be the app's bundle ID");
  const key = privateKeyOf('privateKey', privateKey);
  if (key.asymmetricKeyType !== 'ec' || key.asymmetricKeyDetails?.namedCurve !== 'prime256v1')
    throw new BadCredentials('privateKey', 'must be a key of the curve P-256');
  return key;
}

function privateKeyOf(field: string, pem: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch {
    // The library's message could quote the key.
    throw new BadCredentials(field, 'must be a private key in PEM format without a passphrase');
  }
}

/** The token of an Expo channel, which becomes part of a header. Throws `BadCredentials`. */
export function expoToken({ accessToken }: ExpoCredentials): string | null {
  if (accessToken !== null && !/^[\x21-\x7E]{1,1000}$/.test(accessToken))
    throw new BadCredentials('accessToken', 'must have 1 to 1,000 characters of ASCII without spaces');
  return accessToken;
}

const PRIVATE_BYTES = 32;
const PUBLIC_BYTES = 65;
const UNCOMPRESSED = 4;
const BASE64URL = /^[\w-]+$/;

/** The key of a Web Push channel. Throws `BadCredentials`. */
export function vapidKey({ publicKey, privateKey, subject }: WebPushCredentials): KeyObject {
  // Some push services refuse addresses at local names.
  const isSubject = /^mailto:[^\s@]{1,200}@[a-z\d-]+(\.[a-z\d-]+)+$/i.test(subject) || isWebSite(subject);
  if (!isSubject) throw new BadCredentials('subject', 'must be a mailto: or https: URL, with a public domain');
  const publicBytes = Buffer.from(publicKey, 'base64url');
  if (!BASE64URL.test(publicKey) || publicBytes.length !== PUBLIC_BYTES || publicBytes[0] !== UNCOMPRESSED)
    throw new BadCredentials('publicKey', 'must be an uncompressed key of the curve P-256 in base64url');
  const privateBytes = Buffer.from(privateKey, 'base64url');
  if (!BASE64URL.test(privateKey) || privateBytes.length !== PRIVATE_BYTES)
    throw new BadCredentials('privateKey', 'must be 32 bytes in base64url');
  const ecdh = createECDH('prime256v1');
  try {
    ecdh.setPrivateKey(privateBytes);
  } catch {
    throw new BadCredentials('privateKey', 'must be a key of the curve P-256');
  }
  if (!ecdh.getPublicKey().equals(publicBytes)) throw new BadCredentials('publicKey', 'does not belong to privateKey');
  const [x, y] = [publicBytes.subarray(1, 1 + PRIVATE_BYTES), publicBytes.subarray(1 + PRIVATE_BYTES)];
  const jwk = { kty: 'EC', crv: 'P-256', d: privateBytes, x, y };
  const texts = Object.entries(jwk).map(([name, part]) => [
    name,
    Buffer.isBuffer(part) ? part.toString('base64url') : part,
  ]);
  return createPrivateKey({ format: 'jwk', key: Object.fromEntries(texts) as Record<string, string> });
}

function isWebSite(subject: string): boolean {
  if (subject.length > 300 || !URL.canParse(subject)) return false;
  const { protocol, hostname } = new URL(subject);
  return protocol === 'https:' && hostname.includes('.');
}

/** A new VAPID key pair. Browsers' subscriptions belong to the public key, so a channel keeps its pair. */
export function createVapidKeys(): Pick<WebPushCredentials, 'publicKey' | 'privateKey'> {
  const ecdh = createECDH('prime256v1');
  const publicKey = ecdh.generateKeys('base64url');
  // Without leading zeros, a private key may be shorter.
  const privateKey = Buffer.concat([Buffer.alloc(PRIVATE_BYTES), ecdh.getPrivateKey()]).subarray(-PRIVATE_BYTES);
  return { publicKey, privateKey: privateKey.toString('base64url') };
}
