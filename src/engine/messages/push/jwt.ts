import { type KeyObject, sign } from 'node:crypto';

const encoded = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url');

/** A signed JSON Web Token (RFC 7519): RS256 with an RSA key, ES256 with one of the curve P-256. */
export function signedJwt(key: KeyObject, claims: object, header: object = {}): string {
  const alg = key.asymmetricKeyType === 'rsa' ? 'RS256' : 'ES256';
  const content = `${encoded({ alg, typ: 'JWT', ...header })}.${encoded(claims)}`;
  const signature = sign('sha256', Buffer.from(content), { key, dsaEncoding: 'ieee-p1363' });
  return `${content}.${signature.toString('base64url')}`;
}
